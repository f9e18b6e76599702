package campaign

import "strings"

// Nearest returns the word among candidates that a typist who wrote word most likely meant, or "" if none is near.
func Nearest(word string, candidates []string) string {
	best, distance := "", 2*max(2, len(word)/3)+2
	for _, c := range candidates {
		d := 2 * editDistance(word, c)
		if len(c) != len(word) {
			d++ // of two that are equally far, swapped letters are likelier than a lost one
		}
		if d < distance {
			best, distance = c, d
		}
	}
	if best != "" || word == "" {
		return best
	}
	for _, c := range candidates {
		if strings.HasPrefix(c, word) {
			return c
		}
	}
	return ""
}

// editDistance counts the insertions, deletions and replacements of bytes that make b of a.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

func joinNames(names []string) string { return strings.Join(names, ", ") }
