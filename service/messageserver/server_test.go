package messageserver_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"lakebed/service/messages"
	"lakebed/service/messageserver"
	"lakebed/service/servicetest"
	"lakebed/service/wire"
)

// TestWhatIsSentIsPulled, byte for byte and with all it has, over TCP, a unix socket and within the process, from a queue, by key and
// by time.
func TestWhatIsSentIsPulled(t *testing.T) {
	s := serve(t, nil)
	ctx := servicetest.Within(t)
	for way, config := range s.Ways() {
		t.Run(way, func(t *testing.T) {
			c := clientOf(t, config)
			if topic, err := c.CreateTopic(ctx, messages.NewTopic{Name: way, Queues: 2}); err != nil || len(topic.Queues) != 2 {
				t.Fatalf("%+v, %v", topic, err)
			}
			born := int64(1555553312000)
			sent := messages.NewMessage{
				Body: wire.Bytes("paid \xff"), Tag: "pay", Keys: []string{"o-1", "c-7"}, Properties: map[string]string{"region": "north"}, Flag: 9, BornMillis: &born,
			}
			placed, err := c.Append(ctx, way, 1, sent)
			if err != nil || placed.Queue != 1 || placed.Offset != 0 || placed.Topic != way {
				t.Fatalf("%+v, %v", placed, err)
			}
			if placed, err = c.Append(ctx, way, 1, messages.NewMessage{}); err != nil || placed.Offset != 1 {
				t.Fatalf("%+v, %v", placed, err)
			}
			pulled, err := c.Pull(ctx, way, 1, 0, messages.PullOptions{})
			if err != nil || pulled.Status != "FOUND" || len(pulled.Messages) != 2 || pulled.Next != 2 || pulled.Max != 2 {
				t.Fatalf("%+v, %v", pulled, err)
			}
			m := pulled.Messages[0]
			if string(m.Body) != "paid \xff" || m.Tag != "pay" || fmt.Sprint(m.Keys, m.Properties) != "[o-1 c-7] map[region:north]" || m.Flag != 9 || m.BornMillis != born {
				t.Errorf("%+v", m)
			}
			if fromNet := strings.HasPrefix(m.BornHost, "127.0.0.1:"); fromNet != (way == "tcp") {
				t.Errorf("sent over %s from %q", way, m.BornHost)
			}
			if found, err := c.Query(ctx, way, "c-7", time.UnixMilli(m.StoredMillis), time.Time{}, 0); err != nil || len(found) != 1 || found[0].Physical != m.Physical {
				t.Errorf("%+v, %v", found, err)
			}
			if found, err := c.Query(ctx, way, "c-7", time.Time{}, time.UnixMilli(m.StoredMillis-1), 0); err != nil || len(found) != 0 {
				t.Errorf("before it was stored: %+v, %v", found, err)
			}
			low, err := c.OffsetByTime(ctx, way, 1, time.UnixMilli(m.StoredMillis), messages.Lower)
			high, upErr := c.OffsetByTime(ctx, way, 1, time.UnixMilli(m.StoredMillis+60_000), messages.Upper)
			if err = errors.Join(err, upErr); err != nil || low != 0 || high != 1 {
				t.Errorf("offsets %d and %d, %v", low, high, err)
			}
		})
	}
	c := s.client(t)
	all, err := c.Topics(ctx)
	stats, statsErr := c.Stats(ctx)
	health, healthErr := c.Health(ctx)
	if err = errors.Join(err, statsErr, healthErr); err != nil || len(all) != 3 || stats.Queues != 6 || stats.Dispatched == 0 || health.Status != "ok" {
		t.Errorf("%+v, %+v, %+v, %v", all, stats, health, err)
	}
}

