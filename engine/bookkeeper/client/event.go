package client

import (
	"lakebed/engine/bookkeeper/client/protocol"
	"lakebed/engine/host"
)

// event is one input of a core, on its way to the task that owns it. One field is set.
type event struct {
	append  *Op
	add     *add
	read    *recoveryRead
	replied *reply
	close   bool
	abandon bool
}

// reply is what the metadata task found out.
type reply struct {
	metadata     protocol.MetadataAnswer
	replacements []protocol.Replacement
	chosen       bool // the reply is to AskReplacements
}

// controlEvents is the room in a writer's queue for what is neither an append nor an add: asksMax replies, a close, an abandon.
const controlEvents = 8

// asksMax bounds what a core has asked and not been told: a close that comes while bookies are being chosen does not wait
// for them, so there may be one such question and one call to the metadata store.
const asksMax = 2

// ask is a metadata effect, copied out of the core's slice for the metadata task.
type ask = protocol.Effect

// newQueue makes the queue of a core's task. It must have room for every answer that may come.
func newQueue(c *Client, name string, limit int) *host.Queue[event] {
	return host.NewQueue[event](c.h, c.tasks, name, limit)
}
