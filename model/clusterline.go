package model

import (
	"encoding/json"
	"errors"
	"fmt"
)

// clusterLine is the union of all that a line may hold; readLine finds out what does not belong together.
type clusterLine struct {
	Damage   Node   `json:"damage"`
	Metadata string `json:"metadata"`
	Notice   string `json:"notice"`
	Op       string `json:"op"`
	Holding  string `json:"holding"`

	At       Stamp           `json:"at"`
	Ledger   LedgerID        `json:"ledger"`
	Entry    EntryID         `json:"entry"`
	Version  MetadataVersion `json:"version"`
	Expected MetadataVersion `json:"expected"`
	Quorum   [3]int32        `json:"quorum"`

	Fragments []jsonFragment `json:"fragments"`
	Client    ClientID       `json:"client"`
	Writer    Handle         `json:"writer"`
	By        []Node         `json:"by"`
	Outcome   string         `json:"outcome"`
	Handle    Handle         `json:"handle"`
	Call      Stamp          `json:"call"`
	Return    *Stamp         `json:"return"`
	Last      EntryID        `json:"last"`
	Bound     EntryID        `json:"bound"`
	Digest    jsonDigest     `json:"digest"`
	Length    int64          `json:"length"`
	MaxCount  int32          `json:"maxCount"`
	MaxBytes  int64          `json:"maxBytes"`
	Closed    bool           `json:"closed"`
	Final     bool           `json:"final"`
	Items     []jsonItem     `json:"items"`
	Node      Node           `json:"node"`
}

// jsonFragment is a LedgerFragment as [first, bookie, bookie, …].
type jsonFragment LedgerFragment

// UnmarshalJSON reads the parts.
func (f *jsonFragment) UnmarshalJSON(text []byte) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(text, &parts); err != nil {
		return err
	}
	if len(parts) == 0 {
		return errors.New("a fragment without a first entry")
	}
	err := json.Unmarshal(parts[0], &f.First)
	f.Ensemble = make([]Node, len(parts)-1)
	for k := range f.Ensemble {
		err = errors.Join(err, json.Unmarshal(parts[k+1], &f.Ensemble[k]))
	}
	return err
}

// appendTo adds the line to h.
func (l *clusterLine) appendTo(h *ClusterHistory) error {
	switch {
	case l.Damage != "":
		h.AppendDamage(NodeDamage{l.At, l.Damage, l.Ledger, l.Entry})
		return nil
	case l.Metadata != "":
		return l.appendWriteTo(h)
	case l.Notice != "":
		return l.appendNoticeTo(h)
	case l.Holding != "":
		h.AppendHolding(Holding{l.Ledger, l.Entry, l.Node, Digest(l.Digest), outcomeNamed(l.Holding)})
		return nil
	}
	return l.appendOpTo(h)
}

// outcomeNamed is the outcome of that name, or none, which Validate refuses.
func outcomeNamed(name string) Outcome {
	for outcome := OK; outcome < outcomesEnd; outcome++ {
		if outcome.String() == name {
			return outcome
		}
	}
	return 0
}

func (l *clusterLine) appendWriteTo(h *ClusterHistory) error {
	w := MetadataWrite{At: l.At, Ledger: l.Ledger, Version: l.Version, Expected: l.Expected, Last: NoLast,
		Quorum: QuorumShape{l.Quorum[0], l.Quorum[1], l.Quorum[2]}}
	for state := LedgerOpen; state < ledgerStatesEnd; state++ {
		if state.String() == l.Metadata {
			w.State = state
		}
	}
	if w.State == 0 {
		return fmt.Errorf("no such state: %q", l.Metadata)
	}
	if w.State == LedgerClosed {
		w.Last, w.Length = l.Last, l.Length
	}
	fragments := make([]LedgerFragment, len(l.Fragments))
	for k, f := range l.Fragments {
		fragments[k] = LedgerFragment(f)
	}
	h.AppendMetadata(w, fragments)
	return nil
}

func (l *clusterLine) appendNoticeTo(h *ClusterHistory) error {
	n := Notice{At: l.At, Ledger: l.Ledger, Entry: l.Entry, Writer: l.Writer, Client: l.Client}
	for kind := NoticeAcked; kind < noticeKindsEnd; kind++ {
		if kind.String() == l.Notice {
			n.Kind = kind
		}
	}
	if n.Kind == 0 {
		return fmt.Errorf("no such notice: %q", l.Notice)
	}
	h.AppendNotice(n, l.By)
	return nil
}

func (l *clusterLine) appendOpTo(h *ClusterHistory) error {
	op := ClusterOp{Call: l.Call, Return: Never, Ledger: l.Ledger, Entry: l.Entry, Last: l.Last, Bound: l.Bound,
		Digest: Digest(l.Digest), Length: l.Length, MaxBytes: l.MaxBytes, MaxCount: l.MaxCount, Client: l.Client,
		Handle: l.Handle, Outcome: outcomeNamed(l.Outcome), Closed: l.Closed, Final: l.Final}
	if l.Return != nil {
		op.Return = *l.Return
	}
	for kind := LedgerCreate; kind < clusterKindsEnd; kind++ {
		if kind.String() == l.Op {
			op.Kind = kind
		}
	}
	switch {
	case op.Kind == 0:
		return fmt.Errorf("no such operation: %q", l.Op)
	case op.Outcome == 0:
		return fmt.Errorf("no such outcome: %q", l.Outcome)
	case len(l.Items) > 0 && !op.reads():
		return fmt.Errorf("items of a %s", op.Kind)
	}
	items := make([]Item, len(l.Items))
	for k, item := range l.Items {
		items[k] = Item(item)
	}
	h.AppendRead(op, items)
	return nil
}
