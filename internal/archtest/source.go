package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// kind says into what a file is linked.
type kind int

const (
	production   kind = iota
	test              // _test.go of the package itself
	externalTest      // _test.go of package x_test
)

// source is one parsed Go file.
type source struct {
	folder  string // relative to the module's root, with slashes
	name    string // the same for the file
	kind    kind
	imports []string
	syntax  *ast.File
	lines   int
}

// module is a parsed module.
type module struct {
	path      string
	positions *token.FileSet
	sources   []source
}

// read parses every Go file of the module rooted at root, whatever its build constraints, except nested modules and
// the folders that the go command passes over. Reading them here, and not through the go command, also tells the test
// cache which files a cached result depends on.
func read(root string) (*module, error) {
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, fmt.Errorf("read the module at %s: %w", root, err)
	}
	m := &module{positions: token.NewFileSet()}
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, "module "); ok {
			m.path = strings.TrimSpace(name)
		}
	}
	if m.path == "" {
		return nil, fmt.Errorf("no module line in %s", filepath.Join(root, "go.mod"))
	}
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return enter(root, name)
		}
		if path.Ext(name) != ".go" || isHidden(entry.Name()) {
			return nil
		}
		return m.add(root, name)
	})
	if err != nil {
		return nil, fmt.Errorf("read the module at %s: %w", root, err)
	}
	return m, nil
}

func isHidden(name string) bool { return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") }

// enter returns fs.SkipDir for a directory that is not part of the module.
func enter(root, name string) error {
	if name == root {
		return nil
	}
	if base := filepath.Base(name); isHidden(base) || base == "testdata" {
		return fs.SkipDir
	}
	if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

func (m *module) add(root, name string) error {
	syntax, err := parser.ParseFile(m.positions, name, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	relative, err := filepath.Rel(root, name)
	if err != nil {
		return err
	}
	s := source{name: filepath.ToSlash(relative), syntax: syntax, lines: m.positions.File(syntax.FileStart).LineCount()}
	s.folder = path.Dir(s.name)
	if strings.HasSuffix(s.name, "_test.go") {
		s.kind = test
		if strings.HasSuffix(syntax.Name.Name, "_test") {
			s.kind = externalTest
		}
	}
	for _, spec := range syntax.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		s.imports = append(s.imports, imported)
	}
	m.sources = append(m.sources, s)
	return nil
}
