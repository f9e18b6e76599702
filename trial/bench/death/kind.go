package death

// Kind is what a round kills.
type Kind struct {
	Name    string
	Writer  bool
	Bookies int // allBookies: all of them
}

const allBookies = -1

// kinds are the rounds, in turn. As many bookies as an acknowledged entry lies on at least are killed at the same moment, in
// some rounds, and all of them in others.
func kinds() []Kind {
	return []Kind{
		{Name: "one bookie", Bookies: 1},
		{Name: "Qa bookies", Bookies: LedgerQuorum().Ack},
		{Name: "all bookies", Bookies: allBookies},
		{Name: "writer", Writer: true},
		{Name: "writer and one bookie", Writer: true, Bookies: 1},
		{Name: "writer and Qa bookies", Writer: true, Bookies: LedgerQuorum().Ack},
		{Name: "writer and all bookies", Writer: true, Bookies: allBookies},
	}
}
