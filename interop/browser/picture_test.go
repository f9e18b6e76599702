package browser

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// pictures are the failures shown in docs/failures. Their bugs are planted: the page comes from a program that is built
// for it, which is why they are made only when asked for.
var pictures = []struct {
	name   string
	replay string
	before string // what is done to the page first
	view   view
}{
	{"no-sync", "51 --scenario bookie --defect no-sync", `window.page.select(window.page.chosen(), "close"); window.page.show(1.192e9, 1.204e9)`, view{width: 1180, height: 1900}},
	{"acks-before-metadata", "50 --scenario cluster-rivals --defect acks-before-metadata",
		`window.page.show(0.348e9, 0.356e9)`, view{width: 1180, height: 1700, dark: true}},
	{"resend-nothing", "18 --scenario cluster --defect resend-nothing", `window.page.show(1.195e9, 1.24e9)`, view{width: 1180, height: 1700}},
	{"on-a-telephone", "18 --scenario cluster --defect resend-nothing", `document.getElementById("tools").scrollIntoView()`, view{width: 390, height: 844, dark: true}},
}

// pictureBytesMax keeps the repository small.
const pictureBytesMax = 200_000

// Goal: docs/failures shows pages as they are. LAKEBED_PICTURES=1 makes its pictures again.
func TestPicturesOfFailures(t *testing.T) {
	if os.Getenv("LAKEBED_PICTURES") == "" {
		t.Skip("set LAKEBED_PICTURES to make the pictures in docs/failures again")
	}
	needBrowser(t)
	program := filepath.Join(t.TempDir(), "simrun")
	root := filepath.Join("..", "..")
	if out, err := run(root, "go", "build", "-o", program, "./cmd/simrun"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, p := range pictures {
		page := filepath.Join(t.TempDir(), p.name+".html")
		out, err := run(root, program, append(append([]string{"replay"}, strings.Fields(p.replay)...), "--html", page)...)
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 1 {
			t.Fatalf("%s has not failed: %v: %s", p.name, err, out)
		}
		o := openFile(t, p.view, page)
		act(t, o, p.before+"; window.page.paint()")
		picture, err := chromedp.Run(o.ctx, chromedp.CaptureScreenshot())
		if err != nil {
			t.Fatal(err)
		}
		if picture, err = smaller(picture, 255); err != nil {
			t.Fatal(err)
		}
		if len(picture) > pictureBytesMax {
			t.Errorf("the picture of %s has %d bytes", p.name, len(picture))
		}
		if err := os.WriteFile(filepath.Join(root, "docs", "failures", p.name+".png"), picture, 0o644); err != nil {
			t.Error(err)
		}
	}
}

func run(directory, program string, arguments ...string) (string, error) {
	c := exec.Command(program, arguments...)
	c.Dir = directory
	out, err := c.CombinedOutput()
	return string(out), err
}
