package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"lakebed/reports"
)

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

//go:embed page.js
var pageScript string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"seconds": seconds, "cell": cell, "first": firstLine, "rest": restOfText, "duration": duration, "rule": rule,
}).Parse(pageText))

// pageData is what the template is given.
type pageData struct {
	*Page
	Policy string
	Style  template.CSS
	Script template.JS
	Data   template.JS
	Kinds  []Kind
}

// WriteHTML writes the page. Its policy names its script by hash: no other runs, whatever a trial's texts contain.
func (p *Page) WriteHTML(w io.Writer) error {
	data, err := json.Marshal(p) // which has no <, > or & in it
	if err != nil {
		return fmt.Errorf("make the page of seed %d: %w", p.Seed, err)
	}
	sum := sha256.Sum256([]byte(pageScript))
	policy := "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	var b bytes.Buffer
	err = pageTemplate.Execute(&b, pageData{
		Page: p, Policy: policy, Style: template.CSS(reports.Style() + pageStyle), Script: template.JS(pageScript), Data: template.JS(data),
		Kinds: Kinds(),
	})
	if err != nil {
		return fmt.Errorf("make the page of seed %d: %w", p.Seed, err)
	}
	_, err = w.Write(b.Bytes())
	return err
}

// seconds shows a virtual time to the microsecond, in lines that sort.
func seconds(nanos int64) string {
	if nanos < 0 {
		return "never"
	}
	return fmt.Sprintf("%d.%06d", nanos/1e9, nanos%1e9/1e3)
}

func duration(from, to int64) string {
	if to < 0 {
		return "never ended"
	}
	return time.Duration(to - from).Round(time.Microsecond).String()
}

// cell is the text of a step if it is of this column.
func cell(s Step, column int) string {
	if s.Bookie != column {
		return ""
	}
	return s.Text
}

// rule is the signature without the checker's name, which stands before it.
func rule(f Finding) string { return strings.TrimPrefix(f.Signature, f.Checker+": ") }

// A finding begins with a paragraph; what follows is for those who want all of it.
func firstLine(text string) string {
	head, _, _ := strings.Cut(strings.TrimSpace(text), "\n\n")
	if len(head) > firstBytesMax {
		return strings.ToValidUTF8(head[:firstBytesMax], "") + " …"
	}
	return head
}

const firstBytesMax = 1200

func restOfText(text string) string {
	text = strings.TrimSpace(text)
	head, rest, _ := strings.Cut(text, "\n\n")
	if len(head) > firstBytesMax {
		return text
	}
	return rest
}
