package seamcheck

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// ErrNothing says that the configuration matches no package: a check of nothing must not look like a pass.
var ErrNothing = errors.New("no package to check")

// listedPackage is what the go command tells about a package.
type listedPackage struct {
	ImportPath string
	Dir        string
	Export     string // file with export data
	GoFiles    []string
	Module     *struct {
		Path, Dir, GoVersion string
		Main                 bool
	}
	Error *struct{ Err string }
}

// tree is what the file system holds under the roots of a configuration.
type tree struct {
	folders []string // relative, with slashes: those that hold a Go file other than a test
	files   []string // relative, with slashes: Go files other than tests, and sources of other languages
}

// scan walks the roots. It also makes the walk known to the test cache of the go command, which notices a new file
// only in a directory that the test process itself has read.
func scan(config Config) (tree, error) {
	var found tree
	for _, root := range config.Roots {
		start := filepath.Join(config.Dir, filepath.FromSlash(root))
		err := filepath.WalkDir(start, func(name string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			relative, err := filepath.Rel(config.Dir, name)
			if err != nil {
				return err
			}
			return found.visit(filepath.ToSlash(relative), entry, config)
		})
		if err != nil {
			return tree{}, fmt.Errorf("scan %s: %w", start, err)
		}
	}
	return found, nil
}

func (t *tree) visit(relative string, entry fs.DirEntry, config Config) error {
	base := path.Base(relative)
	hidden := strings.HasPrefix(base, "_") || strings.HasPrefix(base, ".")
	if entry.IsDir() {
		if hidden || base == "testdata" || config.exempt(relative) {
			return fs.SkipDir
		}
		return nil
	}
	if hidden || strings.HasSuffix(base, "_test.go") || !isSource(base) {
		return nil
	}
	t.files = append(t.files, relative)
	if folder := path.Dir(relative); path.Ext(base) == ".go" && !slices.Contains(t.folders, folder) {
		t.folders = append(t.folders, folder)
	}
	return nil
}

// isSource reports whether the go command would build name into a package.
func isSource(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".go", ".s", ".sx", ".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".m", ".f", ".for", ".f90",
		".swig", ".swigcxx", ".syso":
		return true
	}
	return false
}

func (c Config) exempt(folder string) bool {
	return slices.ContainsFunc(c.Exempt, func(tree string) bool { return within(folder, tree) })
}

func (c Config) covers(folder string) bool {
	return slices.ContainsFunc(c.Roots, func(tree string) bool { return within(folder, tree) }) && !c.exempt(folder)
}

// list asks the go command for the packages in folders and all they depend on, compiled.
func list(dir string, folders []string) ([]listedPackage, error) {
	arguments := []string{"list", "-e", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,Module,Error", "--"}
	for _, folder := range folders {
		arguments = append(arguments, "./"+folder)
	}
	command := exec.Command("go", arguments...)
	command.Dir = dir
	var complaint strings.Builder
	command.Stderr = &complaint
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go list in %s: %w\n%s", dir, err, complaint.String())
	}
	var packages []listedPackage
	for decoder := json.NewDecoder(strings.NewReader(string(output))); ; {
		var p listedPackage
		if err := decoder.Decode(&p); err == io.EOF {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("output of go list in %s: %w", dir, err)
		}
		if p.Error != nil && len(p.GoFiles) > 0 { // one without Go files is reported as hidden files
			return nil, fmt.Errorf("package %s does not build: %s\n%s", p.ImportPath, p.Error.Err, complaint.String())
		}
		packages = append(packages, p)
	}
}

// exports makes an importer that reads the export data which list found.
func exports(positions *token.FileSet, packages []listedPackage) types.Importer {
	files := make(map[string]string, len(packages))
	for _, p := range packages {
		files[p.ImportPath] = p.Export
	}
	return importer.ForCompiler(positions, "gc", func(path string) (io.ReadCloser, error) {
		if files[path] == "" {
			return nil, fmt.Errorf("no export data for %s", path)
		}
		return os.Open(files[path])
	})
}

// typeCheck parses and type-checks one package from its sources.
func typeCheck(p listedPackage, positions *token.FileSet, from types.Importer) (*pass, error) {
	checked := &pass{positions: positions, path: p.ImportPath, module: p.Module.Path, info: &types.Info{
		Types:      map[ast.Expr]types.TypeAndValue{},
		Defs:       map[*ast.Ident]types.Object{},
		Uses:       map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}}
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(positions, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("parse package %s: %w", p.ImportPath, err)
		}
		checked.files = append(checked.files, file)
	}
	config := types.Config{Importer: from, GoVersion: "go" + p.Module.GoVersion}
	if _, err := config.Check(p.ImportPath, positions, checked.files, checked.info); err != nil {
		return nil, fmt.Errorf("type-check package %s: %w", p.ImportPath, err)
	}
	return checked, nil
}
