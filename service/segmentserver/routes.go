package segmentserver

import (
	"math"
	"net/http"

	"lakebed/service"
	"lakebed/service/segments"
	"lakebed/service/wire"
)

const (
	formRaw    = "raw"
	formGroups = "groups"
)

func info() service.Info {
	return service.Info{
		Title: "Lakebed segment log", Version: "1", Service: segments.Service,
		About: "Topics in partitions. Messages of a partition have cursors, one after the other, and are read in their order. " +
			"A failure is a problem document (RFC 9457) with a class. Status 520 is outcome-unknown: what was asked for may have been done; " +
			"whoever asks again may do it twice.",
	}
}

// routes is everything that the service can do.
func (s *server) routes() []service.Route {
	topic := service.Parameter{Name: "topic", In: service.InPath, Text: true, About: "Name of the topic"}
	partition := service.Parameter{Name: "partition", In: service.InPath, Max: math.MaxInt32, About: "Number of the partition, from 0"}
	at := service.Parameter{Name: "time", In: service.InQuery, Max: math.MaxInt64, Optional: true, About: "A time in the store's unit, seconds by default"}
	sought := at
	sought.Optional, sought.Needed = false, true
	reading := []wire.Class{wire.NotFound, wire.Unavailable, wire.Corrupt}
	changing := []wire.Class{wire.Unavailable, wire.NoSpace, wire.OutcomeUnknown}
	return []service.Route{
		{
			Method: http.MethodGet, Path: "/v1/health", Name: "health", Summary: "Does the store take appends?",
			Status: http.StatusOK, Answer: segments.Health{}, Errors: []wire.Class{wire.Unavailable}, Handle: s.health,
		}, {
			Method: http.MethodGet, Path: "/v1/stats", Name: "stats", Summary: "How store and server stand",
			Status: http.StatusOK, Answer: segments.Stats{}, Errors: []wire.Class{wire.Unavailable}, Handle: s.stats,
		}, {
			Method: http.MethodGet, Path: "/v1/topics", Name: "listTopics", Summary: "All topics, by name",
			Status: http.StatusOK, Answer: segments.Topics{}, Errors: []wire.Class{wire.Unavailable}, Handle: s.topics,
		}, {
			Method: http.MethodPost, Path: "/v1/topics", Name: "createTopic", Summary: "Make a topic",
			Bodies: []service.Body{{Type: "application/json", About: "what the topic is to be", Example: segments.NewTopic{}}},
			Status: http.StatusCreated, Answer: segments.Topic{}, Errors: append([]wire.Class{wire.Exists}, changing...), Handle: s.create,
		}, {
			Method: http.MethodGet, Path: "/v1/topics/{topic}", Name: "describeTopic", Summary: "A topic and its partitions",
			Parameters: []service.Parameter{topic},
			Status:     http.StatusOK, Answer: segments.Topic{}, Errors: reading, Handle: s.topic,
		}, {
			Method: http.MethodPatch, Path: "/v1/topics/{topic}", Name: "alterTopic", Summary: "Change how long a topic's messages stay",
			Parameters: []service.Parameter{topic},
			Bodies:     []service.Body{{Type: "application/json", About: "both bounds", Example: segments.Retention{}}},
			Status:     http.StatusOK, Answer: segments.Topic{}, Errors: append([]wire.Class{wire.NotFound}, changing...), Handle: s.alter,
		}, {
			Method: http.MethodPost, Path: "/v1/topics/{topic}/messages", Name: "append", Summary: "Append messages to a partition",
			About: "All of them are stored, one after the other, or none. Without a partition the store chooses one whose directory is in service.",
			Parameters: []service.Parameter{topic, {
				Name: "partition", In: service.InQuery, Max: math.MaxInt32, Optional: true, About: "Number of the partition; left out: the store chooses",
			}},
			Bodies: []service.Body{
				{Type: segments.LinesType, About: "each JSON value is a message: an object is one log group, an array several", Example: segments.Group{}},
				{Type: segments.ProtobufType, About: "one message, a LogGroupList"},
			},
			Status: http.StatusCreated, Answer: segments.Placed{}, Errors: append([]wire.Class{wire.NotFound}, changing...), Handle: s.append,
		}, {
			Method: http.MethodGet, Path: "/v1/topics/{topic}/partitions/{partition}/messages", Name: "fetch", Summary: "Messages of a partition, in order",
			About: "From a cursor, or from the first message of a time, or else from the oldest. If there is none yet, the answer waits for one, if asked to.",
			Parameters: []service.Parameter{
				topic, partition,
				{Name: "cursor", In: service.InQuery, Max: math.MaxInt64, Optional: true, About: "Cursor of the first message"},
				at,
				{Name: "messages", In: service.InQuery, Min: 1, Max: int64(s.config.FetchMessagesMax), Standard: int64(s.config.FetchMessagesMax), About: "At most so many"},
				{Name: "bytes", In: service.InQuery, Min: 1, Max: s.config.FetchBytesMax, Standard: s.config.FetchBytesMax, About: "At most so many of payload, though one message always fits"},
				{Name: "wait_ms", In: service.InQuery, Max: s.config.WaitMax.Milliseconds(), About: "Wait so long for a message, if there is none"},
				{Name: "form", In: service.InQuery, Text: true, Optional: true, OneOf: formGroups + " " + formRaw, About: "groups: decoded to JSON, the default; raw: as it is stored"},
			},
			Status: http.StatusOK, Answer: segments.Batch{}, Errors: append([]wire.Class{wire.Trimmed, wire.Beyond}, reading...), Handle: s.fetch,
		}, {
			Method: http.MethodGet, Path: "/v1/topics/{topic}/partitions/{partition}/cursor", Name: "seek", Summary: "The first message of a time",
			About:      "Cursor of the partition's first message with that time or a later one; the next one to come if there is none.",
			Parameters: []service.Parameter{topic, partition, sought},
			Status:     http.StatusOK, Answer: segments.Position{}, Errors: reading, Handle: s.seek,
		},
	}
}
