package archtest

import (
	"fmt"
	"go/ast"
)

// Bounds on what a reader has to hold in the head at once. Test files are free: a table is as long as its cases.
const (
	fileLinesMax     = 600
	functionLinesMax = 70
)

// sized are the folders whose files and functions are measured.
var sized = []string{"engine", "sim"}

// Ratchet lists what may be longer than the bounds, and how long it is: "folder/file.go" or "folder/file.go:Name",
// "folder/file.go:Type.Name". It only turns one way: an entry that is longer than it need be is reported too.
type Ratchet map[string]int

// ratchet is the list in force.
var ratchet = Ratchet{}

// Sizes returns one sentence for each file and function in the module at root that is longer than it may be, and for
// each entry of the ratchet that is out of date.
func Sizes(root string, allowed Ratchet) ([]string, error) {
	m, err := read(root)
	if err != nil {
		return nil, err
	}
	measure := measure{allowed: allowed, used: map[string]bool{}}
	for _, s := range m.sources {
		if s.kind != production || !within(s.folder, sized...) {
			continue
		}
		measure.check(s.name, s.lines, fileLinesMax, "look for the second concept hiding in it")
		for _, declaration := range s.syntax.Decls {
			if function, ok := declaration.(*ast.FuncDecl); ok {
				lines := m.positions.Position(function.End()).Line - m.positions.Position(function.Pos()).Line + 1
				measure.check(s.name+":"+functionName(function), lines, functionLinesMax, "let it decide, and leaves compute")
			}
		}
	}
	for name := range allowed {
		if !measure.used[name] {
			measure.sentences = append(measure.sentences, fmt.Sprintf("the ratchet lists %s, which is within the bounds or gone: remove the entry", name))
		}
	}
	return measure.sentences, nil
}

type measure struct {
	allowed   Ratchet
	used      map[string]bool
	sentences []string
}

func (m *measure) check(name string, lines, bound int, advice string) {
	if lines <= bound {
		return
	}
	limit, listed := m.allowed[name]
	m.used[name] = listed
	switch {
	case !listed:
		m.sentences = append(m.sentences, fmt.Sprintf("%s has %d lines, more than %d: %s", name, lines, bound, advice))
	case lines > limit:
		m.sentences = append(m.sentences, fmt.Sprintf("%s has grown to %d lines; the ratchet allows %d", name, lines, limit))
	case lines < limit:
		m.sentences = append(m.sentences, fmt.Sprintf("%s has shrunk to %d lines: lower the ratchet from %d", name, lines, limit))
	}
}

// functionName is Name, or Type.Name for a method.
func functionName(function *ast.FuncDecl) string {
	if function.Recv == nil {
		return function.Name.Name
	}
	receiver := function.Recv.List[0].Type
	for {
		switch r := receiver.(type) {
		case *ast.StarExpr:
			receiver = r.X
		case *ast.IndexExpr:
			receiver = r.X
		case *ast.IndexListExpr:
			receiver = r.X
		case *ast.Ident:
			return r.Name + "." + function.Name.Name
		default:
			return function.Name.Name
		}
	}
}
