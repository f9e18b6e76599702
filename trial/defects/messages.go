package defects

import "lakebed/model"

// The commit log over the network: its scenario and folders.
const (
	inRemoteMessages    = "commitlog-remote"
	messageClientFolder = "engine/commitlog/client/"
	messageServerFolder = "engine/commitlog/server/"
)

// messageDefects are mistakes between a commit log and its clients on the network.
func messageDefects() []Defect {
	return append([]Defect{
		{
			ID: "broken-append-refused", Title: "a producer takes a connection that broke for a refusal",
			Origin:    ours + "an append that was handed to a connection and not answered has an unknown outcome",
			Mechanism: "the broker stores the message and the connection breaks before the answer is there; the producer is told that it is not stored, and consumers get it",
			UnitTest:  "a test that cuts the connection between request and answer sees it",
			Edits: []Edit{{
				File: messageClientFolder + "calls.go", Function: "Client.Append",
				Original: "errors.Is(err, errTorn)", Result: "bool", Replacement: "return false",
			}},
			Scenario: inRemoteMessages, Checkers: []string{model.CheckerInvented},
		},
		{
			ID: "append-sent-again", Title: "a producer sends an append again when its connection broke",
			Origin:    "rocketmq: retryTimesWhenSendFailed sends again what a broker may have stored, and consumers see it twice",
			Mechanism: "the message is stored, the answer is lost, the same message is stored a second time at another offset",
			UnitTest:  "nothing: a fake connection that fails before the request is stored shows no second copy",
			Edits: []Edit{{
				File: messageClientFolder + "client.go", Function: "Client.call",
				Original: "!again || !errors.Is(err, errUnsent)", Result: "bool",
				Replacement: "return !again || !errors.Is(err, errUnsent) && !errors.Is(err, errTorn)",
			}},
			Scenario: inRemoteMessages, Checkers: []string{model.CheckerDuplicate},
		},
		{
			ID: "unknown-append-answered-done", Title: "the server answers an append of unknown outcome as stored",
			Origin:    ours + "a produce is answered with what the store says",
			Mechanism: "the sync fails, the store stops, and the producer is told that his message is safe; a power cut takes it",
			UnitTest:  "a test with a failing disk over a connection sees it",
			Edits: []Edit{{
				File: messageServerFolder + "execute.go", Function: "connection.produce",
				Original: "c.refuse(r, err)", Result: "error",
				Replacement: `if !errors.Is(err, commitlog.ErrOutcomeUnknown) {
						return c.refuse(r, err)
					}
					return c.answer(wire.AppendPlaced(nil, r.sequence, wire.Placed{Queue: placed.Queue, QueueOffset: placed.QueueOffset, Physical: placed.Physical}))`,
			}},
			Scenario: inRemoteMessages, Checkers: []string{model.CheckerLost, model.CheckerPlace, model.CheckerForeign},
		},
	}, unverifiedPulls()...)
}

// unverifiedPulls are mistakes of a client with bytes that the server has sent without a look at them.
func unverifiedPulls() []Defect {
	const whole = "where.Decode(r.Topic, r.Queue, p.Bytes(place, data, &at))"
	return []Defect{
		{
			ID: "pulled-bytes-unverified", Title: "a client takes what a pull brings for messages without a look at their checksums",
			Origin:    ours + "who receives a message verifies it, since with sendfile nobody else has seen its bytes; rocketmq's consumers check nothing but what the broker says",
			Mechanism: "a body rots on the broker's disk, the broker sends it out of the page cache, and the consumer gets what nobody has sent",
			UnitTest:  "a test that flips a byte under a server that does not look sees it",
			Edits: []Edit{{
				File: messageClientFolder + "calls.go", Function: "Client.verified", Original: whole, Result: "(message.Message, error)",
				Replacement: `b := p.Bytes(place, data, &at)
					const head = message.FixedBytes - 3
					if len(b) < message.FixedBytes {
						return where.Decode(r.Topic, r.Queue, b)
					}
					body := int(b[head-2])<<8 | int(b[head-1])
					if len(b) < message.FixedBytes+body+len(r.Topic) {
						return where.Decode(r.Topic, r.Queue, b)
					}
					return message.Message{
						Topic: []byte(r.Topic), Queue: r.Queue, QueueOffset: place.Offset, PhysicalOffset: place.Physical,
						Body: b[head : head+body], Properties: b[message.FixedBytes+body+len(r.Topic):],
					}, nil`,
			}},
			Scenario: "commitlog-damage", Checkers: []string{model.CheckerInvented, model.CheckerForeign},
		},
	}
}
