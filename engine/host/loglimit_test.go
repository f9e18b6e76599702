package host_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"lakebed/engine/host"
	"lakebed/sim"
)

// TestALogLimitKeepsTheFirstLinesAndCountsTheRest: per message and interval, with nothing lost from the count, and lines
// with other messages go through.
func TestALogLimitKeepsTheFirstLinesAndCountsTheRest(t *testing.T) {
	var got []string
	w := sim.New(sim.Config{Seed: 1})
	w.OnLog(func(_ *sim.Node, line sim.LogLine) {
		got = append(got, fmt.Sprint(line.Level == host.Warn, " ", line.Message, " ", line.Fields))
	})
	n := w.NewNode("node")
	n.Start(func(h host.Host) error {
		l := host.NewLogLimit(h, host.LogBound{Lines: 2, Interval: time.Minute})
		for i := range 1000 {
			l.Log(host.Warn, "flood", host.F("i", i))
		}
		l.Log(host.Note, "drop", host.F("i", 0))
		for range 3 {
			l.Log(host.Debug, "detail")
		}
		h.Root().Sleep(time.Minute)
		l.Log(host.Warn, "flood", host.F("i", 1000))
		l.Log(host.Note, "drop", host.F("i", 1))
		for i := range 7 {
			l.Log(host.Warn, "flood", host.F("i", 1001+i))
		}
		l.End()
		l.End()
		return nil
	})
	if v := w.Run(time.Hour); v.Failed() {
		t.Fatal(v.String())
	}
	const more = "true more log lines like the last are left out for a while [{message flood} {interval 1m0s}]"
	want := []string{
		"true flood [{i 0}]", "true flood [{i 1}]", more, "false drop [{i 0}]",
		"false detail []", "false detail []", "false detail []",
		"true log lines were left out [{message flood} {lines 998}]",
		"true flood [{i 1000}]", "false drop [{i 1}]", "true flood [{i 1001}]", more,
		"true log lines were left out [{message flood} {lines 6}]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestALogLimitServesManyTasks: on real goroutines, for the race detector.
func TestALogLimitServesManyTasks(t *testing.T) {
	h := newHost(t)
	l := host.NewLogLimit(h, host.DefaultLogBound())
	g := h.Root().New("tasks")
	for range 8 {
		g.Go("task", func() {
			for range 100 {
				l.Log(host.Warn, "flood")
			}
		})
	}
	g.Wait()
	l.End()
}

// TestALogBoundThatCannotWorkIsNamed.
func TestALogBoundThatCannotWorkIsNamed(t *testing.T) {
	if err := host.DefaultLogBound().Validate(); err != nil {
		t.Error(err)
	}
	for _, b := range []host.LogBound{{}, {Lines: 1}, {Interval: time.Second}, {Lines: -1, Interval: time.Second}} {
		if b.Validate() == nil {
			t.Errorf("%+v passes", b)
		}
	}
}
