package commitlog

import (
	"cmp"
	"errors"
	"slices"

	"lakebed/engine/commitlog/consumequeue"
	"lakebed/engine/commitlog/message"
	"lakebed/engine/host"
)

// errMoved says that the queue's first unit was moved by another task while it was looked for.
var errMoved = errors.New("the queue begins elsewhere now")

// unitsAmid is how many units are compared with one another at most, where some contradict.
const unitsAmid = 4 * unitsAtOnce

// unitSearch looks for the first unit of a queue whose message the log still has. Units have no checksum, and one that has rotted must not lead
// the search past messages that are there. Wherever a search by halves comes out wrong, a unit beside the place is rotted: so those around it
// are compared, and only if they contradict one another a search that needs no single unit follows.
type unitSearch struct {
	*Store
	q         *queue
	low, high int64 // the units there are
	first     int64 // where the log begins
}

// run returns the offset of the first unit that counts; high if all messages are gone.
func (u *unitSearch) run() (int64, error) {
	head, err := u.units(u.low, u.low+2)
	if err != nil || head[0].Physical >= u.first && u.agree(head) {
		return u.low, err
	}
	at, err := u.halve()
	if err != nil {
		return u.low, err
	}
	around, err := u.units(max(at-2, u.low), at+2)
	if err != nil || u.agree(around) {
		return at, err
	}
	at, err = u.amid()
	if err == nil {
		u.h.Log(host.Warn, "units of a queue contradict one another where its first message is looked for",
			host.F("queue", u.q), host.F("log begins", u.first), host.F("taken", at))
	}
	return at, err
}

// halve is the search for those who believe every unit.
func (u *unitSearch) halve() (int64, error) {
	from, to := u.low, u.high
	for from < to {
		middle := from + (to-from)/2
		unit, err := u.units(middle, middle+1)
		if err != nil {
			return 0, err
		}
		if unit[0].Physical < u.first {
			from = middle + 1
		} else {
			to = middle
		}
	}
	return from, nil
}

// amid is the search among units of which some are rotted. It halves by the vote of many units, and then goes by the longest row of units whose
// places ascend: what does not fit in has rotted, and says nothing. What lies between the last message that is gone and the first that is there
// counts as there: whoever asks for it is told of the damage.
func (u *unitSearch) amid() (int64, error) {
	from, to := u.low, u.high
	for to-from > unitsAmid {
		begin := from + (to-from-unitsAtOnce)/2
		units, err := u.units(begin, begin+unitsAtOnce)
		if err != nil {
			return 0, err
		}
		if 2*u.gone(units) > len(units) {
			from = begin
		} else {
			to = begin + unitsAtOnce
		}
	}
	units, err := u.units(from, to)
	if err != nil {
		return 0, err
	}
	count := 0
	for _, i := range u.ascending(units) {
		if units[i].Physical < u.first {
			count = i + 1
		}
	}
	for i, unit := range units[:count] { // where few units are compared, the row may be that of the rotted ones
		if unit.Physical >= u.first && u.proven(from+int64(i), unit) {
			return from + int64(i), nil
		}
	}
	return from + int64(count), nil
}

// gone counts the units that say that their messages are.
func (u *unitSearch) gone(units []consumequeue.Unit) (count int) {
	end := u.confirmedNow()
	for _, unit := range units {
		if possible(unit, end) && unit.Physical < u.first {
			count++
		}
	}
	return count
}

// proven reports whether the message that a unit leads to is the one of its offset.
func (u *unitSearch) proven(offset int64, unit consumequeue.Unit) bool {
	at := window{log: u.log, limit: u.dispatchedNow()}
	_, err := u.fetch(u.q, &at, offset, unit)
	return err == nil
}

// units reads units from one offset up to another, or to the end of the queue.
func (u *unitSearch) units(from, to int64) (all []consumequeue.Unit, err error) {
	for to = min(to, u.high); from < to; {
		part, err := u.q.units.Read(from, int(to-from))
		if err != nil {
			return nil, err
		}
		if len(part) == 0 {
			return nil, errMoved
		}
		all, from = append(all, part...), from+int64(len(part))
	}
	return all, nil
}

// agree reports whether units that follow one another can all be right.
func (u *unitSearch) agree(units []consumequeue.Unit) bool {
	end := u.confirmedNow()
	behind := int64(0)
	for _, unit := range units {
		if !possible(unit, end) || unit.Physical < behind {
			return false
		}
		behind = unit.Physical + int64(unit.Size)
	}
	return true
}

// possible reports whether a message of this size may have been at this place of a log that ends at end.
func possible(unit consumequeue.Unit, end int64) bool {
	return unit.Physical >= 0 && unit.Size >= message.FixedBytes && unit.Physical <= end-int64(unit.Size)
}

// ascending returns the indexes of the longest row of possible units whose places ascend.
func (u *unitSearch) ascending(units []consumequeue.Unit) []int {
	end := u.confirmedNow()
	before := make([]int, len(units)) // of each, the one that precedes it in the longest row that it ends
	var ends []int                    // of the rows of length 1, 2 and so on, the one that ends lowest
	for i, unit := range units {
		if !possible(unit, end) {
			continue
		}
		n, _ := slices.BinarySearchFunc(ends, unit.Physical, func(k int, physical int64) int {
			return cmp.Compare(units[k].Physical, physical)
		})
		if n > 0 {
			before[i] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, i)
		}
		ends[n] = i
	}
	for n := len(ends) - 2; n >= 0; n-- {
		ends[n] = before[ends[n+1]]
	}
	return ends
}
