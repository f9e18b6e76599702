package inspect

// zeros reports whether nothing but zeros lies from the reader's place to the end of the file: what a store writes ahead of its
// log's end. No record begins like that.
func (in *reader) zeros() bool {
	from := in.at
	defer func() { in.at = from }()
	for in.at < in.size {
		p, err := in.bytes(min(readAtOnce, in.size-in.at))
		if err != nil {
			return false
		}
		for _, b := range p {
			if b != 0 {
				return false
			}
		}
		in.at += int64(len(p))
	}
	return true
}

// behind notes what lies between the end of a log and the end of its file.
func (s *Segment) behind(in *reader) {
	if rest := in.size - in.at; in.zeros() {
		s.Zeros = rest
	} else {
		s.Behind = rest
	}
}