// TestTagsAreComparedByTheClient: "Aa" and "BB" have one hash, so the server answers both, and the client gives the one that was
// asked for, and goes on behind the other (R4-25).
func TestTagsAreComparedByTheClient(t *testing.T) {
	s := serve(t, nil)
	ctx, c := servicetest.Within(t), s.client(t)
	if _, err := c.CreateTopic(ctx, messages.NewTopic{Name: "a", Queues: 1}); err != nil {
		t.Fatal(err)
	}
	for _, tag := range []string{"Aa", "BB", "other", "", "BB"} {
		if _, err := c.Append(ctx, "a", 0, messages.NewMessage{Body: wire.Bytes("of " + tag), Tag: tag}); err != nil {
			t.Fatal(err)
		}
	}
	if got := asked(t, s, "/v1/topics/a/queues/0/messages?tags=Aa"); len(got.Messages) != 3 {
		t.Errorf("the server compares hashes, and answered %d messages", len(got.Messages))
	}
	for expression, want := range map[messages.Expression]string{
		"Aa": "Aa", "BB": "BB BB", "Aa || other": "Aa other", "*": "Aa BB other  BB", "": "Aa BB other  BB", " BB||BB ": "BB BB",
	} {
		pulled, err := c.Pull(ctx, "a", 0, 0, messages.PullOptions{Tags: expression})
		var tags []string
		for _, m := range pulled.Messages {
			tags = append(tags, m.Tag)
		}
		if got := strings.Join(tags, " "); err != nil || got != want || pulled.Next != 5 || pulled.Status != "FOUND" {
			t.Errorf("%q: %q, %+v, %v", expression, got, pulled, err)
		}
	}
	if pulled, err := c.Pull(ctx, "a", 0, 4, messages.PullOptions{Tags: "Aa"}); err != nil || len(pulled.Messages) != 0 || pulled.Status != "NO_MATCHED_MESSAGE" || pulled.Next != 5 {
		t.Errorf("one with the hash only: %+v, %v", pulled, err)
	}
	if _, err := c.Pull(ctx, "a", 0, 0, messages.PullOptions{Tags: "Aa ||"}); !errors.Is(err, wire.Invalid) {
		t.Errorf("half an expression: %v", err)
	}
}

// asked is the server's own answer to a pull.
func asked(t *testing.T, s *served, path string) (pulled messages.Pulled) {
	t.Helper()
	response, err := http.Get("http://" + s.Address + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&pulled); err != nil {
		t.Fatal(err)
	}
	return pulled
}

