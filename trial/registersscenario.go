package trial

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/host"
	"lakebed/faults"
	"lakebed/workloads/registers"
)

// Registers makes a scenario one of the metadata server of this engine, with its clients on nodes of their own. The server
// keeps all in memory, so its process is never ended: what it promises ends with it.
type Registers struct {
	KeysMax int           `toml:"keys_max"` // each seed draws how many there are
	Work    RegistersWork `toml:"work"`
}

// RegistersWork is what clients do, by weight.
type RegistersWork struct {
	Create   int `toml:"create"`
	Put      int `toml:"put"`
	Delete   int `toml:"delete"`
	Get      int `toml:"get"`
	Sync     int `toml:"sync"`
	Announce int `toml:"announce"`
}

func (s *Scenario) checkRegisters() error {
	w := &s.Registers.Work
	switch {
	case s.Registers.KeysMax < 1:
		return fmt.Errorf("scenario %s: keys_max must be positive", s.Name)
	case min(w.Put, w.Delete, w.Sync, w.Announce) < 0 || w.Create < 1 || w.Get < 1:
		return fmt.Errorf("scenario %s: no weight may be negative, and somebody must create and get", s.Name)
	case s.Damage || s.Doubt || s.Lifted || s.Remote > 0 || s.Work != (Work{}) || s.Cluster != nil || s.Segments != nil || s.CommitLog != nil:
		return fmt.Errorf("scenario %s: damage, doubt, lifted, remote_clients, work and other stores are not those of a metadata server", s.Name)
	}
	return nil
}

// drawMetadataServer draws a server whose bounds are reached by a handful of clients, and whose sessions end within the trial.
func drawMetadataServer(r *rand.Rand) service.ServerConfig {
	millis := func(low, high int) time.Duration { return time.Duration(low+r.IntN(high-low+1)) * time.Millisecond }
	c := service.DefaultServerConfig()
	c.InputBufferBytes, c.OutputBytesMax = 64+r.IntN(1000), 100+r.IntN(4000)
	c.SessionTimeoutMin = millis(100, 300)
	c.SessionTimeoutMax = c.SessionTimeoutMin + millis(0, int(registersSessionMax/time.Millisecond)-300)
	c.HelloTimeout, c.WriteStall = millis(100, 500), millis(100, 500)
	return c
}

// registersSessionMax is how long a session outlives its client at most.
const registersSessionMax = time.Second

func drawRegistersMix(s *Scenario, r *rand.Rand) registers.Mix {
	w := &s.Registers.Work
	m := registers.Mix{Create: w.Create, Put: w.Put, Delete: w.Delete, Get: w.Get, Sync: w.Sync, Announce: w.Announce}
	m.Keys = max(s.Registers.KeysMax/2, 1) + r.IntN(s.Registers.KeysMax-max(s.Registers.KeysMax/2, 1)+1)
	for _, weight := range []*int{&m.Delete, &m.Sync, &m.Announce} {
		if r.IntN(5) == 0 {
			*weight = 0
		}
	}
	return m
}

// registersShape is what there is to break: the clients, the server's pace, and the links between them.
func (s *Scenario) registersShape() faults.Shape {
	shape := faults.Shape{Duration: s.work(), ElementsMin: s.FaultsMin, ElementsMax: s.FaultsMax}
	var clients []string
	for i := range s.Clients {
		clients = append(clients, remoteNode(i))
	}
	few := func(p host.Point, visits int64) faults.PointShape {
		return faults.PointShape{Point: string(p), VisitsMax: visits}
	}
	shape.Nodes = append(shape.Nodes, faults.NodeShape{
		Name: metadataNode, Peers: clients, Weight: 2, Points: []faults.PointShape{few(service.PointExpired, 4), few(service.PointMoved, 4)},
	})
	for _, name := range clients {
		shape.Nodes = append(shape.Nodes, faults.NodeShape{
			Name: name, Peers: []string{metadataNode},
			Points: []faults.PointShape{few(service.PointConnected, 6), few(service.PointLost, 4), few(service.PointNewSession, 3)},
		})
	}
	return shape
}

// endsServer reports whether an element would end the server's process.
func endsServer(e *faults.Element) bool {
	struck := e.Target.Node == metadataNode
	return struck && slices.Contains([]faults.Kind{faults.Kill, faults.PowerCut, faults.Stop, faults.Wipe}, e.Kind)
}
