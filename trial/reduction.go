package trial

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/node"
	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/faults"
	"lakebed/sim"
	"lakebed/trial/oracle"
	"lakebed/workloads/agenda"
)

// Reduction is how a trial differs from the one that scenario and seed draw, apart from its plan: less work, and drawn
// values in their plainest form. The zero value is no difference. Package shrink looks for the greatest one with which a
// trial still fails.
type Reduction struct {
	// Work is when the world is healed. Zero: when the scenario says.
	Work Span `json:"work,omitzero"`
	// Operations are those that clients do. Nil: all that they draw.
	Operations []agenda.Op `json:"operations"`
	// Quorum is the cluster's, as "5/3/2", and Bookies how many there are. Zero: as drawn.
	Quorum  string `json:"quorum,omitempty"`
	Bookies int    `json:"bookies,omitzero"`
	// Plain are the draws that do not count.
	Plain []Draw `json:"plain,omitempty"`
	// Luck is another course of all that is left to chance once the world runs: latencies, the order of tasks, what a power
	// cut leaves. Zero: the seed's own. What the seed draws beforehand stays.
	Luck uint64 `json:"luck,omitzero"`
}

// Span is a duration that is text in files.
type Span time.Duration

// MarshalText writes the duration as time.Duration prints it, which loses nothing.
func (s Span) MarshalText() ([]byte, error) { return []byte(time.Duration(s).String()), nil }

// UnmarshalText reads what MarshalText writes.
func (s *Span) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	*s = Span(d)
	return err
}

// Draw names something that a seed decides.
type Draw string

// The draws, and what stands in their place when they do not count.
const (
	DrawSchedule Draw = "schedule" // tasks take turns in the order in which they can run, and nothing delays them
	DrawNetwork  Draw = "network"  // all ways are those of a local network
	DrawDisks    Draw = "disks"    // all disks are those of an SSD
	DrawBookies  Draw = "bookies"  // files roll and caches fill as late as in any seed
	DrawClients  Draw = "clients"  // clients have their default configuration, and as many sessions as the scenario says
	DrawStore    Draw = "store"    // so have the sessions of the metadata store
	DrawMetadata Draw = "metadata" // the metadata store takes no freedom
)

// Draws returns all draws: those of a cluster, of a single bookie, or of another store.
func Draws(s *Scenario) []Draw {
	switch {
	case s.Segments != nil || s.CommitLog != nil || s.Registers != nil:
		return []Draw{DrawSchedule}
	case s.Cluster == nil:
		return []Draw{DrawSchedule, DrawBookies}
	}
	return []Draw{DrawSchedule, DrawNetwork, DrawDisks, DrawBookies, DrawClients, DrawStore, DrawMetadata}
}

// Check reports why the reduction is none of this scenario.
func (r *Reduction) Check(s *Scenario) error {
	if r == nil {
		return nil
	}
	if r.Work < 0 || r.Work > Span(s.work()) {
		return fmt.Errorf("the work of scenario %s ends between 0s and %s, not at %s", s.Name, s.work(), time.Duration(r.Work))
	}
	for _, d := range r.Plain {
		if !slices.Contains(Draws(s), d) {
			return fmt.Errorf("scenario %s draws no %q", s.Name, d)
		}
	}
	if r.Quorum == "" && r.Bookies == 0 {
		return nil
	}
	if s.Cluster == nil {
		return fmt.Errorf("scenario %s has no cluster, and no quorum", s.Name)
	}
	q, err := parseQuorum(r.Quorum)
	if err != nil {
		return err
	}
	if r.Bookies < q.Ensemble || r.Bookies > bookiesMax {
		return fmt.Errorf("quorum %s takes %d to %d bookies, not %d", r.Quorum, q.Ensemble, bookiesMax, r.Bookies)
	}
	return nil
}

// bookiesMax bounds the bookies of a reduced cluster: more than any scenario has.
const bookiesMax = 32

// plain reports whether a draw does not count.
func (r *Reduction) plain(d Draw) bool { return r != nil && slices.Contains(r.Plain, d) }

// work is when the world is healed.
func (o *Options) work() time.Duration {
	if o.Reduction != nil && o.Reduction.Work > 0 {
		return time.Duration(o.Reduction.Work)
	}
	return o.Scenario.work()
}

func (o *Options) agenda() *agenda.Agenda {
	a := agenda.New(sim.Stream(o.Seed, "trial/agenda").Uint64())
	if o.Reduction != nil && o.Reduction.Operations != nil {
		a.Keep(o.Reduction.Operations)
	}
	if o.Passage != nil {
		a.Note()
	}
	return a
}

// Passage is what came to pass in a trial, of what could have.
type Passage struct {
	// Performed are the operations that clients began, in that order, and behind them the first of each client that was
	// there and came to none: to keep it keeps the client, who may have waited for a connection all the time.
	Performed []agenda.Op
	Firings   []faults.Firing
	Visited   []faults.Visit // every point of every node, and how often it came there
}

func (o *Options) tellPassage(a *agenda.Agenda, d *faults.Driver) {
	if o.Passage != nil {
		o.Passage(Passage{Performed: o.performed(a), Firings: d.Firings(), Visited: d.Visited()})
	}
}

