package explore

import (
	"fmt"
	"strconv"
	"strings"

	"lakebed/engine/bookkeeper/ledger"
)

// ParseShape reads "3/3/2": ensemble, write quorum, ack quorum.
func ParseShape(text string) (ledger.Quorum, error) {
	var q ledger.Quorum
	n, err := fmt.Sscanf(text, "%d/%d/%d", &q.Ensemble, &q.Write, &q.Ack)
	if n != 3 || err != nil || fmt.Sprintf("%d/%d/%d", q.Ensemble, q.Write, q.Ack) != text {
		return q, fmt.Errorf("shape %q is not of the form 3/3/2", text)
	}
	return q, q.Validate()
}

// ParseHeld reads the bookies that have each entry: "0+1/0" is entry 0 on b0 and b1, entry 1 on b0; between two
// strokes, or before or behind one, nobody has the entry.
func ParseHeld(text string) ([][]int, error) {
	var held [][]int
	for _, entry := range strings.Split(text, "/") {
		bookies := []int{}
		for _, number := range strings.FieldsFunc(entry, func(r rune) bool { return r == '+' }) {
			b, err := strconv.Atoi(number)
			if err != nil {
				return nil, fmt.Errorf("copies %q are not of the form 0+1/0", text)
			}
			bookies = append(bookies, b)
		}
		held = append(held, bookies)
	}
	return held, nil
}

// ParseRule finds the rule whose name begins so.
func ParseRule(text string) (string, error) {
	var found, names []string
	for _, r := range Rules() {
		names = append(names, r.Name)
		if strings.HasPrefix(r.Name, text) {
			found = append(found, r.Name)
		}
	}
	if len(found) != 1 {
		return "", fmt.Errorf("%q is the beginning of %d rules; there are: %s", text, len(found), strings.Join(names, "; "))
	}
	return found[0], nil
}
