package inspect

import "lakebed/engine/inspection"

// zeros reports whether nothing but zeros lies from the reader's place to the end of the file: what a store writes ahead of its
// log's end. No record begins like that.
func (in *reader) zeros() bool {
	from := in.At
	defer func() { in.At = from }()
	for in.At < in.Size {
		p, err := in.Bytes(min(inspection.ChunkBytes, in.Size-in.At))
		if err != nil {
			return false
		}
		for _, b := range p {
			if b != 0 {
				return false
			}
		}
		in.At += int64(len(p))
	}
	return true
}

// behind notes what lies between the end of a log and the end of its file.
func (s *Segment) behind(in *reader) {
	if rest := in.Size - in.At; in.zeros() {
		s.Zeros = rest
	} else {
		s.Behind = rest
	}
}
