package messages

import "lakebed/service/wire"

// NewMessage is a message to be stored.
type NewMessage struct {
	Body       wire.Bytes        `json:"body"`
	Tag        string            `json:"tag,omitempty" doc:"By which consumers select"`
	Keys       []string          `json:"keys,omitempty" doc:"Under which the message is found; no spaces in them"`
	Properties map[string]string `json:"properties,omitempty" doc:"Besides tag and keys"`
	Flag       int32             `json:"flag,omitempty" doc:"The application's"`
	BornMillis *int64            `json:"born_millis,omitempty" doc:"The producer's clock; left out: the server's"`
}

// Placed says where a message is.
type Placed struct {
	Topic        string `json:"topic"`
	Queue        int32  `json:"queue"`
	Offset       int64  `json:"offset" doc:"In the queue"`
	Physical     int64  `json:"physical" doc:"In the log"`
	StoredMillis int64  `json:"stored_millis" doc:"The store's clock"`
}

// Message is a stored message.
type Message struct {
	Topic        string            `json:"topic"`
	Queue        int32             `json:"queue"`
	Offset       int64             `json:"offset"`
	Physical     int64             `json:"physical"`
	Size         int               `json:"size" doc:"Of the record in the log"`
	Body         wire.Bytes        `json:"body"`
	Tag          string            `json:"tag,omitempty"`
	Keys         []string          `json:"keys,omitempty"`
	Properties   map[string]string `json:"properties,omitempty" doc:"Besides tag and keys"`
	Flag         int32             `json:"flag"`
	BornMillis   int64             `json:"born_millis"`
	BornHost     string            `json:"born_host,omitempty"`
	StoredMillis int64             `json:"stored_millis"`
}

// Pulled is the answer to a pull.
type Pulled struct {
	Status   string    `json:"status" doc:"FOUND, NO_MATCHED_MESSAGE, NO_MESSAGE_IN_QUEUE, OFFSET_TOO_SMALL, OFFSET_OVERFLOW_ONE or OFFSET_OVERFLOW_BADLY"`
	Messages []Message `json:"messages" doc:"Selected by hashes of tags: compare the tags"`
	Next     int64     `json:"next" doc:"The offset to go on at"`
	Min      int64     `json:"min" doc:"Offset of the queue's first message"`
	Max      int64     `json:"max" doc:"Behind its last"`
}

// NewTopic asks for a topic, or for more queues of one.
type NewTopic struct {
	Name   string `json:"name"`
	Queues int32  `json:"queues" doc:"At least so many; a topic never loses queues"`
}

// Topic describes a topic.
type Topic struct {
	Name   string  `json:"name"`
	Queues []Queue `json:"queues"`
}

// Queue describes a queue.
type Queue struct {
	Queue int32 `json:"queue"`
	Min   int64 `json:"min" doc:"Offset of the first message that is there"`
	Max   int64 `json:"max" doc:"Behind the last"`
}

// Topics lists topics.
type Topics struct {
	Topics []Topic `json:"topics"`
}

// Found is the answer to a query by key.
type Found struct {
	Messages []Message `json:"messages" doc:"The newest first"`
}

// Position is a place in a queue.
type Position struct {
	Offset int64 `json:"offset"`
}

// Stats tells how the store and its server stand.
type Stats struct {
	Flush          string `json:"flush" doc:"When appends are acknowledged: always, group, interval or never"`
	First          int64  `json:"first" doc:"Offset of the log's first byte"`
	Written        int64  `json:"written" doc:"Behind the last that is written"`
	Synced         int64  `json:"synced" doc:"Behind the last that is known to be on the media"`
	Confirmed      int64  `json:"confirmed"`
	Dispatched     int64  `json:"dispatched" doc:"Behind the last that consumers see"`
	Topics         int    `json:"topics"`
	Queues         int    `json:"queues"`
	OpenQueueFiles int    `json:"open_queue_files"`
	Cut            int64  `json:"cut" doc:"Bytes that the last start has cut off the log, since they were no whole records"`
	DiskFull       bool   `json:"disk_full" doc:"Appends are refused"`
	Requests       int    `json:"requests" doc:"Under way"`
	Waits          int    `json:"waits" doc:"Pulls that wait for messages"`
}

// Health says whether the store takes appends.
type Health struct {
	Status string `json:"status" doc:"ok, or full: appends are refused until there is room"`
	Why    string `json:"why,omitempty" doc:"What there is no room for"`
}
