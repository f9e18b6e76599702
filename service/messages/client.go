package messages

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"lakebed/service/call"
	"lakebed/service/wire"
)

// AnyQueue lets the store choose the queue: each in turn.
const AnyQueue = -1

// Service is what servers of commit logs call themselves: see wire.ServiceHeader.
const Service = "commit log"

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

// post asks for a change.
func post[T any](ctx context.Context, c *Client, doing string, body any, query url.Values, path ...string) (answer T, err error) {
	text, err := json.Marshal(body)
	if err != nil {
		return answer, fmt.Errorf("%s: %w: %w", doing, wire.Invalid, err)
	}
	err = c.calls.Do(ctx, call.Request{
		Doing: doing, Method: http.MethodPost, Path: append([]string{"v1"}, path...), Query: query, Type: "application/json", Body: text, Changes: true,
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

// CreateTopic makes a topic with so many queues, or gives it more. To ask again is safe.
func (c *Client) CreateTopic(ctx context.Context, t NewTopic) (Topic, error) {
	return post[Topic](ctx, c, "create topic "+t.Name, t, nil, "topics")
}

// Append stores a message in a queue, or with AnyQueue in one that the store chooses, and returns when it is as safe as the store's
// flush mode says.
func (c *Client) Append(ctx context.Context, topic string, queue int32, m NewMessage) (Placed, error) {
	query := url.Values{}
	if queue != AnyQueue {
		query.Set("queue", strconv.Itoa(int(queue)))
	}
	if m.Body == nil {
		m.Body = wire.Bytes{}
	}
	return post[Placed](ctx, c, "append to topic "+topic, m, query, "topics", topic, "messages")
}

// PullOptions bound a pull. Zero stands for the server's own bound, for no waiting and for all tags.
type PullOptions struct {
	Count int
	Bytes int64
	Wait  time.Duration // for a message, if there is none yet; the server bounds it
	Tags  Expression    // which messages are wanted
}

// Pull returns messages of a queue from an offset on, those with a tag that is wanted. What the queue has not, Status tells.
func (c *Client) Pull(ctx context.Context, topic string, queue int32, offset int64, o PullOptions) (Pulled, error) {
	doing := fmt.Sprintf("pull from queue %d of topic %s", queue, topic)
	tags, err := o.Tags.Tags()
	if err != nil {
		return Pulled{}, fmt.Errorf("%s: %w", doing, err)
	}
	query := url.Values{"offset": {strconv.FormatInt(offset, 10)}}
	for name, value := range map[string]int64{"count": int64(o.Count), "bytes": o.Bytes, "wait_ms": o.Wait.Milliseconds()} {
		if value != 0 {
			query.Set(name, strconv.FormatInt(value, 10))
		}
	}
	if len(tags) > 0 {
		query.Set("tags", string(o.Tags))
	}
	pulled, err := get[Pulled](ctx, c, doing, query, "topics", topic, "queues", strconv.Itoa(int(queue)), "messages")
	if len(tags) > 0 {
		pulled.compare(tags)
	}
	return pulled, err
}

// compare drops messages whose tags only have the hash of one that is wanted.
func (p *Pulled) compare(tags []string) {
	p.Messages = slices.DeleteFunc(p.Messages, func(m Message) bool { return !slices.Contains(tags, m.Tag) })
	if p.Status == found && len(p.Messages) == 0 {
		p.Status = noMatch
	}
}

// The two statuses that the comparison of tags may change, in the store's words.
const (
	found   = "FOUND"
	noMatch = "NO_MATCHED_MESSAGE"
)

// Query returns messages that have a key, stored in a span of times, the newest first. Zero times are no bounds; a limit of zero is the
// server's.
func (c *Client) Query(ctx context.Context, topic, key string, from, to time.Time, limit int) ([]Message, error) {
	query := url.Values{"key": {key}}
	if !from.IsZero() {
		query.Set("from_ms", strconv.FormatInt(from.UnixMilli(), 10))
	}
	if !to.IsZero() {
		query.Set("to_ms", strconv.FormatInt(to.UnixMilli(), 10))
	}
	if limit > 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	all, err := get[Found](ctx, c, "query topic "+topic, query, "topics", topic, "messages")
	return all.Messages, err
}

// Boundary says which message a search by time means.
type Boundary string

// The boundaries.
const (
	Lower Boundary = "lower" // the first message stored at that time or later; the end of the queue if there is none
	Upper Boundary = "upper" // the last message stored at that time or earlier; the first of the queue if there is none
)

// OffsetByTime returns the offset of a queue's message by the time at which it was stored.
func (c *Client) OffsetByTime(ctx context.Context, topic string, queue int32, at time.Time, b Boundary) (int64, error) {
	doing := fmt.Sprintf("search in queue %d of topic %s", queue, topic)
	query := url.Values{"time_ms": {strconv.FormatInt(at.UnixMilli(), 10)}, "boundary": {string(b)}}
	p, err := get[Position](ctx, c, doing, query, "topics", topic, "queues", strconv.Itoa(int(queue)), "offset")
	return p.Offset, err
}

// Stats tells how the store and its server stand.
func (c *Client) Stats(ctx context.Context) (Stats, error) {
	return get[Stats](ctx, c, "ask for statistics", nil, "stats")
}

// Health says whether the store works; wire.Failed: it has stopped.
func (c *Client) Health(ctx context.Context) (Health, error) {
	return get[Health](ctx, c, "ask for health", nil, "health")
}
