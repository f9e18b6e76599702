package messageserver

import (
	"math"
	"net/http"

	"lakebed/service"
	"lakebed/service/messages"
	"lakebed/service/wire"
)

const octetsType = "application/octet-stream"

func info() service.Info {
	return service.Info{
		Title: "Lakebed commit log", Version: "1", Service: messages.Service,
		About: "Topics in queues, the messages of all in one log. Messages of a queue have offsets, one after the other. " +
			"A failure is a problem document (RFC 9457) with a class. Status 520 is outcome-unknown: what was asked for may have been done; " +
			"whoever asks again may do it twice.",
	}
}

// routes is everything that the service can do.
func (s *server) routes() []service.Route {
	topic := service.Parameter{Name: "topic", In: service.InPath, Text: true, About: "Name of the topic"}
	queue := service.Parameter{Name: "queue", In: service.InPath, Max: math.MaxInt32, About: "Number of the queue, from 0"}
	reading := []wire.Class{wire.NotFound, wire.Corrupt}
	changing := []wire.Class{wire.NotFound, wire.NoSpace, wire.OutcomeUnknown, wire.Failed}
	return []service.Route{
		{
			Method: http.MethodGet, Path: "/v1/health", Name: "health", Summary: "Does the store work?",
			Status: http.StatusOK, Answer: messages.Health{}, Errors: []wire.Class{wire.Failed}, Handle: s.health,
		}, {
			Method: http.MethodGet, Path: "/v1/stats", Name: "stats", Summary: "How store and server stand",
			Status: http.StatusOK, Answer: messages.Stats{}, Handle: s.stats,
		}, {
			Method: http.MethodGet, Path: "/v1/topics", Name: "listTopics", Summary: "All topics, by name",
			Status: http.StatusOK, Answer: messages.Topics{}, Errors: reading, Handle: s.topics,
		}, {
			Method: http.MethodPost, Path: "/v1/topics", Name: "createTopic", Summary: "Make a topic, or give it more queues",
			Bodies: []service.Body{{Type: "application/json", About: "what the topic is to be", Example: messages.NewTopic{}}},
			Status: http.StatusCreated, Answer: messages.Topic{}, Errors: changing, Handle: s.create,
		}, {
			Method: http.MethodGet, Path: "/v1/topics/{topic}", Name: "describeTopic", Summary: "A topic and its queues",
			Parameters: []service.Parameter{topic},
			Status:     http.StatusOK, Answer: messages.Topic{}, Errors: reading, Handle: s.topic,
		}, {
			Method: http.MethodPost, Path: "/v1/topics/{topic}/messages", Name: "append", Summary: "Store a message in a queue",
			About: "Answers when it is as safe as the store's flush mode says. Without a queue each gets its turn.",
			Parameters: []service.Parameter{
				topic,
				{Name: "queue", In: service.InQuery, Max: math.MaxInt32, Optional: true, About: "Number of the queue; left out: the store chooses"},
				{Name: "tag", In: service.InQuery, Text: true, Optional: true, About: "With " + octetsType + ": the message's tag"},
				{Name: "key", In: service.InQuery, Text: true, Repeated: true, About: "With " + octetsType + ": a key of the message"},
			},
			Bodies: []service.Body{
				{Type: "application/json", About: "a message", Example: messages.NewMessage{}},
				{Type: octetsType, About: "a message's body"},
			},
			Status: http.StatusCreated, Answer: messages.Placed{}, Errors: changing, Handle: s.append,
		}, {
			Method: http.MethodGet, Path: "/v1/topics/{topic}/messages", Name: "query", Summary: "Messages that have a key, the newest first",
			Parameters: []service.Parameter{
				topic,
				{Name: "key", In: service.InQuery, Text: true, About: "The key"},
				{Name: "from_ms", In: service.InQuery, Max: math.MaxInt64, About: "Stored then or later, milliseconds since 1970"},
				{Name: "to_ms", In: service.InQuery, Max: math.MaxInt64, Optional: true, About: "Stored then or earlier"},
				{Name: "limit", In: service.InQuery, Min: 1, Max: int64(s.config.QueryMax), Standard: int64(s.config.QueryMax), About: "At most so many"},
			},
			Status: http.StatusOK, Answer: messages.Found{}, Errors: reading, Handle: s.query,
		}, {
			Method: http.MethodGet, Path: "/v1/topics/{topic}/queues/{queue}/messages", Name: "pull", Summary: "Messages of a queue from an offset on",
			About: "Tags are compared by their hashes: compare the tags of what comes. If there is no message yet, the answer waits for one, if asked to.",
			Parameters: []service.Parameter{
				topic, queue,
				{Name: "offset", In: service.InQuery, Max: math.MaxInt64, About: "Of the first message"},
				{Name: "tags", In: service.InQuery, Text: true, Optional: true, About: "Which tags are wanted: A || B; left out, or *: all messages"},
				{Name: "count", In: service.InQuery, Min: 1, Max: int64(s.config.PullCountMax), Standard: int64(s.config.PullCountMax), About: "At most so many"},
				{Name: "bytes", In: service.InQuery, Min: 1, Max: s.config.PullBytesMax, Standard: s.config.PullBytesMax, About: "At most so many, though one message always fits"},
				{Name: "wait_ms", In: service.InQuery, Max: s.config.WaitMax.Milliseconds(), About: "Wait so long for a message, if there is none"},
			},
			Status: http.StatusOK, Answer: messages.Pulled{}, Errors: reading, Handle: s.pull,
		}, {
			Method: http.MethodGet, Path: "/v1/topics/{topic}/queues/{queue}/offset", Name: "offsetByTime", Summary: "Offset of a message by the time at which it was stored",
			Parameters: []service.Parameter{
				topic, queue,
				{Name: "time_ms", In: service.InQuery, Max: math.MaxInt64, Needed: true, About: "Milliseconds since 1970"},
				{Name: "boundary", In: service.InQuery, Text: true, Optional: true, OneOf: "lower upper", About: "lower: the first then or later, the default; upper: the last then or earlier"},
			},
			Status: http.StatusOK, Answer: messages.Position{}, Errors: reading, Handle: s.offset,
		},
	}
}
