package registers_test

import (
	"context"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
	"lakebed/model"
	"lakebed/workloads/agenda"
	"lakebed/workloads/registers"
)

// TestRegistersOverRealConnectionsHaveAnExplanation runs the campaign's clients on goroutines and TCP, and asks the same
// checker; in the end whoever watches has seen the last change. Under -race it looks for what the simulator cannot see.
func TestRegistersOverRealConnectionsHaveAnExplanation(t *testing.T) {
	const clients, keys = 4, 40
	lab := registers.NewLab(registers.Mix{Create: 10, Put: 30, Delete: 6, Get: 40, Sync: 4, Announce: 2, Keys: keys}, agenda.New(1))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := oshost.Run(ctx, oshost.Config{Seed: 1}, func(h host.Host) error {
		listener, err := h.Net().Listen("127.0.0.1:0")
		if err != nil {
			return err
		}
		server, err := service.Serve(h, h.Root(), listener, service.DefaultServerConfig())
		if err != nil {
			return err
		}
		defer server.Close()
		work(t, h, lab, server.Addr(), clients)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	byRegister := map[int][]model.RegisterOp{}
	for _, op := range lab.Operations() {
		byRegister[op.Register] = append(byRegister[op.Register], op.RegisterOp)
	}
	for register, ops := range byRegister {
		if model.CheckRegister(ops, false, 10*time.Second) == porcupine.Illegal {
			t.Errorf("register %d: no explanation for %+v", register, ops)
		}
	}
	if lab.Begun() < 100 || lab.Open() > 0 || lab.Answers()["put ok"] == 0 || lab.Answers()["get found"] == 0 {
		t.Errorf("%d operations, %d open: %v", lab.Begun(), lab.Open(), lab.Answers())
	}
}

// work has clients at work for a moment, and compares what they saw last of what they watch with what is there.
func work(t *testing.T, h host.Host, lab *registers.Lab, address string, clients int) {
	const patience = 20 * time.Second
	workers, lookers := h.Root().New("workers"), h.Root().New("lookers")
	var all []*service.Client
	var first *registers.Client
	for i := range clients {
		store, err := service.Connect(h, h.Root(), service.DefaultClientConfig(address))
		if err != nil {
			t.Error(err)
			return
		}
		all = append(all, store)
		c := registers.NewClient(h, workers, lab, store, i, 200*time.Microsecond, patience)
		workers.Go("client", c.Run)
		lookers.Go("look", registers.NewClient(h, lookers, lab, store, i, 200*time.Microsecond, patience).Look)
		first = registers.NewClient(h, h.Root(), lab, store, clients, time.Microsecond, patience)
	}
	h.Root().Sleep(150 * time.Millisecond)
	lab.Finish()
	workers.Stop()
	workers.Wait()
	held, err := first.Verify()
	if err != nil {
		t.Error(err)
	}
	wrong := map[int]registers.Look{}
	for range 200 { // notices are on their way
		clear(wrong)
		for client, look := range lab.Looks() {
			if look.Value != held[look.Register] {
				wrong[client] = look
			}
		}
		if len(wrong) == 0 && len(lab.Looks()) == clients || !h.Root().Sleep(50*time.Millisecond) {
			break
		}
	}
	if len(wrong) > 0 {
		t.Errorf("clients that were not told of the last change: %+v of %v", wrong, held)
	}
	lookers.Stop()
	lookers.Wait()
	for _, store := range all {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
}