func (o *Options) performed(a *agenda.Agenda) []agenda.Op {
	all := a.Performed()
	busy := map[int]bool{}
	for _, op := range all {
		busy[op.Client] = true
	}
	for _, client := range o.Clients() {
		if !busy[client] && !a.Absent(client) {
			all = append(all, agenda.Op{Client: client, Step: 1, Part: 1})
		}
	}
	return all
}

func (r *Reduction) world(c sim.Config) sim.Config {
	if r != nil && r.Luck != 0 {
		c.Seed = sim.Stream(c.Seed, fmt.Sprintf("trial/luck/%d", r.Luck)).Uint64()
	}
	if r.plain(DrawSchedule) {
		c.Policy, c.LockYieldPermille, c.DelayPermille, c.DelayMax = sim.FIFO, 0, 0, 0
	}
	return c
}

// highest makes every draw the highest that there is.
type highest struct{}

func (highest) Uint64() uint64 { return math.MaxUint64 }

// bookie takes the highest of what is drawn. The default configuration would be plainer, but has caches that take longer
// to make than the trial runs.
func (r *Reduction) bookie(s *Scenario, c bookie.Config) bookie.Config {
	if !r.plain(DrawBookies) {
		return c
	}
	plain := drawBookie(s, rand.New(highest{}))
	plain.BookieID = c.BookieID
	return plain
}

// shape takes the place of what was drawn about the cluster's size. Quorum and number of bookies decide how many may be
// damaged: of those drawn, no more than are then permitted.
func (r *Reduction) shape(d *clusterDraw) {
	if r == nil || r.Quorum == "" {
		return
	}
	q, err := parseQuorum(r.Quorum)
	if err != nil {
		panic(err) // Check has looked at it
	}
	d.quorum, d.bookies = q, r.Bookies
	fragile := map[string]bool{}
	for i := range d.bookies {
		if name := bookieName(i); d.allowance.Fragile[name] && len(fragile) < d.awayMax() {
			fragile[name] = true
		}
	}
	d.allowance = faults.Allowance{Damage: len(fragile) > 0, Fragile: fragile}
}

// Shape is what there is to break in the trial's world, and what may be damaged: what plans are drawn for.
func (o *Options) Shape() faults.Shape {
	s := &o.Scenario
	switch {
	case s.Segments != nil:
		d := drawSegments(s, o.draw("segments"))
		return s.segmentsShape(d.config.Volumes)
	case s.CommitLog != nil:
		return s.messageShape()
	case s.Registers != nil:
		return s.registersShape()
	case s.Cluster == nil:
		return s.shape()
	}
	d := drawCluster(o)
	return clusterShape(&o.Scenario, d.bookies, d.allowance)
}

// Clients lists the clients of the trial's world, as operations name them.
func (o *Options) Clients() []int {
	var clients []int
	if o.Scenario.Cluster == nil {
		for i := range o.Scenario.Clients + 1 + o.Scenario.Remote {
			if i != o.Scenario.Clients { // the one that takes the last look
				clients = append(clients, i)
			}
		}
		return clients
	}
	d := drawCluster(o)
	for i := range o.Scenario.Clients {
		for session := range d.sessions {
			clients = append(clients, int(clientID(i, session)))
		}
	}
	return clients
}

// Check reports why a trial with this plan and reduction cannot be run, or would prove nothing: the plan names nodes that
// are not there, or damages more than the promises survive.
func (o *Options) Check() error {
	if err := o.Reduction.Check(&o.Scenario); err != nil {
		return err
	}
	if o.Plan == nil {
		return nil
	}
	if err := o.CheckNames(); err != nil {
		return err
	}
	return faults.Validate(*o.Plan, o.Shape().Allowance)
}

// CheckNames reports that the plan cannot be carried out, because it names nodes that the trial does not have.
func (o *Options) CheckNames() error {
	if o.Plan == nil {
		return nil
	}
	shape := o.Shape()
	names := append([]string{verifierNode}, shape.Peers...)
	for _, n := range shape.Nodes {
		names = append(names, n.Name)
	}
	return o.Plan.Names(names)
}

// cluster takes the place of what was drawn about the nodes.
func (r *Reduction) cluster(s *Scenario, d *clusterDraw) {
	d.world = r.world(d.world)
	if r.plain(DrawNetwork) {
		d.world.Net = sim.LAN()
	}
	if r.plain(DrawDisks) {
		d.disk = sim.SSD()
	}
	if r.plain(DrawBookies) {
		for i := range d.nodes {
			d.nodes[i] = r.plainNode(s, &d.nodes[i])
		}
	}
	if r.plain(DrawClients) {
		d.client = client.DefaultConfig()
		d.sessions = s.Cluster.Sessions
	}
	if r.plain(DrawStore) {
		d.store = service.DefaultClientConfig(metadataAddress)
	}
	if r.plain(DrawMetadata) {
		d.oracle = scaled(oracle.Tame())
	}
}

// healedLimit is that of every trial, but where clients have their default timeouts: those are several times as long as
// what is drawn, and a client that finds the rest of a healed world away waits for a few of them at each ledger.
func (r *Reduction) healedLimit() time.Duration {
	if r.plain(DrawClients) {
		return 10 * healedLimit
	}
	return healedLimit
}

// plainNode keeps a bookie's address and that its directories are new.
func (r *Reduction) plainNode(s *Scenario, drawn *node.Config) node.Config {
	c := node.DefaultConfig()
	c.Store, c.Initialize = r.bookie(s, drawn.Store), drawn.Initialize
	c.Server = serverConfig(&c.Store)
	return c
}
