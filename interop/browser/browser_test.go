package browser

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"lakebed/reports"
)

// openingMax is how long one page may take with everything that is asked of it. The first one also starts the browser.
const openingMax = 60 * time.Second

// browserProgram is the browser to use; none if there is none.
func browserProgram() string {
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	return ""
}

// started is one browser for all tests; a page has a tab of its own.
var started = sync.OnceValues(func() (context.Context, context.CancelFunc) {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(browserProgram()), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("hide-scrollbars", false),
		chromedp.Flag("disable-dev-shm-usage", true))
	allocator, end := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, endFirst := chromedp.NewContext(allocator)
	return ctx, func() { endFirst(); end() }
})

func TestMain(m *testing.M) {
	code := m.Run()
	if browserProgram() != "" {
		_, end := started()
		end()
	}
	os.Exit(code)
}

// view is how a page is looked at.
type view struct {
	width, height int64
	dark          bool
	print         bool
	noScript      bool
}

func (v view) String() string {
	name := fmt.Sprintf("%dx%d", v.width, v.height)
	for word, on := range map[string]bool{" dark": v.dark, " printed": v.print, " without scripts": v.noScript} {
		if on {
			name += word
		}
	}
	return name
}

// opened is a page in a tab, and what it did while it loaded.
type opened struct {
	ctx      context.Context
	mutex    sync.Mutex
	requests []string
	messages []string
}

// needBrowser skips a test where there is no browser.
func needBrowser(t *testing.T) {
	t.Helper()
	if browserProgram() == "" {
		t.Skip("SKIPPED: there is no chromium, chromium-browser or google-chrome in the path, and CHROMIUM names none")
	}
}

// open writes the page of some results and looks at it.
func open(t *testing.T, v view, results ...reports.Result) *opened {
	t.Helper()
	needBrowser(t)
	var page bytes.Buffer
	if err := reports.Page(&page, results); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, page.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return openFile(t, v, path)
}

// openFile looks at the page in a file.
func openFile(t *testing.T, v view, path string) *opened {
	t.Helper()
	browser, _ := started()
	if err := chromedp.Do(browser); err != nil {
		t.Fatalf("start the browser: %v", err)
	}
	tab, closeTab := chromedp.NewContext(browser)
	ctx, cancel := context.WithTimeout(tab, openingMax)
	t.Cleanup(func() { cancel(); closeTab() })
	o := &opened{ctx: ctx}
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("open a tab: %v", err)
	}
	if err := chromedp.Listen(ctx, o.note); err != nil {
		t.Fatalf("listen to the tab: %v", err)
	}
	address := (&url.URL{Scheme: "file", Path: path}).String()
	scheme, media := "light", "screen"
	if v.dark {
		scheme = "dark"
	}
	if v.print {
		media = "print"
	}
	err := chromedp.Do(ctx,
		command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: v.noScript}),
		command(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: v.width, Height: v.height, DeviceScaleFactor: 1}),
		command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Media: media, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		}),
		chromedp.Navigate(address))
	if err != nil {
		t.Fatalf("open the page (%s): %v", v, err)
	}
	o.mutex.Lock()
	defer o.mutex.Unlock()
	for _, r := range o.requests {
		if r != address && !strings.HasPrefix(r, "data:") {
			t.Errorf("%s: the page asks for %s", v, r)
		}
	}
	if len(o.requests) == 0 {
		t.Errorf("%s: the page itself was not seen being asked for: the check sees nothing", v)
	}
	return o
}

// command makes an action of a command of the browser.
func command[P any](c cdp.Command[P, cdp.Empty], parameters P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, c, parameters)
		return err
	})
}

// note keeps what the browser tells of the page.
func (o *opened) note(event any) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		o.requests = append(o.requests, e.Request.URL)
	case *runtime.EventExceptionThrown:
		o.messages = append(o.messages, e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		o.messages = append(o.messages, fmt.Sprint("console: ", e.Type))
	case *log.EventEntryAdded:
		o.messages = append(o.messages, fmt.Sprint("log: ", e.Entry.Level, " ", e.Entry.Text))
	}
}

// complaints evaluates a function of the probes that lists what is wrong.
func (o *opened) complaints(t *testing.T, call string) []string {
	t.Helper()
	found, err := chromedp.Run(o.ctx, chromedp.Evaluate[[]string](probes+"\n"+call))
	if err != nil {
		t.Fatalf("ask the page %s: %v", call, err)
	}
	return found
}

// clean fails with everything that a probe complains of.
func (o *opened) clean(t *testing.T, v view, call string) {
	t.Helper()
	for _, complaint := range o.complaints(t, call) {
		t.Errorf("%s: %s: %s", v, call, complaint)
	}
}

// quiet fails with everything that the browser said.
func (o *opened) quiet(t *testing.T, v view) {
	t.Helper()
	o.mutex.Lock()
	defer o.mutex.Unlock()
	for _, m := range o.messages {
		t.Errorf("%s: the browser says: %s", v, m)
	}
}
