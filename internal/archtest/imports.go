package archtest

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Imports returns one sentence for each import in the module at root that breaks a rule.
func Imports(root string) ([]string, error) {
	m, err := read(root)
	if err != nil {
		return nil, err
	}
	var sentences []string
	told := map[string]bool{} // folders without a place, told once
	for _, s := range m.sources {
		if misplaced(s.folder) {
			if !told[s.folder] {
				sentences = append(sentences, fmt.Sprintf("%s lies in %s, which no rule covers: %s", s.name, s.folder, rulePlace))
			}
			told[s.folder] = true
			continue
		}
		for _, imported := range s.imports {
			target, ours := strings.CutPrefix(imported, m.path+"/")
			if imported == m.path {
				target, ours = publicFolder, true
			}
			if !ours {
				continue
			}
			if rule := broken(s, target); rule != "" {
				importer := path.Join(m.path, s.folder)
				sentences = append(sentences, fmt.Sprintf("%s imports %s (in %s): %s", importer, imported, s.name, rule))
			}
		}
	}
	return sentences, nil
}

// misplaced reports whether folder has no place in the tables.
func misplaced(folder string) bool {
	at := layerOf(folder)
	return at == nil || at.folder == "engine" && rank(folder) < 0
}

// broken returns the rule that s breaks by importing the folder target, or "".
func broken(s source, target string) string {
	if slices.Contains(strings.Split(target, "/"), "testdata") {
		return ruleData
	}
	if target == s.folder || target == "internal/invariant" {
		return ""
	}
	at := layerOf(s.folder)
	if !within(target, at.allowed(s.kind)...) {
		return at.rule
	}
	if s.kind != production {
		return "" // the order inside the engine binds what is shipped
	}
	if rule := reserved(s.folder, target); rule != "" {
		return rule
	}
	if at.folder == "engine" && !within(s.folder, testSupport...) {
		return outOfOrder(s.folder, target)
	}
	return ""
}

func layerOf(folder string) *layer {
	for i := range layers {
		if within(folder, layers[i].folder) {
			return &layers[i]
		}
	}
	return nil
}

// allowed are the folders that a file of this kind in the layer may import.
func (l *layer) allowed(k kind) []string {
	folders := append([]string{l.folder}, l.imports...)
	if k != production {
		folders = append(folders, l.tests...)
	}
	if k == externalTest {
		folders = append(folders, l.external...)
	}
	return folders
}

func reserved(importer, target string) string {
	for _, r := range reservations() {
		if within(target, r.folder) && !within(importer, append(r.by, r.folder)...) {
			return r.rule
		}
	}
	return ""
}

// outOfOrder checks an import from one part of the engine to another.
func outOfOrder(importer, target string) string {
	from, to := partOf(importer), partOf(target)
	if from == to {
		return ""
	}
	if within(to, aside...) || within(from, aside...) && !slices.Contains(belowAside, to) {
		return ruleAside
	}
	if rank(to) < 0 || rank(to) >= rank(from) {
		return ruleOrder
	}
	return ""
}

// rank is the line of engineOrder on which the part that folder belongs to stands, or -1.
func rank(folder string) int {
	for line, parts := range engineOrder {
		if within(folder, parts...) {
			return line
		}
	}
	return -1
}

// partOf is the part of the engine that folder belongs to, or "".
func partOf(folder string) string {
	for _, parts := range engineOrder {
		for _, part := range parts {
			if within(folder, part) {
				return part
			}
		}
	}
	return ""
}

// within reports whether folder is one of trees or below one.
func within(folder string, trees ...string) bool {
	return slices.ContainsFunc(trees, func(tree string) bool {
		return folder == tree || strings.HasPrefix(folder, tree+"/")
	})
}
