package stores

import "slices"

// Kind says on which side of the comparison a store stands.
type Kind string

// The kinds.
const (
	Ours Kind = "ours"
	Peer Kind = "peer"
	Line Kind = "line" // the machine's own limit
)

// Log is an open store.
type Log interface {
	// Append stores a payload in a partition, counted from 0, and returns when it is as durable as the point says. Many tasks
	// call it at once. The payload does not change while the log is open.
	Append(partition int, payload []byte) error
	// Read visits every payload, those of a partition in their order. Nothing is appended meanwhile. The visited bytes are the
	// log's, and good until visit returns.
	Read(visit func(payload []byte)) error
	Close() error
}

// GroupLog is a log without partitions and without callers that wait for each other: a single task hands it whole groups.
type GroupLog interface {
	Log
	AppendGroup(payloads []byte) error
}

// Place is where and as what a log is opened.
type Place struct {
	Dir     string `json:"dir"` // its own, fresh
	Point   Point  `json:"point"`
	Address string `json:"address"` // of its broker
	Name    string `json:"name"`    // of its topic at the broker; every place has another
	Seed    uint64 `json:"seed"`
}

// Broker names the foreign process that a store needs.
type Broker string

// The brokers. A server of our own stores would be another one: its Log is a client, and its processes are watched as theirs are.
const (
	NoBroker Broker = ""
	Kafka    Broker = "kafka"
	RocketMQ Broker = "rocketmq"
)

// Store is one thing to measure.
type Store struct {
	Name   string
	Kind   Kind
	How    string // it is used here, in a sentence
	Broker Broker
	Cannot func(Point) string // why it has no figure at a point; empty: it has
	Open   func(Place) (Log, error)
}

// All lists the stores, the raw line first.
func All() []Store {
	return []Store{rawStore(), seglogStore(), commitlogStore(), natsStore(), etcdStore(), tidwallStore(), kafkaStore(), rocketStore()}
}

// Find returns the store with a name.
func Find(name string) (Store, bool) {
	all := All()
	i := slices.IndexFunc(all, func(s Store) bool { return s.Name == name })
	if i < 0 {
		return Store{}, false
	}
	return all[i], true
}

func everywhere(Point) string { return "" }
