package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// jsonLine is the union of all that a line may hold; readLine finds out what does not belong together.
type jsonLine struct {
	Event string `json:"event"`
	At    Stamp  `json:"at"`

	Op       string         `json:"op"`
	Outcome  string         `json:"outcome"`
	Client   ClientID       `json:"client"`
	Call     Stamp          `json:"call"`
	Return   *Stamp         `json:"return"`
	Lives    [2]Incarnation `json:"lives"`
	Ledger   LedgerID       `json:"ledger"`
	Entry    EntryID        `json:"entry"`
	Digest   jsonDigest     `json:"digest"`
	Recovery bool           `json:"recovery"`
	Final    bool           `json:"final"`
	MaxCount int32          `json:"maxCount"`
	MaxBytes int64          `json:"maxBytes"`
	Items    []jsonItem     `json:"items"`
	Ledgers  []LedgerID     `json:"ledgers"`
}

// jsonDigest is a digest in hexadecimal.
type jsonDigest Digest

// UnmarshalText reads 16 digits; readLine sees to their number and case.
func (d *jsonDigest) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 16, 64)
	*d = jsonDigest(n)
	return err
}

// jsonItem is an Item as [entry, digest, bytes].
type jsonItem Item

// UnmarshalJSON reads the three parts.
func (item *jsonItem) UnmarshalJSON(text []byte) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(text, &parts); err != nil {
		return err
	}
	if len(parts) != 3 {
		return fmt.Errorf("an item has 3 parts, not %d", len(parts))
	}
	var digest jsonDigest
	err := errors.Join(json.Unmarshal(parts[0], &item.Entry), json.Unmarshal(parts[1], &digest),
		json.Unmarshal(parts[2], &item.Bytes))
	item.Digest = Digest(digest)
	return err
}

func (l *jsonLine) event() (Event, error) {
	for kind := Stop; kind < eventsEnd; kind++ {
		if kind.String() == l.Event {
			return Event{l.At, kind, l.Ledger, l.Entry}, nil
		}
	}
	return Event{}, fmt.Errorf("no such event: %q", l.Event)
}

// appendTo adds the operation to h.
func (l *jsonLine) appendTo(h *History) error {
	op := Op{Call: l.Call, Return: Never, Ledger: l.Ledger, Entry: l.Entry, Digest: Digest(l.Digest),
		MaxBytes: l.MaxBytes, MaxCount: l.MaxCount, Client: l.Client,
		CallIncarnation: l.Lives[0], ReturnIncarnation: l.Lives[1], Recovery: l.Recovery, Final: l.Final}
	if l.Return != nil {
		op.Return = *l.Return
	}
	for kind := Add; kind < kindsEnd; kind++ {
		if kind.String() == l.Op {
			op.Kind = kind
		}
	}
	for outcome := OK; outcome < outcomesEnd; outcome++ {
		if outcome.String() == l.Outcome {
			op.Outcome = outcome
		}
	}
	switch {
	case op.Kind == 0:
		return fmt.Errorf("no such operation: %q", l.Op)
	case op.Outcome == 0:
		return fmt.Errorf("no such outcome: %q", l.Outcome)
	case op.Kind == ReadRange:
		items := make([]Item, len(l.Items))
		for k, item := range l.Items {
			items[k] = Item(item)
		}
		h.AppendRange(op, items)
	case op.Kind == List:
		h.AppendList(op, l.Ledgers)
	default:
		h.Append(op)
	}
	return nil
}
