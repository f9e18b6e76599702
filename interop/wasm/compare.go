package main

import "strings"

// nothing stands for a line that one side did not print.
const nothing = "(nothing)"

// difference is a trial of which two programs say two things.
type difference struct {
	Random uint64 `json:"random"` // the guest's random source
	Native string `json:"native"`
	Guest  string `json:"guest"`
}

// differences compares two outputs line by line. Both print trials in the same order.
func differences(random uint64, native, guest string) []difference {
	var found []difference
	left, right := linesOf(native), linesOf(guest)
	for i := range max(len(left), len(right)) {
		if a, b := lineAt(left, i), lineAt(right, i); a != b {
			found = append(found, difference{Random: random, Native: a, Guest: b})
		}
	}
	return found
}

// linesOf leaves out the end of the last line, so that it is no line of its own.
func linesOf(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func lineAt(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return nothing
}
