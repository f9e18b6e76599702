package measure

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lakebed/peers/stores"
)

// Brokers says what a run does about brokers.
type Brokers string

// The answers: measured where there is a Java and a Maven; left out; or their absence is a failure.
const (
	BrokersAuto    Brokers = "auto"
	BrokersNone    Brokers = "none"
	BrokersRequire Brokers = "require"
)

// Options is what to run.
type Options struct {
	Dir      string // on the disk to measure
	Program  string // this program, to start workers with
	Stores   []string
	Only     string // points that have one of these in their names, with commas between
	Brokers  Brokers
	Quick    bool
	Rounds   int           // that count, of each store at each point; zero: as Quick says
	Length   time.Duration // of a round; zero: as Quick says
	Seed     uint64
	Command  string
	Progress func(doing string)
}

// What a run does without being told.
const (
	roundsDefault = 6
	lengthDefault = 500 * time.Millisecond
	warmUpDefault = 10 * time.Second // of a broker, before its first round: its JVM compiles meanwhile
	roundsQuick   = 2
	lengthQuick   = 100 * time.Millisecond
	warmUpQuick   = time.Second
	roundBytesMax = 256 << 20 // stored by one round: bounds what lies on the disk
	fillBytesMax  = 64 << 20  // stored before reads
	fillDoneMax   = 50_000    // payloads
	fillDoneQuick = 2_000
	freeBytesMin  = 12 << 30
	freeQuickMin  = 3 << 30
)

var (
	payloads   = []int{100, 1 << 10, 16 << 10}
	partitions = []int{1, 1000}
	appenders  = []int{1, 64}
)

// fillBytes is what is stored before reads.
func (o *Options) fillBytes(payload int) int64 {
	most := int64(fillDoneMax)
	if o.Quick {
		most = fillDoneQuick
	}
	return min(fillBytesMax, most*int64(payload))
}

// readAppenders fill a store for reads.
const readAppenders = 64

func (o *Options) rounds() int {
	switch {
	case o.Rounds > 0:
		return o.Rounds
	case o.Quick:
		return roundsQuick
	}
	return roundsDefault
}

func (o *Options) length() time.Duration {
	switch {
	case o.Length > 0:
		return o.Length
	case o.Quick:
		return lengthQuick
	}
	return lengthDefault
}

func (o *Options) warmUp() time.Duration {
	if o.Quick {
		return warmUpQuick
	}
	return warmUpDefault
}

// plan is what was chosen.
type plan struct {
	stores  []stores.Store
	appends []stores.Point
	reads   []stores.Point // unsynced; their appenders only fill
}

func (o *Options) plan() (p plan, err error) {
	for _, name := range o.Stores {
		if _, ok := stores.Find(name); !ok {
			return p, fmt.Errorf("%w: there is no store %q; there are: %s", ErrUsage, name, strings.Join(StoreNames(), ", "))
		}
	}
	for _, s := range stores.All() {
		if s.Broker != stores.NoBroker && o.Brokers == BrokersNone {
			continue
		}
		if len(o.Stores) == 0 || slices.Contains(o.Stores, s.Name) {
			p.stores = append(p.stores, s)
		}
	}
	for _, synced := range []bool{true, false} {
		for _, point := range o.points(synced) {
			if o.chosen(appendName(point)) {
				p.appends = append(p.appends, point)
			}
		}
	}
	for _, point := range o.points(false) {
		if point.Appenders == readAppenders && o.chosen(readName(point)) {
			p.reads = append(p.reads, point)
		}
	}
	if len(p.stores) == 0 || len(p.appends)+len(p.reads) == 0 {
		return p, fmt.Errorf("%w: nothing has a name like that; points are called as %s or %s", ErrUsage,
			appendName(o.points(true)[0]), readName(o.points(false)[0]))
	}
	return p, nil
}

// points lists the points of one durability. The quick form has those of 1 KiB and one partition.
func (o *Options) points(synced bool) (points []stores.Point) {
	for _, payload := range payloads {
		for _, parts := range partitions {
			for _, tasks := range appenders {
				if !o.Quick || payload == 1<<10 && parts == 1 {
					points = append(points, stores.Point{Synced: synced, PayloadBytes: payload, Partitions: parts, Appenders: tasks})
				}
			}
		}
	}
	return points
}

func (o *Options) chosen(name string) bool {
	return o.Only == "" || slices.ContainsFunc(strings.Split(o.Only, ","), func(part string) bool { return strings.Contains(name, part) })
}

// StoreNames lists what can be measured.
func StoreNames() (names []string) {
	for _, s := range stores.All() {
		names = append(names, s.Name)
	}
	return names
}

func appendName(p stores.Point) string { return "append/" + p.Name() }

func readName(p stores.Point) string {
	return fmt.Sprintf("read/%s/%d", strings.ReplaceAll(stores.SizeWords(p.PayloadBytes), " ", ""), p.Partitions)
}
