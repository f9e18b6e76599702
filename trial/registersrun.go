package trial

import (
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/host"
	"lakebed/model"
	"lakebed/sim"
	"lakebed/workloads/registers"
)

const (
	// registersPatience is how long a client waits for an operation.
	registersPatience = 400 * time.Millisecond
	// registersSettle is how long a healed world gets until everybody must be connected and told: sessions end and are opened
	// again, and dials that were under way are given up.
	registersSettle = 4 * time.Second
	// registersSearch bounds the search for an explanation of one register. Past it the register counts as not judged.
	registersSearch = 5 * time.Second
)

// MarkUndecided is hit when the search for an explanation of a register took too long.
const MarkUndecided = "trial.register-undecided"

// registersRun is one trial of a metadata server under way.
type registersRun struct {
	single
	config  service.ServerConfig
	client  service.ClientConfig
	lab     *registers.Lab
	clients []*sim.Node
}

func newRegisters(o Options) *registersRun {
	s := &o.Scenario
	t := &registersRun{
		single: newSingle(o, metadataNode), config: drawMetadataServer(o.draw("server")), client: drawStoreClient(o.draw("store")),
	}
	t.boot, t.restart, t.unfit = t.process, t.startClient, endsServer
	t.lab = registers.NewLab(drawRegistersMix(s, o.draw("mix")), t.agenda)
	if o.Course != nil {
		t.lab.Watch(t.world.Elapsed)
	}
	t.node.SetDaemon(true)
	t.node.SetMemoryLimit(registersMemory(&t.config, s.Clients))
	for i := range s.Clients {
		n := t.world.NewNode(remoteNode(i))
		n.SetDaemon(true)
		n.OnExit(func(error, bool) { t.lab.Died(i) })
		t.clients = append(t.clients, n)
	}
	t.world.NewNode(verifierNode)
	t.arm(s.registersShape())
	t.world.OnMark(t.marked)
	return t
}

// registersMemory is how many bytes of buffers the server may have in hand: of each connection its input and twice the answers
// that it may owe. A client that came back may have some connections that the server has not given up.
func registersMemory(c *service.ServerConfig, clients int) int64 {
	const connections = 8 // of a client
	return int64(clients*connections) * int64(4<<10+c.InputBufferBytes+2*c.OutputBytesMax)
}

// process is the server's process.
func (t *registersRun) process(h host.Host) error {
	listener, err := h.Net().Listen(metadataAddress)
	if err != nil {
		return fmt.Errorf("listen at %s: %w", metadataAddress, err)
	}
	s, err := service.Serve(h, h.Root(), listener, t.config)
	if err != nil {
		return err
	}
	host.AwaitStop(h.Root())
	s.Close()
	if left := h.Memory().InUse(); left != 0 {
		t.find(LeftOver, "memory", "buffers are left after a clean close", fmt.Sprintf("%d bytes are in use", left))
	}
	return nil
}

// startClient boots a client's process, unless it runs or the clients have gone for good.
func (t *registersRun) startClient(name string) {
	for i, n := range t.clients {
		if n.Name() == name && !n.Running() && t.phase <= healed {
			n.Start(func(h host.Host) error { return t.bootClient(h, i) })
		}
	}
}

func (t *registersRun) bootClient(h host.Host, number int) error {
	store, err := service.Connect(h, h.Root(), t.client)
	if err != nil {
		return err
	}
	tasks := h.Root().New("clients")
	c := registers.NewClient(h, tasks, t.lab, store, number, t.options.Scenario.pace(), registersPatience)
	tasks.Go("client", c.Run)
	tasks.Go("look", c.Look)
	host.AwaitStop(h.Root())
	tasks.Stop()
	tasks.Wait()
	return store.Close()
}

// heal ends the phase of faults, and has the world settle before everything is looked at.
func (t *registersRun) heal() {
	t.single.heal()
	t.lab.Finish()
	t.world.At(registersSettle, func() { t.world.Node(verifierNode).Start(t.verify) })
}

