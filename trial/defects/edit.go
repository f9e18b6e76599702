package defects

import (
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/scanner"
	"go/token"
	"slices"
	"strings"
)

// ErrPlace says that an entry's place is not where the entry says, or not exactly once.
var ErrPlace = errors.New("the catalogue does not fit the engine's source")

// switchImport is the package that edited files ask which defect is on.
const switchImport = "lakebed/trial/defects/defect"

// planted is an edit with the defect that it belongs to.
type planted struct {
	id string
	*Edit
}

// span is a place in a source, and everything that is planted there. Spans lie apart or inside each other.
type span struct {
	start, end int
	planted    []planted
	inner      []*span
}

// plant returns the source with all edits in place, formatted.
func plant(name string, source []byte, edits []planted) ([]byte, error) {
	files := token.NewFileSet()
	syntax, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("plant defects: %w", err)
	}
	at := func(p token.Pos) int { return files.Position(p).Offset }
	var root span
	var lost []error // all of them: after a change of the engine the whole list is wanted
	for _, e := range edits {
		from, to, err := e.find(syntax, source, at)
		if err == nil {
			err = root.add(from, to, e)
		}
		if err != nil {
			lost = append(lost, fmt.Errorf("defect %s in %s: %w", e.id, name, err))
		}
	}
	if len(lost) > 0 {
		return nil, errors.Join(lost...)
	}
	var b strings.Builder
	clause := at(syntax.Name.End())
	b.Write(source[:clause])
	fmt.Fprintf(&b, "\n\nimport %q\n", switchImport)
	root.start, root.end = clause, len(source)
	root.writeOriginal(&b, source)
	text, err := format.Source([]byte(b.String()))
	if err != nil {
		return nil, fmt.Errorf("plant defects in %s: what comes out is no Go: %w", name, err)
	}
	return text, nil
}

// find returns where the original stands in its function.
func (e *planted) find(file *ast.File, source []byte, at func(token.Pos) int) (from, to int, err error) {
	var function *ast.FuncDecl
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && functionName(f) == e.Function {
			function = f
		}
	}
	if function == nil {
		return 0, 0, fmt.Errorf("there is no function %s: %w", e.Function, ErrPlace)
	}
	begin := at(function.Body.Pos())
	body, original := tokensOf(source[begin:at(function.End())]), tokensOf([]byte(e.Original))
	found := matches(body, original)
	if len(found) != 1 {
		return 0, 0, fmt.Errorf("%q stands %d times in %s: %w", e.Original, len(found), e.Function, ErrPlace)
	}
	last := body[found[0]+len(original)-1]
	return begin + body[found[0]].from, begin + last.to, nil
}

// functionName is "name", or "Type.name" for a method.
func functionName(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	receiver := f.Recv.List[0].Type
	for {
		switch t := receiver.(type) {
		case *ast.StarExpr:
			receiver = t.X
		case *ast.IndexExpr:
			receiver = t.X
		case *ast.IndexListExpr:
			receiver = t.X
		case *ast.Ident:
			return t.Name + "." + f.Name.Name
		default:
			return f.Name.Name
		}
	}
}

// lexeme is one token of a source. Comments and spaces are none.
type lexeme struct {
	kind     token.Token
	text     string
	from, to int
}

func tokensOf(source []byte) []lexeme {
	files := token.NewFileSet()
	file := files.AddFile("", -1, len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, 0)
	var all []lexeme
	for {
		pos, kind, text := s.Scan()
		if kind == token.EOF {
			break
		}
		if text == "" {
			text = kind.String()
		}
		from := file.Offset(pos)
		to := from + len(text)
		if kind == token.SEMICOLON && text == "\n" {
			text, to = ";", from // put in by the scanner at the end of a line
		}
		all = append(all, lexeme{kind, text, from, to})
	}
	if n := len(all); n > 0 && all[n-1].kind == token.SEMICOLON {
		all = all[:n-1]
	}
	return all
}

// matches returns where wanted begins in all. Inside wanted spaces and line ends count for nothing.
func matches(all, wanted []lexeme) []int {
	var found []int
	for i := 0; len(wanted) > 0 && i+len(wanted) <= len(all); i++ {
		if slices.EqualFunc(all[i:i+len(wanted)], wanted, func(a, b lexeme) bool { return a.kind == b.kind && a.text == b.text }) {
			found = append(found, i)
		}
	}
	return found
}

// add puts an edit in its place in the tree.
func (s *span) add(from, to int, e planted) error {
	for _, in := range s.inner {
		switch {
		case to <= in.start || from >= in.end:
		case from == in.start && to == in.end:
			if in.planted[0].Result != e.Result {
				return fmt.Errorf("it shares its place with %s, but one replaces a statement and the other an expression of another type: %w",
					in.planted[0].id, ErrPlace)
			}
			in.planted = append(in.planted, e)
			return nil
		case from >= in.start && to <= in.end:
			return in.add(from, to, e)
		case from > in.start || to < in.end:
			return fmt.Errorf("it overlaps the place of %s: %w", in.planted[0].id, ErrPlace)
		}
	}
	fresh := &span{start: from, end: to, planted: []planted{e}}
	kept := s.inner[:0]
	for _, in := range s.inner {
		if in.start >= from && in.end <= to {
			fresh.inner = append(fresh.inner, in)
		} else {
			kept = append(kept, in)
		}
	}
	s.inner = append(kept, fresh)
	slices.SortFunc(s.inner, func(a, b *span) int { return a.start - b.start })
	return nil
}

// writeOriginal writes the span's own text, with what is planted inside it.
func (s *span) writeOriginal(b *strings.Builder, source []byte) {
	at := s.start
	for _, in := range s.inner {
		b.Write(source[at:in.start])
		in.write(b, source)
		at = in.end
	}
	b.Write(source[at:s.end])
}

// write writes the choice between what is planted here and the original.
func (s *span) write(b *strings.Builder, source []byte) {
	result := s.planted[0].Result
	if result != "" {
		fmt.Fprintf(b, "func() %s {\n", result)
		for _, p := range s.planted {
			fmt.Fprintf(b, "if defect.On(%q) {\n%s\n}\n", p.id, p.Replacement)
		}
		b.WriteString("return ")
		s.writeOriginal(b, source)
		b.WriteString("\n}()")
		return
	}
	for _, p := range s.planted {
		fmt.Fprintf(b, "if defect.On(%q) {\n%s\n} else ", p.id, p.Replacement)
	}
	b.WriteString("{\n")
	s.writeOriginal(b, source)
	b.WriteString("\n}")
}
