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
	return []Defect{
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
	}
}
