package segments

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"lakebed/service/call"
	"lakebed/service/wire"
)

// The media types of an append.
const (
	LinesType    = "application/x-ndjson"
	ProtobufType = "application/x-protobuf"
)

// Balanced has the store choose the partition.
const Balanced = -1

// Service is what servers of segment logs call themselves: see wire.ServiceHeader.
const Service = "segment log"

// Client talks to one server.
type Client struct{ calls *call.Client }

// New makes a client. It connects when something is asked. A server of something else is told by wire.WrongService or wire.Foreign, and
// has done nothing then.
func New(config call.Config) (*Client, error) {
	config.Service = Service
	calls, err := call.New(config)
	if err != nil {
		return nil, err
	}
	return &Client{calls}, nil
}

// Close closes idle connections.
func (c *Client) Close() { c.calls.Close() }

// get asks for something that changes nothing.
func get[T any](ctx context.Context, c *Client, doing string, query url.Values, path ...string) (answer T, err error) {
	err = c.calls.Do(ctx, call.Request{Doing: doing, Method: http.MethodGet, Path: append([]string{"v1"}, path...), Query: query}, &answer)
	return answer, err
}

// send asks for a change, with a JSON body.
func send[T any](ctx context.Context, c *Client, doing, method string, body any, path ...string) (answer T, err error) {
	text, err := json.Marshal(body)
	if err != nil {
		return answer, fmt.Errorf("%s: %w: %w", doing, wire.Invalid, err)
	}
	err = c.calls.Do(ctx, call.Request{
		Doing: doing, Method: method, Path: append([]string{"v1"}, path...), Type: "application/json", Body: text, Changes: true,
	}, &answer)
	return answer, err
}

// Topics describes all topics, by name.
func (c *Client) Topics(ctx context.Context) ([]Topic, error) {
	all, err := get[Topics](ctx, c, "list topics", nil, "topics")
	return all.Topics, err
}

// Topic describes a topic.
func (c *Client) Topic(ctx context.Context, name string) (Topic, error) {
	return get[Topic](ctx, c, "describe topic "+name, nil, "topics", name)
}

// CreateTopic makes a topic. wire.Exists: it was there before.
func (c *Client) CreateTopic(ctx context.Context, t NewTopic) (Topic, error) {
	return send[Topic](ctx, c, "create topic "+t.Name, http.MethodPost, t, "topics")
}

// SetRetention changes how long a topic's messages stay.
func (c *Client) SetRetention(ctx context.Context, name string, r Retention) (Topic, error) {
	return send[Topic](ctx, c, "alter topic "+name, http.MethodPatch, r, "topics", name)
}

// Append appends messages, each made of one group or several, to a partition, or with Balanced to one that the store chooses. They
// get cursors one after the other.
func (c *Client) Append(ctx context.Context, topic string, partition int, messages ...[]Group) (Placed, error) {
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	encoder.SetEscapeHTML(false)
	for i, groups := range messages {
		if err := encoder.Encode(groups); err != nil {
			return Placed{}, fmt.Errorf("append message %d to topic %s: %w: %w", i, topic, wire.Invalid, err)
		}
	}
	return c.append(ctx, topic, partition, LinesType, lines.Bytes())
}

// AppendEncoded appends one message, an encoded LogGroupList.
func (c *Client) AppendEncoded(ctx context.Context, topic string, partition int, list []byte) (Placed, error) {
	return c.append(ctx, topic, partition, ProtobufType, list)
}

func (c *Client) append(ctx context.Context, topic string, partition int, mediaType string, body []byte) (placed Placed, err error) {
	query := url.Values{}
	if partition != Balanced {
		query.Set("partition", strconv.Itoa(partition))
	}
	err = c.calls.Do(ctx, call.Request{
		Doing: "append to topic " + topic, Method: http.MethodPost, Path: []string{"v1", "topics", topic, "messages"},
		Query: query, Type: mediaType, Body: body, Changes: true,
	}, &placed)
	return placed, err
}

// From says where a fetch begins. Oldest, At and Since make one.
type From struct {
	name  string
	value string
}

// Oldest is the first message that is there.
func Oldest() From { return From{} }

// At is a cursor.
func At(cursor int64) From { return From{"cursor", strconv.FormatInt(cursor, 10)} }

// Since is the first message with that time or a later one, in the store's unit.
func Since(time uint64) From { return From{"time", strconv.FormatUint(time, 10)} }

// FetchOptions bound a fetch. Zero stands for the server's own bound, and for no waiting.
type FetchOptions struct {
	Messages int
	Bytes    int64
	Wait     time.Duration // for a first message, if there is none yet; the server bounds it
	Groups   bool          // decode messages to groups in the server; else they come as lists
}

// Fetch returns messages of a partition, in order. None: there are none yet. wire.Trimmed: retention has removed the first one that was
// asked for; wire.Beyond: the cursor is behind the next one to come.
func (c *Client) Fetch(ctx context.Context, topic string, partition int, from From, o FetchOptions) (Batch, error) {
	query := url.Values{"form": {"raw"}}
	if o.Groups {
		query.Set("form", "groups")
	}
	if from.name != "" {
		query.Set(from.name, from.value)
	}
	for name, value := range map[string]int64{"messages": int64(o.Messages), "bytes": o.Bytes, "wait_ms": o.Wait.Milliseconds()} {
		if value != 0 {
			query.Set(name, strconv.FormatInt(value, 10))
		}
	}
	doing := fmt.Sprintf("fetch from partition %d of topic %s", partition, topic)
	return get[Batch](ctx, c, doing, query, "topics", topic, "partitions", strconv.Itoa(partition), "messages")
}

// Seek returns the cursor of a partition's first message with that time or a later one.
func (c *Client) Seek(ctx context.Context, topic string, partition int, time uint64) (int64, error) {
	doing := fmt.Sprintf("search in partition %d of topic %s", partition, topic)
	found, err := get[Position](ctx, c, doing, url.Values{"time": {strconv.FormatUint(time, 10)}}, "topics", topic, "partitions", strconv.Itoa(partition), "cursor")
	return found.Cursor, err
}

// Stats tells how the store and its server stand.
func (c *Client) Stats(ctx context.Context) (Stats, error) {
	return get[Stats](ctx, c, "ask for statistics", nil, "stats")
}

// Health says whether the store takes appends; wire.Unavailable: it takes none.
func (c *Client) Health(ctx context.Context) (Health, error) {
	return get[Health](ctx, c, "ask for health", nil, "health")
}