// verify looks at everything in a world that is whole again.
func (t *registersRun) verify(h host.Host) error {
	defer t.world.At(0, t.endAll)
	store, err := service.Connect(h, h.Root(), t.client)
	if err != nil {
		return err
	}
	if open := t.lab.Open(); open > 0 {
		t.find(Stalled, "liveness", "operations do not end in a healed world", fmt.Sprintf("%d are under way", open))
	}
	c := registers.NewClient(h, h.Root(), t.lab, store, t.options.Scenario.Clients, t.options.Scenario.pace(), registersSettle)
	held, err := c.Verify()
	if err != nil {
		t.find(Stalled, "liveness", "the healed server does not answer", err.Error())
	} else {
		t.compareLooks(held)
		t.phase = verifying
		t.awaitNobody(h, store)
	}
	return store.Close()
}

// compareLooks: whoever watches a register and lives has looked since it changed last.
func (t *registersRun) compareLooks(held []uint64) {
	looks := t.lab.Looks()
	for _, client := range host.SortedKeys(looks) {
		if look := looks[client]; look.Value != held[look.Register] {
			t.find(Violation, "watch", "a client was not told of the last change of what it watches",
				fmt.Sprintf("client %d saw %d in register %d, which holds %d", client, look.Value, look.Register, held[look.Register]))
		}
	}
}

// awaitNobody has all clients go, and looks that their ephemeral keys go with their sessions.
func (t *registersRun) awaitNobody(h host.Host, store metadata.Store) {
	t.world.At(0, func() {
		for _, n := range t.clients {
			n.Stop()
		}
	})
	var left []string
	for end := h.Elapsed() + 2*registersSessionMax; ; {
		if !h.Root().Sleep(100 * time.Millisecond) {
			return
		}
		var err error
		if left, err = store.List(registers.PresentFolder, host.Within(h, h.Root(), registersSettle)); err == nil && len(left) == 0 {
			return
		}
		if h.Elapsed() > end {
			break
		}
	}
	t.find(Violation, "ephemeral", "keys outlive the sessions that made them", fmt.Sprint(left))
}

// endAll has the server go down, and ends the trial when it has.
func (t *registersRun) endAll() {
	t.node.OnExit(func(error, bool) { t.end() })
	t.node.Stop()
}

// runAll lets the world run, and asks the checkers.
func (t *registersRun) runAll() Result {
	for _, n := range t.clients {
		t.world.At(0, func() { t.startClient(n.Name()) })
	}
	world := t.runWorld(t.heal)
	for i := range t.options.Scenario.Clients + 1 {
		t.lab.Died(i)
	}
	operations := t.lab.Operations()
	t.judge(world, nil)
	t.judgeRegisters(operations)
	if t.options.Course != nil {
		t.tellCourse(toldRegisters(operations), t.lab.Time)
	}
	r := t.result(world, nil)
	r.Operations, r.Answers = t.lab.Begun(), t.lab.Answers()
	return r
}

// judgeRegisters: the server reads and writes one state, so each register by itself is linearizable.
func (t *registersRun) judgeRegisters(operations []registers.Operation) {
	byRegister := map[int][]model.RegisterOp{}
	for i := range operations {
		byRegister[operations[i].Register] = append(byRegister[operations[i].Register], operations[i].RegisterOp)
	}
	for _, register := range host.SortedKeys(byRegister) {
		switch model.CheckRegister(byRegister[register], false, registersSearch) {
		case porcupine.Illegal:
			text := fmt.Sprintf("register %d:", register)
			slices.SortFunc(byRegister[register], func(a, b model.RegisterOp) int { return int(a.Call - b.Call) })
			for _, op := range byRegister[register] {
				text += fmt.Sprintf("\n  %v %d, on version %d: %v, version %d, %d to %d", op.Kind, op.Value, op.Expected, op.Outcome, op.Version, op.Call, op.Return)
			}
			t.find(Violation, "register", "a register's history has no explanation", text)
		case porcupine.Unknown:
			t.marks.Hit(MarkUndecided)
		}
	}
}

// toldRegisters are the operations as a course has them.
func toldRegisters(operations []registers.Operation) []stampedOperation {
	var all []stampedOperation
	for i := range operations {
		op := &operations[i]
		told := stampedOperation{call: op.Call, ended: op.Return}
		told.Client, told.Kind, told.Outcome = op.By, op.Kind.String(), op.Outcome.String()
		told.Text = fmt.Sprintf("%d in register %d", op.Value, op.Register)
		all = append(all, told)
	}
	return all
}