// TestEachRefusalHasItsClass, and nothing of what was refused is stored.
func TestEachRefusalHasItsClass(t *testing.T) {
	s := serve(t, nil)
	c := s.client(t)
	if _, err := c.CreateTopic(servicetest.Within(t), messages.NewTopic{Name: "a", Queues: 1}); err != nil {
		t.Fatal(err)
	}
	const objects, octets, send = "application/json", "application/octet-stream", "/v1/topics/a/messages"
	for _, r := range []struct {
		method, path, mediaType, body string
		status                        int
		class                         wire.Class
		detail                        string
	}{
		{"GET", "/", "", "", 404, wire.NotFound, "/openapi.json"},
		{"PUT", send, "", "", 405, wire.NotAllowed, "GET or POST"},
		{"GET", "/v1/topics/b", "", "", 404, wire.NotFound, "topic b"},
		{"POST", "/v1/topics", objects, `{"name":"b"}`, 400, wire.Invalid, "0 queues"},
		{"POST", "/v1/topics", objects, `{"name":"a.b","queues":1}`, 400, wire.Invalid, "a.b"},
		{"POST", "/v1/topics/b/messages", octets, "x", 404, wire.NotFound, "topic b: no such topic"},
		{"POST", send + "?queue=1", octets, "x", 404, wire.NotFound, "queue 1"},
		{"POST", send + "?queue=-2", octets, "x", 400, wire.Invalid, "from 0"},
		{"POST", send, "text/plain", "x", 415, wire.UnsupportedType, octets},
		{"POST", send, objects, `{}`, 400, wire.Invalid, "without a body"},
		{"POST", send, objects, `{"body":"x","key":"k"}`, 400, wire.Invalid, `"key"`},
		{"POST", send, objects, `{"body":"x","keys":["a b"]}`, 400, wire.Invalid, "spaces"},
		{"POST", send, objects, `{"body":"x","tag":"a\u0001"}`, 400, wire.Invalid, "separator"},
		{"POST", send, objects, `{"body":"x","tag":"a||b"}`, 400, wire.Invalid, "separates the tags"},
		{"POST", send + "?tag=a%7C%7Cb", octets, "x", 400, wire.Invalid, "separates the tags"},
		{"POST", send, objects, `{"body":"x","properties":{"TAGS":"a"}}`, 400, wire.Invalid, "TAGS"},
		{"POST", send, objects, "{\"body\":\"x\",\"tag\":\"\xff\"}", 400, wire.Invalid, "UTF-8"},
		{"POST", send + "?tag=a", objects, `{"body":"x"}`, 400, wire.Invalid, "parameters tag"},
		{"POST", send, octets, strings.Repeat("x", 1<<20+1), 413, wire.TooLarge, "1048577"},
		{"POST", send, objects, `{"body":"x","tag":"` + strings.Repeat("x", 40_000) + `"}`, 413, wire.TooLarge, "properties of 4"},
		{"POST", send, octets, strings.Repeat("x", 9<<20), 413, wire.TooLarge, "9437184"},
		{"GET", send, "", "", 400, wire.Invalid, "parameter key is missing"},
		{"GET", "/v1/topics/b/messages?key=k", "", "", 404, wire.NotFound, "topic b: no such topic"},
		{"GET", "/v1/topics/b/queues/0/messages", "", "", 404, wire.NotFound, "topic b: no such topic"},
		{"GET", "/v1/topics/b/queues/0/offset?time_ms=5", "", "", 404, wire.NotFound, "topic b: no such topic"},
		{"GET", send + "?key=k&limit=0", "", "", 400, wire.Invalid, "from 1 to 64"},
		{"GET", "/v1/topics/a/queues/1/messages", "", "", 404, wire.NotFound, "queue 1 of topic a, which has 1: no such queue"},
		{"GET", "/v1/topics/a/queues/0/messages?count=33", "", "", 400, wire.Invalid, "from 1 to 32"},
		{"GET", "/v1/topics/a/queues/0/messages?tags=%7C%7C", "", "", 400, wire.Invalid, "want tags"},
		{"GET", "/v1/topics/a/queues/0/offset", "", "", 400, wire.Invalid, "time_ms is missing"},
		{"GET", "/v1/topics/a/queues/0/offset?time_ms=5&boundary=middle", "", "", 400, wire.Invalid, "lower upper"},
	} {
		request, err := http.NewRequestWithContext(servicetest.Within(t), r.method, "http://"+s.Address+r.path, strings.NewReader(r.body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", r.mediaType)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatalf("%s %s: %v", r.method, r.path, err)
		}
		text, err := io.ReadAll(response.Body)
		err = errors.Join(err, response.Body.Close())
		var p wire.Problem
		if err == nil {
			err = json.Unmarshal(text, &p)
		}
		if err != nil || response.StatusCode != r.status || p.Status != r.status || p.Class != r.class || !strings.Contains(p.Detail, r.detail) {
			t.Errorf("%s %s %.40q: %s, %v, %+v; want %d, %s, %q", r.method, r.path, r.body, response.Status, err, p, r.status, r.class, r.detail)
		}
	}
	if stats, err := c.Stats(servicetest.Within(t)); err != nil || stats.Written != 0 || stats.Topics != 1 {
		t.Errorf("after refusals: %+v, %v", stats, err)
	}
}

// TestAnAppendOfUnknownOutcomeSaysSo with a status and a class of its own; then the store has failed, and says that, too.
func TestAnAppendOfUnknownOutcomeSaysSo(t *testing.T) {
	s := serve(t, nil)
	ctx, c := servicetest.Within(t), s.client(t)
	if _, err := c.CreateTopic(ctx, messages.NewTopic{Name: "a", Queues: 1}); err != nil {
		t.Fatal(err)
	}
	s.FailSyncs.Store(true)
	_, err := c.Append(ctx, "a", 0, messages.NewMessage{Body: wire.Bytes("perhaps")})
	var p *wire.Problem
	if !errors.Is(err, wire.OutcomeUnknown) || !errors.As(err, &p) || p.Status != 520 {
		t.Errorf("a sync that failed: %v", err)
	}
	if _, err := c.Append(ctx, "a", 0, messages.NewMessage{Body: wire.Bytes("no")}); !errors.Is(err, wire.Failed) {
		t.Errorf("the next: %v", err)
	}
	if _, err := c.Health(ctx); !errors.Is(err, wire.Failed) {
		t.Errorf("health: %v", err)
	}
}

// TestAWaitingPullIsWoken by a message with a tag that it wants and by no other, and a stop ends what waits.
func TestAWaitingPullIsWoken(t *testing.T) {
	s := serve(t, func(c *messageserver.Config) { c.Service.WaitsMax, c.Service.RequestsMax = 20, 2 })
	ctx, c := servicetest.Within(t), s.client(t)
	if _, err := c.CreateTopic(ctx, messages.NewTopic{Name: "a", Queues: 1}); err != nil {
		t.Fatal(err)
	}
	var consumers sync.WaitGroup
	for i := range 20 {
		consumers.Go(func() {
			pulled, err := c.Pull(ctx, "a", 0, 0, messages.PullOptions{Tags: "wanted", Wait: 15 * time.Second})
			if err != nil || len(pulled.Messages) != 1 || string(pulled.Messages[0].Body) != "x" || pulled.Next != 2 {
				t.Errorf("%+v, %v", pulled, err)
			}
		})
		awaitWaits(t, s, i+1)
	}
	if _, err := c.Pull(ctx, "a", 0, 0, messages.PullOptions{Wait: time.Second}); !errors.Is(err, wire.Busy) {
		t.Errorf("one wait too many: %v", err)
	}
	for _, tag := range []string{"unwanted", "wanted"} {
		if _, err := c.Append(ctx, "a", 0, messages.NewMessage{Body: wire.Bytes("x"), Tag: tag}); err != nil {
			t.Error(err)
		}
	}
	consumers.Wait()
	awaitWaits(t, s, 0)
	consumers.Go(func() {
		if pulled, err := c.Pull(ctx, "a", 0, 2, messages.PullOptions{Wait: 15 * time.Second}); err != nil || pulled.Status != "OFFSET_OVERFLOW_ONE" {
			t.Errorf("a pull that waits while the server stops: %+v, %v", pulled, err)
		}
	})
	awaitWaits(t, s, 1)
	begun := time.Now()
	if err := s.Stop(); err != nil || time.Since(begun) > 10*time.Second {
		t.Errorf("the stop took %v: %v", time.Since(begun), err)
	}
	consumers.Wait()
}

// TestAStoreWithoutRoomForItsNextFileSaysWhy: its health is full as soon as a long message is refused, and ok when there is room again.
func TestAStoreWithoutRoomForItsNextFileSaysWhy(t *testing.T) {
	s := serve(t, nil)
	ctx, c := servicetest.Within(t), s.client(t)
	if _, err := c.CreateTopic(ctx, messages.NewTopic{Name: "a", Queues: 1}); err != nil {
		t.Fatal(err)
	}
	if h, err := c.Health(ctx); err != nil || h.Status != "ok" || h.Why != "" {
		t.Errorf("%+v, %v", h, err)
	}
	s.FailAllocations.Store(true)
	body, refused := wire.Bytes(strings.Repeat("x", 900<<10)), error(nil)
	for n := 0; n < 20 && refused == nil; n++ { // the next file may have been made already
		_, refused = c.Append(ctx, "a", 0, messages.NewMessage{Body: body})
	}
	if h, err := c.Health(ctx); !errors.Is(refused, wire.NoSpace) || err != nil || h.Status != "full" || !strings.Contains(h.Why, "prepare log file") {
		t.Errorf("refused with %v: %+v, %v", refused, h, err)
	}
	s.FailAllocations.Store(false)
	for range 2000 {
		if h, err := c.Health(ctx); err == nil && h.Status == "ok" {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Error("it does not take messages again")
}

// TestAPullWhoseClientLeavesGivesItsSlotBack at once, over each kind of connection: whoever closes it without a word must not keep others
// from waiting.
func TestAPullWhoseClientLeavesGivesItsSlotBack(t *testing.T) {
	const slots = 4
	s := serve(t, func(c *messageserver.Config) { c.Service.WaitsMax = slots })
	if _, err := s.client(t).CreateTopic(servicetest.Within(t), messages.NewTopic{Name: "a", Queues: 1}); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	for network, address := range map[string]string{"tcp": s.Address, "unix": s.Socket} {
		var clients []net.Conn
		for range slots {
			conn, err := net.Dial(network, address)
			if err == nil {
				clients = append(clients, conn)
				_, err = fmt.Fprintf(conn, "GET /v1/topics/a/queues/0/messages?offset=0&wait_ms=20000 HTTP/1.1\r\nHost: a\r\n\r\n")
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		awaitWaits(t, s, slots)
		for _, conn := range clients {
			_ = conn.Close()
		}
		awaitWaits(t, s, 0)
	}
	if took := time.Since(begun); took > 10*time.Second || s.store.Stats().Suspended != 0 {
		t.Errorf("the slots came back after %v; the store has %+v", took, s.store.Stats())
	}
}

// awaitWaits returns when so many requests wait.
func awaitWaits(t *testing.T, s *served, n int) {
	t.Helper()
	for range 5000 {
		if _, waits := s.Service.Load(); waits == n {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
	_, waits := s.Service.Load()
	t.Fatalf("%d requests wait, not %d", waits, n)
}
