package segments

import "lakebed/service/wire"

// Column describes one column of a group's lines.
type Column struct {
	Name wire.Bytes `json:"name"`
	Type uint32     `json:"type" doc:"The meaning is the users'"`
}

// Group is one log group: lines of one source.
type Group struct {
	Time        *uint64    `json:"time,omitempty" doc:"In the store's unit, see stats; now, by the server's clock, if it is left out"`
	Source      wire.Bytes `json:"source,omitempty"`
	Columns     []Column   `json:"columns,omitempty"`
	Compression uint32     `json:"compression,omitempty" doc:"How the payload is packed: 0 plain, 1 deflate; the store keeps it as it is"`
	Payload     wire.Bytes `json:"payload"`
	Topic       string     `json:"topic,omitempty"`
}

// Placed says where messages are.
type Placed struct {
	Topic     string `json:"topic"`
	Partition int    `json:"partition"`
	First     int64  `json:"first" doc:"Cursor of the first message; the others follow it"`
	Count     int    `json:"count"`
}

// Message is one message, in one of two forms.
type Message struct {
	Cursor int64   `json:"cursor"`
	Groups []Group `json:"groups,omitempty" doc:"In the form groups"`
	List   []byte  `json:"list,omitempty" doc:"In the form raw: the LogGroupList as it is stored"`
}

// Batch is what a fetch returns: messages without a gap.
type Batch struct {
	Topic     string    `json:"topic"`
	Partition int       `json:"partition"`
	Messages  []Message `json:"messages" doc:"None: the partition has no more yet"`
	Next      int64     `json:"next" doc:"The cursor to go on from"`
}

// NewTopic asks for a topic.
type NewTopic struct {
	Name             string `json:"name"`
	Partitions       int    `json:"partitions,omitempty" doc:"Left out: one for each directory in service"`
	RetentionSeconds int64  `json:"retention_seconds,omitempty" doc:"Left out, with retention_bytes: as the store's default says"`
	RetentionBytes   int64  `json:"retention_bytes,omitempty" doc:"Of each partition"`
}

// Retention says how long messages stay. Zero stands for no bound.
type Retention struct {
	Seconds int64 `json:"retention_seconds" doc:"0: for ever"`
	Bytes   int64 `json:"retention_bytes" doc:"Of each partition; 0: without a bound"`
}

// Topic describes a topic.
type Topic struct {
	Name             string      `json:"name"`
	RetentionSeconds int64       `json:"retention_seconds"`
	RetentionBytes   int64       `json:"retention_bytes"`
	Partitions       []Partition `json:"partitions"`
}

// Partition describes a partition.
type Partition struct {
	Number   int    `json:"number"`
	Volume   string `json:"volume"`
	Trouble  string `json:"trouble,omitempty" doc:"Why it is out of service, or cannot be asked; left out if all is well"`
	First    int64  `json:"first" doc:"Cursor of the first message that is there"`
	Next     int64  `json:"next" doc:"Cursor of the next message to come"`
	Segments int    `json:"segments"`
	Bytes    int64  `json:"bytes"`
}

// Topics lists topics.
type Topics struct {
	Topics []Topic `json:"topics"`
}

// Position is a place in a partition.
type Position struct {
	Cursor int64 `json:"cursor"`
}

// Stats tells how the store and its server stand.
type Stats struct {
	Sync          string    `json:"sync" doc:"When appends are acknowledged: always, group, interval or never"`
	TimeUnitNanos int64     `json:"time_unit_nanos" doc:"Of messages' times"`
	Topics        int       `json:"topics"`
	Partitions    int       `json:"partitions"`
	Segments      int       `json:"segments"`
	Messages      int64     `json:"messages"`
	Bytes         int64     `json:"bytes"`
	Ejected       []Ejected `json:"ejected" doc:"Directories that are out of service"`
	Requests      int       `json:"requests" doc:"Under way"`
	Waits         int       `json:"waits" doc:"Requests that wait for messages"`
}

// Ejected is a directory that is out of service.
type Ejected struct {
	Volume string `json:"volume"`
	Why    string `json:"why"`
}

// Health says whether the store takes appends.
type Health struct {
	Status  string    `json:"status" doc:"ok, or degraded: some directories are out of service"`
	Ejected []Ejected `json:"ejected"`
}
