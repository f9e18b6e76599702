package protobuf

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// DepthMax bounds how deep messages in text nest.
const DepthMax = 8

// TextField is one field of a message in text. Exactly one of the values is set: Word, Text if Quoted, or Message if
// Nested.
type TextField struct {
	Name    string
	Word    string // a number, an enum or a bool, as it stands there
	Text    []byte // of a string, without quotes and escapes
	Message []TextField
	Quoted  bool
	Nested  bool
}

// Int64 is the value of a number.
func (f TextField) Int64() (int64, error) {
	value, err := strconv.ParseInt(f.Word, 0, 64)
	if err != nil || f.Quoted || f.Nested || !isNumber(f.Word) {
		return 0, fmt.Errorf("field %.40q holds %.40q, want a number: %w", f.Name, f.Word, ErrMalformed)
	}
	return value, nil
}

// isNumber refuses what Go takes for a number and protobuf does not: 1_000, +1, 0b1 and 0o7.
func isNumber(word string) bool {
	digits := strings.TrimPrefix(word, "-")
	foreign := len(digits) > 1 && digits[0] == '0' && strings.IndexByte("bBoO", digits[1]) >= 0
	return !foreign && !strings.ContainsAny(digits, "+-_")
}

// Raw is the value of a string.
func (f TextField) Raw() ([]byte, error) {
	if !f.Quoted {
		return nil, fmt.Errorf("field %.40q is no string: %w", f.Name, ErrMalformed)
	}
	return f.Text, nil
}

// ParseText reads a message in text. What it returns shares nothing with text.
func ParseText(text []byte) ([]TextField, error) {
	p := parser{rest: text}
	fields, err := p.message(0, 0)
	if err != nil {
		return nil, fmt.Errorf("at byte %d: %w", len(text)-len(p.rest), err)
	}
	return fields, nil
}

// AppendText appends the line of a field that holds a string.
func AppendText[T ~string | ~[]byte](b []byte, name string, value T) []byte {
	b = append(append(b, name...), ": \""...)
	for _, c := range []byte(value) {
		switch {
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c == '"' || c == '\'' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ' || c > '~':
			b = append(b, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
		default:
			b = append(b, c)
		}
	}
	return append(b, "\"\n"...)
}

type parser struct{ rest []byte }

func (p *parser) fail(what string) error {
	return fmt.Errorf("%s before %.20q: %w", what, p.rest, ErrMalformed)
}

// message reads fields up to the end byte; 0 is the end of the text.
func (p *parser) message(end byte, depth int) ([]TextField, error) {
	if depth > DepthMax {
		return nil, p.fail("nested too deep")
	}
	var fields []TextField
	for {
		p.skip(",;")
		if len(p.rest) == 0 && end == 0 {
			return fields, nil
		}
		if end != 0 && p.take(end) {
			return fields, nil
		}
		f, err := p.field(depth)
		if err != nil {
			return nil, err
		}
		fields = append(fields, f)
	}
}

func (p *parser) field(depth int) (TextField, error) {
	f := TextField{Name: p.word()}
	if f.Name == "" {
		return f, p.fail("no field name")
	}
	p.skip("")
	colon := p.take(':')
	p.skip("")
	var err error
	switch {
	case p.take('{'):
		f.Nested = true
		f.Message, err = p.message('}', depth+1)
	case p.take('<'):
		f.Nested = true
		f.Message, err = p.message('>', depth+1)
	case !colon:
		return f, p.fail("no colon")
	case p.at('"', '\''):
		f.Quoted = true
		f.Text, err = p.strings()
	default:
		if f.Word = p.word(); f.Word == "" {
			return f, p.fail("no value")
		}
	}
	return f, err
}

// strings reads one or more strings, which together are one.
func (p *parser) strings() ([]byte, error) {
	text := []byte{}
	for p.at('"', '\'') {
		quote := p.rest[0]
		p.rest = p.rest[1:]
		for !p.take(quote) {
			if len(p.rest) == 0 || p.rest[0] == '\n' {
				return nil, p.fail("no end of a string")
			}
			c := p.rest[0]
			p.rest = p.rest[1:]
			if c == '\\' {
				var ok bool
				if c, ok = p.escaped(); !ok {
					return nil, p.fail("unknown escape")
				}
			}
			text = append(text, c)
		}
		p.skip("")
	}
	return text, nil
}

// escaped reads what follows a backslash.
func (p *parser) escaped() (byte, bool) {
	if len(p.rest) == 0 {
		return 0, false
	}
	c := p.rest[0]
	if c >= '0' && c <= '7' {
		return p.digits(8, 3)
	}
	p.rest = p.rest[1:]
	if c == 'x' || c == 'X' {
		return p.digits(16, 2)
	}
	const names, values = `abfnrtv\'"?`, "\a\b\f\n\r\t\v\\'\"?"
	i := bytes.IndexByte([]byte(names), c)
	if i < 0 {
		return 0, false
	}
	return values[i], true
}

// digits reads at most n digits of a number below 256.
func (p *parser) digits(base, n int) (byte, bool) {
	end := 0
	for end < min(n, len(p.rest)) {
		if _, err := strconv.ParseUint(string(p.rest[end:end+1]), base, 8); err != nil {
			break
		}
		end++
	}
	value, err := strconv.ParseUint(string(p.rest[:end]), base, 8)
	p.rest = p.rest[end:]
	return byte(value), err == nil
}

// word reads letters, digits and what numbers are written with.
func (p *parser) word() string {
	end := 0
	for end < len(p.rest) && isWord(p.rest[end]) {
		end++
	}
	word := string(p.rest[:end])
	p.rest = p.rest[end:]
	return word
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '+' || c == '.'
}

// skip passes over spaces, comments, and the separators given.
func (p *parser) skip(separators string) {
	for {
		p.rest = bytes.TrimLeft(p.rest, " \t\r\n"+separators)
		if !p.at('#', '#') {
			return
		}
		_, p.rest, _ = bytes.Cut(p.rest, []byte("\n"))
	}
}

func (p *parser) at(a, b byte) bool { return len(p.rest) > 0 && (p.rest[0] == a || p.rest[0] == b) }

// take passes over one byte if it is c.
func (p *parser) take(c byte) bool {
	if len(p.rest) == 0 || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}
