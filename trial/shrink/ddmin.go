package shrink

// Minimize takes away as many elements as it can while fails says yes, in pieces that become smaller, down to the smallest
// size. When it returns and more still says yes, no piece of that size can be removed from what is left. It trusts that the
// whole fails.
func Minimize[E any](elements []E, smallest int, fails func([]E) bool, more func() bool) []E {
	size := max((len(elements)+1)/2, smallest)
	for len(elements) > 0 && more() {
		before := len(elements)
		elements = withoutPieces(elements, size, fails, more)
		removed := len(elements) < before
		switch {
		case size > smallest:
			size = max(min((size+1)/2, len(elements)), smallest)
		case !removed:
			return elements
		}
	}
	return elements
}

// withoutPieces tries to remove each piece of this size once, the last one first: what comes late is a consequence more
// often than a cause.
func withoutPieces[E any](elements []E, size int, fails func([]E) bool, more func() bool) []E {
	for end := len(elements); end > 0 && more(); end -= size {
		begin := max(end-size, 0)
		rest := make([]E, 0, len(elements)-(end-begin))
		rest = append(append(rest, elements[:begin]...), elements[end:]...)
		if fails(rest) {
			elements = rest
		}
	}
	return elements
}
