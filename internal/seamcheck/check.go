package seamcheck

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Finding is one place where the engine steps around the seam.
type Finding struct {
	File string // relative to the module's root, with slashes
	Line int
	What string // the offending item: "time.Now", "go statement"
	Rule Rule
}

func (f Finding) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", f.File, f.Line, f.What, f.Rule)
}

// Check returns what breaks the rules, sorted by file and line. An error means that the check could not be made: a
// package that does not build, or a configuration that matches none (ErrNothing).
func Check(config Config) ([]Finding, error) {
	found, err := scan(config)
	if err != nil {
		return nil, err
	}
	if len(found.folders) == 0 {
		return nil, fmt.Errorf("folders %s in %s: %w", strings.Join(config.Roots, ", "), config.Dir, ErrNothing)
	}
	packages, err := list(config.Dir, found.folders)
	if err != nil {
		return nil, err
	}
	positions := token.NewFileSet()
	from := exports(positions, packages)
	read := map[string]bool{} // files that a pass looked at
	var findings []Finding
	for _, p := range packages {
		folder, ours := p.folder()
		if !ours || !config.covers(folder) || len(p.GoFiles) == 0 {
			continue
		}
		checked, err := typeCheck(p, positions, from)
		if err != nil {
			return nil, err
		}
		checked.folder = folder
		findings = append(findings, checked.run()...)
		for _, name := range p.GoFiles {
			read[folder+"/"+name] = true
		}
	}
	return sorted(append(findings, hidden(found.files, read)...)), nil
}

// folder is where p lies in the main module; false for packages of other modules and of the standard library.
func (p listedPackage) folder() (string, bool) {
	if p.Module == nil || !p.Module.Main {
		return "", false
	}
	relative, err := filepath.Rel(p.Module.Dir, p.Dir)
	return filepath.ToSlash(relative), err == nil
}

// hidden reports the sources that no pass has read.
func hidden(files []string, read map[string]bool) []Finding {
	var findings []Finding
	for _, file := range files {
		if !read[file] {
			findings = append(findings, Finding{file, 1, "file left out of the check", HiddenFile})
		}
	}
	return findings
}

// sorted orders findings for the reader and drops repetitions: one line may break one rule in several expressions.
func sorted(findings []Finding) []Finding {
	slices.SortFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule),
			cmp.Compare(a.What, b.What))
	})
	return slices.CompactFunc(findings, func(a, b Finding) bool {
		return a.File == b.File && a.Line == b.Line && a.Rule == b.Rule
	})
}

// pass is the check of one package.
type pass struct {
	positions *token.FileSet
	path      string // import path
	module    string // path of the module it belongs to
	folder    string // relative to the module's root
	files     []*ast.File
	info      *types.Info

	function string // the declared function that is being walked
	findings []Finding
}

func (p *pass) run() []Finding {
	for _, file := range p.files {
		for _, spec := range file.Imports {
			p.checkImport(spec)
		}
		for _, declaration := range file.Decls {
			p.function = ""
			switch d := declaration.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					p.function = d.Name.Name
				}
			case *ast.GenDecl:
				p.checkVariables(d)
			}
			ast.Inspect(declaration, p.visit)
		}
	}
	return p.findings
}

func (p *pass) visit(node ast.Node) bool {
	if node == nil {
		return false
	}
	p.checkSyntax(node)
	p.checkWrite(node)
	switch n := node.(type) {
	case *ast.Ident:
		p.checkUse(n)
	case ast.Expr:
		p.checkAddress(n)
	}
	return true
}

func (p *pass) checkImport(spec *ast.ImportSpec) {
	path, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return // the type checker has complained
	}
	if rule, bad := importRule(path, p.path, p.module); bad {
		p.report(spec, "import of "+path, rule)
	}
}

// checkUse looks at what a name stands for, so that it does not matter how the name was brought into the file, nor
// whether it is called or only passed on.
func (p *pass) checkUse(name *ast.Ident) {
	obj := p.info.Uses[name]
	if obj == nil {
		return
	}
	if builtin, ok := obj.(*types.Builtin); ok {
		p.checkBuiltin(name, builtin)
		return
	}
	if _, isPackage := obj.(*types.PkgName); isPackage || obj.Pkg() == nil || obj.Pkg().Path() == p.path {
		return
	}
	if rule, bad := objectRule(obj); bad {
		p.report(name, obj.Pkg().Path()+"."+objectName(obj), rule)
	}
}

func (p *pass) report(at ast.Node, what string, rule Rule) {
	if exempted(p.folder, p.function, rule) {
		return
	}
	position := p.positions.Position(at.Pos())
	p.findings = append(p.findings, Finding{
		File: p.folder + "/" + filepath.Base(position.Filename), Line: position.Line, What: what, Rule: rule,
	})
}
