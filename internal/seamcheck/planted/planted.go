package planted

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"lakebed/internal/seamcheck"
)

// Plant is one source file with one violation.
type Plant struct {
	Form   string // "plain", "alias", "dot", "value", "syntax"; also the name of its package
	File   string // base name
	Source string
	Line   int // of the violation
	Rule   seamcheck.Rule
}

// marker ends the line of a plant that must be reported.
const marker = "// planted"

// All returns every plant.
func All() []Plant {
	var plants []Plant
	for i, o := range objects {
		name := fmt.Sprintf("p%03d", i)
		base := o.path[strings.LastIndex(o.path, "/")+1:]
		if o.named != "" {
			base = o.named
		}
		plants = append(plants,
			imported("plain", name, o, "", o.use, base+"."),
			imported("alias", name, o, "renamed", o.use, "renamed."),
			imported("dot", name, o, ".", o.use, ""))
		if o.value != "" {
			keep := "keep := " + o.value + "; _ = keep"
			plants = append(plants, imported("value", name, o, "", keep, base+"."))
		}
	}
	for i, s := range fragments {
		plants = append(plants, plant("syntax", fmt.Sprintf("s%03d", i), s.source, s.rule))
	}
	return plants
}

// imported makes a plant that uses o in a function; Q. in the use stands for the qualifier.
func imported(form, name string, o object, importAs, use, qualifier string) Plant {
	atImport, atUse := "", marker
	if o.rule == seamcheck.UnlistedPath { // nothing is known of the package but that it is imported
		atImport, atUse = marker, ""
	}
	source := fmt.Sprintf("import %s %q %s\n\nfunc $() {\n\t%s %s\n}\n",
		importAs, o.path, atImport, strings.ReplaceAll(use, "Q.", qualifier), atUse)
	return plant(form, name, source, o.rule)
}

// plant finishes a source: $ stands for a name that is unique in the package.
func plant(form, name, source string, rule seamcheck.Rule) Plant {
	source = strings.ReplaceAll(source, "$", name)
	if !strings.Contains(source, "\npackage ") {
		source = "package " + form + "\n\n" + source
	}
	before, _, found := strings.Cut(source, marker)
	if !found {
		panic("plant " + name + " marks no line")
	}
	return Plant{form, name + ".go", source, strings.Count(before, "\n") + 1, rule}
}

// WriteModule lays out a module named lakebed in dir that can resolve what the plants import, and nothing else.
func WriteModule(dir string) error {
	lines := []string{"module lakebed", "", "go 1.26", ""}
	files := map[string]string{}
	for _, path := range []string{"github.com/google/uuid", "golang.org/x/sys", "golang.org/x/sync", "example.org/unjudged"} {
		lines = append(lines, fmt.Sprintf("require %s v1.0.0", path), fmt.Sprintf("replace %s => ./third/%s", path, path))
		files["third/"+path+"/go.mod"] = "module " + path + "\n\ngo 1.26\n"
	}
	files["go.mod"] = strings.Join(lines, "\n") + "\n"
	files["third/github.com/google/uuid/uuid.go"] = "package uuid\n\nfunc NewString() string { return \"\" }\n"
	files["third/golang.org/x/sys/unix/unix.go"] = "package unix\n\nfunc Getpid() int { return 1 }\n"
	files["third/golang.org/x/sync/errgroup/errgroup.go"] = "package errgroup\n\ntype Group struct{ Limit int }\n"
	files["third/example.org/unjudged/unjudged.go"] = "package unjudged\n\nfunc Do() {}\n"
	for name, text := range files {
		if err := WriteFile(filepath.Join(dir, name), text); err != nil {
			return err
		}
	}
	return nil
}

// Write writes plants into folders named after their forms below dir.
func Write(dir string, plants []Plant) error {
	for _, p := range plants {
		if err := WriteFile(filepath.Join(dir, p.Form, p.File), p.Source); err != nil {
			return err
		}
	}
	return nil
}

// WriteFile writes a file and the directories above it.
func WriteFile(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o644)
}
