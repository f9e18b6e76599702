package segmentserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lakebed/engine/seglog"
	"lakebed/engine/seglog/message"
	"lakebed/service/segments"
	"lakebed/service/segmentserver"
	"lakebed/service/servicetest"
	"lakebed/service/wire"
)

func group(time uint64, payload string) []segments.Group {
	return []segments.Group{{Time: &time, Source: wire.Bytes("edge-7"), Columns: []segments.Column{{Name: wire.Bytes("status"), Type: 3}}, Payload: wire.Bytes(payload)}}
}

// TestWhatIsAppendedIsFetched, byte for byte, over TCP, a unix socket and within the process, by cursor, by time and from the oldest.
func TestWhatIsAppendedIsFetched(t *testing.T) {
	s := serve(t, nil)
	ctx := servicetest.Within(t)
	for way, config := range s.Ways() {
		t.Run(way, func(t *testing.T) {
			c := clientOf(t, config)
			topic, err := c.CreateTopic(ctx, segments.NewTopic{Name: way, Partitions: 3, RetentionSeconds: 3600})
			if err != nil || len(topic.Partitions) != 3 || topic.RetentionSeconds != 3600 {
				t.Fatalf("%+v, %v", topic, err)
			}
			placed, err := c.Append(ctx, way, 1, group(100, "one\n"), append(group(101, "two \xff"), group(102, "")...))
			if err != nil || placed != (segments.Placed{Topic: way, Partition: 1, Count: 2}) {
				t.Fatalf("%+v, %v", placed, err)
			}
			list := message.Append(nil, []message.Group{{Time: 103, Source: []byte{0xfe}, Payload: []byte("three")}})
			if placed, err = c.AppendEncoded(ctx, way, 1, list); err != nil || placed.First != 2 {
				t.Fatalf("%+v, %v", placed, err)
			}
			batch, err := c.Fetch(ctx, way, 1, segments.Oldest(), segments.FetchOptions{})
			if err != nil || len(batch.Messages) != 3 || batch.Next != 3 || !bytes.Equal(batch.Messages[2].List, list) {
				t.Fatalf("%+v, %v", batch, err)
			}
			batch, err = c.Fetch(ctx, way, 1, segments.At(1), segments.FetchOptions{Messages: 1, Groups: true})
			if err != nil || len(batch.Messages) != 1 || batch.Next != 2 || len(batch.Messages[0].Groups) != 2 {
				t.Fatalf("%+v, %v", batch, err)
			}
			if got, want := batch.Messages[0].Groups[0], group(101, "two \xff")[0]; fmt.Sprintf("%q %q %v %v", got.Payload, got.Source, *got.Time, got.Columns) !=
				fmt.Sprintf("%q %q %v %v", want.Payload, want.Source, *want.Time, want.Columns) {
				t.Errorf("%+v, want %+v", got, want)
			}
			if batch, err = c.Fetch(ctx, way, 1, segments.Since(103), segments.FetchOptions{}); err != nil || len(batch.Messages) != 1 || batch.Messages[0].Cursor != 2 {
				t.Errorf("%+v, %v", batch, err)
			}
			if cursor, err := c.Seek(ctx, way, 1, 102); err != nil || cursor != 1 {
				t.Errorf("cursor %d, %v", cursor, err)
			}
			if topic, err = c.SetRetention(ctx, way, segments.Retention{Seconds: 60}); err != nil || topic.RetentionSeconds != 60 || topic.Partitions[1].Next != 3 {
				t.Errorf("%+v, %v", topic, err)
			}
		})
	}
	c := s.client(t)
	all, err := c.Topics(ctx)
	stats, statsErr := c.Stats(ctx)
	health, healthErr := c.Health(ctx)
	if err = errors.Join(err, statsErr, healthErr); err != nil || len(all) != 3 || stats.Messages != 9 || stats.Partitions != 9 || health.Status != "ok" {
		t.Errorf("%+v, %+v, %+v, %v", all, stats, health, err)
	}
}

// TestBalancedAppendsTakeTurns: without a partition the store chooses.
func TestBalancedAppendsTakeTurns(t *testing.T) {
	s := serve(t, nil)
	ctx, c := servicetest.Within(t), s.client(t)
	if _, err := c.CreateTopic(ctx, segments.NewTopic{Name: "a", Partitions: 3}); err != nil {
		t.Fatal(err)
	}
	var seen []int
	for range 6 {
		placed, err := c.Append(ctx, "a", segments.Balanced, group(1, "x"))
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, placed.Partition)
	}
	slices.Sort(seen)
	if !slices.Equal(seen, []int{0, 0, 1, 1, 2, 2}) {
		t.Errorf("partitions %v", seen)
	}
}

// TestEachRefusalHasItsClass, and nothing of what was refused is stored.
func TestEachRefusalHasItsClass(t *testing.T) {
	s := serve(t, func(store *seglog.Config, server *segmentserver.Config) {
		server.Service.BodyBytesMax = 1 << 20
		server.AppendMessagesMax = 3
		store.Partition.MessageBytesMax = 1000
	})
	c := s.client(t)
	if _, err := c.CreateTopic(servicetest.Within(t), segments.NewTopic{Name: "a", Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	const lines, messages = segments.LinesType, "/v1/topics/a/messages"
	for _, r := range []struct {
		method, path, mediaType, body string
		status                        int
		class                         wire.Class
		detail                        string
	}{
		{"GET", "/v2", "", "", 404, wire.NotFound, "/openapi.json"},
		{"DELETE", "/v1/topics/a", "", "", 405, wire.NotAllowed, "GET or PATCH"},
		{"GET", "/v1/topics/b", "", "", 404, wire.NotFound, "topic b"},
		{"POST", "/v1/topics", "application/json", `{"name":"a"}`, 409, wire.Exists, "a"},
		{"POST", "/v1/topics", "application/json", `{"name":"../a"}`, 400, wire.Invalid, "letters"},
		{"POST", "/v1/topics", "application/json", `{"name":"b","partition":2}`, 400, wire.Invalid, "partition"},
		{"POST", "/v1/topics", "application/json", `{"name":"b"} {}`, 400, wire.Invalid, "follows"},
		{"POST", "/v1/topics", "application/json", `{"name":"b","retention_seconds":-1}`, 400, wire.Invalid, "-1"},
		{"PATCH", "/v1/topics/a", "application/json", `{"retention_seconds":5}`, 400, wire.Invalid, "retention_bytes"},
		{"POST", messages, "", `{"payload":"x"}`, 415, wire.UnsupportedType, lines},
		{"POST", messages, lines, ``, 400, wire.Invalid, "no message"},
		{"POST", messages, lines, `{"payload":"x"}{"payload":`, 400, wire.Invalid, "message 1"},
		{"POST", messages, lines, `{"paylod":"x"}`, 400, wire.Invalid, "paylod"},
		{"POST", messages, lines, `{"source":"x"}`, 400, wire.Invalid, "no payload"},
		{"POST", messages, lines, `[]`, 400, wire.Invalid, "no log group"},
		{"POST", messages, lines, `null`, 400, wire.Invalid, "no payload"},
		{"POST", messages, lines, "{\"payload\":\"\xff\"}", 400, wire.Invalid, "UTF-8"},
		{"POST", messages, lines, strings.Repeat(`{"payload":"x"}`, 4), 413, wire.TooLarge, "more than 3"},
		{"POST", messages, lines, `{"payload":"` + strings.Repeat("x", 2000) + `"}`, 413, wire.TooLarge, "too large"},
		{"POST", messages, lines, `{"payload":"` + strings.Repeat("x", 2<<20) + `"}`, 413, wire.TooLarge, "1048576"},
		{"POST", messages, lines, `{"payload":"x","time":99999999999}`, 400, wire.Invalid, "time"},
		{"POST", messages, segments.ProtobufType, "\x0a\x05x", 400, wire.Invalid, "malformed"},
		{"POST", messages + "?partition=1", lines, `{"payload":"x"}`, 404, wire.NotFound, "partition 1"},
		{"POST", messages + "?partition=-1", lines, `{"payload":"x"}`, 400, wire.Invalid, "from 0"},
		{"POST", messages + "?partiton=0", lines, `{"payload":"x"}`, 400, wire.Invalid, "partiton"},
		{"POST", messages + "?partition=0&partition=0", lines, `{"payload":"x"}`, 400, wire.Invalid, "2 times"},
		{"GET", "/v1/topics/a/partitions/x/messages", "", "", 404, wire.NotFound, "whole number"},
		{"GET", "/v1/topics/a/partitions/0/messages?cursor=7", "", "", 416, wire.Beyond, "cursor 7"},
		{"GET", "/v1/topics/a/partitions/0/messages?cursor=0&time=0", "", "", 400, wire.Invalid, "one of them"},
		{"GET", "/v1/topics/a/partitions/0/messages?form=xml", "", "", 400, wire.Invalid, "groups raw"},
		{"GET", "/v1/topics/a/partitions/0/messages?wait_ms=99999999", "", "", 400, wire.Invalid, "30000"},
		{"GET", "/v1/topics/a/partitions/0/cursor", "", "", 400, wire.Invalid, "parameter time is missing"},
	} {
		status, class, detail := ask(t, s, r.method, r.path, r.mediaType, r.body)
		if status != r.status || class != r.class || !strings.Contains(detail, r.detail) {
			t.Errorf("%s %s %.40q: %d, %s, %q; want %d, %s, %q", r.method, r.path, r.body, status, class, detail, r.status, r.class, r.detail)
		}
	}
	if stats, err := c.Stats(servicetest.Within(t)); err != nil || stats.Messages != 0 || stats.Topics != 1 {
		t.Errorf("after refusals: %+v, %v", stats, err)
	}
}

// ask sends a request as it is.
func ask(t *testing.T, s *served, method, path, mediaType, body string) (status int, class wire.Class, detail string) {
	t.Helper()
	request, err := http.NewRequestWithContext(servicetest.Within(t), method, "http://"+s.Address+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if mediaType != "" {
		request.Header.Set("Content-Type", mediaType)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	var p wire.Problem
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil || response.Header.Get("Content-Type") != wire.ProblemType || p.Status != response.StatusCode {
		t.Errorf("%s %s: %s, %v: %s", method, path, response.Status, err, text)
	}
	return response.StatusCode, p.Class, p.Detail
}

// TestAnAppendOfUnknownOutcomeSaysSo with a status and a class of its own, and is not repeated.
func TestAnAppendOfUnknownOutcomeSaysSo(t *testing.T) {
	s := serve(t, func(store *seglog.Config, _ *segmentserver.Config) {
		store.ReadmitPause, store.ReadmitMax = time.Hour, time.Hour
	})
	ctx, c := servicetest.Within(t), s.client(t)
	if _, err := c.CreateTopic(ctx, segments.NewTopic{Name: "a", Partitions: 2}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Append(ctx, "a", 0, group(1, "safe")); err != nil {
		t.Fatal(err)
	}
	s.FailSyncs.Store(true)
	_, err := c.Append(ctx, "a", segments.Balanced, group(1, "perhaps"))
	var p *wire.Problem
	if !errors.Is(err, wire.OutcomeUnknown) || !errors.As(err, &p) || p.Status != 520 {
		t.Errorf("a sync that failed: %v", err)
	}
	s.FailSyncs.Store(false)
	for range 2 {
		if health, err := c.Health(ctx); err != nil || health.Status != "degraded" || len(health.Ejected) != 1 {
			t.Errorf("one directory of two: %+v, %v", health, err)
		}
	}
	s.FailSyncs.Store(true)
	if _, err := c.Append(ctx, "a", segments.Balanced, group(1, "perhaps")); !errors.Is(err, wire.OutcomeUnknown) {
		t.Errorf("the other directory: %v", err)
	}
	if _, err := c.Append(ctx, "a", segments.Balanced, group(1, "no")); !errors.Is(err, wire.Unavailable) {
		t.Errorf("no directory is left: %v", err)
	}
	if _, err := c.Health(ctx); !errors.Is(err, wire.Unavailable) {
		t.Errorf("no directory is left: %v", err)
	}
}

// TestAWaitingFetchIsWokenByAnAppend, and one that nothing wakes ends with its time.
func TestAWaitingFetchIsWokenByAnAppend(t *testing.T) {
	s := serve(t, nil)
	ctx, c := servicetest.Within(t), s.client(t)
	if _, err := c.CreateTopic(ctx, segments.NewTopic{Name: "a", Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	batch, err := c.Fetch(ctx, "a", 0, segments.At(0), segments.FetchOptions{Wait: 50 * time.Millisecond})
	if err != nil || len(batch.Messages) != 0 || batch.Next != 0 || time.Since(begun) < 50*time.Millisecond {
		t.Errorf("%+v, %v after %v", batch, err, time.Since(begun))
	}
	var consumers sync.WaitGroup
	for range 20 {
		consumers.Go(func() {
			batch, err := c.Fetch(ctx, "a", 0, segments.Oldest(), segments.FetchOptions{Wait: 20 * time.Second, Groups: true})
			if err != nil || len(batch.Messages) != 1 || string(batch.Messages[0].Groups[0].Payload) != "x" {
				t.Errorf("%+v, %v", batch, err)
			}
		})
	}
	awaitWaits(t, s, 20)
	if _, err := c.Append(ctx, "a", 0, group(1, "x")); err != nil {
		t.Error(err)
	}
	consumers.Wait()
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

// TestAFetchWhoseClientLeavesGivesItsSlotBack at once, over each kind of connection: whoever closes it without a word must not keep others
// from waiting.
func TestAFetchWhoseClientLeavesGivesItsSlotBack(t *testing.T) {
	const slots = 4
	s := serve(t, func(_ *seglog.Config, server *segmentserver.Config) { server.Service.WaitsMax = slots })
	if _, err := s.client(t).CreateTopic(servicetest.Within(t), segments.NewTopic{Name: "a", Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	for network, address := range map[string]string{"tcp": s.Address, "unix": s.Socket} {
		var clients []net.Conn
		for range slots {
			conn, err := net.Dial(network, address)
			if err == nil {
				clients = append(clients, conn)
				_, err = fmt.Fprintf(conn, "GET /v1/topics/a/partitions/0/messages?cursor=0&wait_ms=20000 HTTP/1.1\r\nHost: a\r\n\r\n")
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
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("the slots came back after %v", took)
	}
}

// TestBoundsOfWaitsAndRequestsRefuseAtOnce: a request beyond them is told so, those within are not hurt, and waiting takes no slot of
// those that work.
func TestBoundsOfWaitsAndRequestsRefuseAtOnce(t *testing.T) {
	s := serve(t, func(_ *seglog.Config, server *segmentserver.Config) {
		server.Service.WaitsMax, server.Service.RequestsMax = 3, 1
	})
	ctx, c := servicetest.Within(t), s.client(t)
	if _, err := c.CreateTopic(ctx, segments.NewTopic{Name: "a", Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	long := segments.FetchOptions{Wait: 20 * time.Second}
	var consumers sync.WaitGroup
	for n := range 3 {
		consumers.Go(func() {
			if batch, err := c.Fetch(ctx, "a", 0, segments.Oldest(), long); err != nil || len(batch.Messages) != 1 {
				t.Errorf("%+v, %v", batch, err)
			}
		})
		awaitWaits(t, s, n+1)
	}
	if _, err := c.Fetch(ctx, "a", 0, segments.Oldest(), long); !errors.Is(err, wire.Busy) {
		t.Errorf("a fourth wait: %v", err)
	}
	if _, err := c.Append(ctx, "a", 0, group(1, "x")); err != nil {
		t.Error(err)
	}
	consumers.Wait()
	awaitWaits(t, s, 0)
}

// TestAStopAnswersWhatWaitsAndWhatIsUnderWay: waiting fetches end at once and well, appends under way are acknowledged or say
// that they were not stored, everything that was acknowledged is there, and no task is left.
func TestAStopAnswersWhatWaitsAndWhatIsUnderWay(t *testing.T) {
	s := serve(t, nil)
	ctx, c := servicetest.Within(t), s.client(t)
	if _, err := c.CreateTopic(ctx, segments.NewTopic{Name: "a", Partitions: 2}); err != nil {
		t.Fatal(err)
	}
	var clients sync.WaitGroup
	for range 10 {
		clients.Go(func() {
			batch, err := c.Fetch(ctx, "a", 1, segments.Oldest(), segments.FetchOptions{Wait: 30 * time.Second})
			if err != nil || len(batch.Messages) != 0 {
				t.Errorf("a fetch that waits while the server stops: %+v, %v", batch, err)
			}
		})
	}
	awaitWaits(t, s, 10)
	appends := make(chan error, 4)
	for range cap(appends) {
		go func() {
			for {
				if _, err := c.Append(ctx, "a", 0, group(1, "x")); err != nil {
					appends <- err
					return
				}
			}
		}()
	}
	time.Sleep(20 * time.Millisecond)
	begun := time.Now()
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("the stop took %v", took)
	}
	clients.Wait()
	for range cap(appends) {
		if err := <-appends; !errors.Is(err, wire.Unreachable) && !errors.Is(err, wire.Stopping) && !errors.Is(err, wire.OutcomeUnknown) {
			t.Errorf("an append after the stop: %v", err)
		}
	}
}

// TestAnAppendWhoseClientLeavesIsStoredOnce: the client hears that its outcome is unknown, and the store has it once or not at all.
func TestAnAppendWhoseClientLeavesIsStoredOnce(t *testing.T) {
	s := serve(t, nil)
	ctx, c := servicetest.Within(t), s.client(t)
	if _, err := c.CreateTopic(ctx, segments.NewTopic{Name: "a", Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	acknowledged, unknown := 0, 0
	for i := 0; i < 5000 && (acknowledged < 5 || unknown < 5); i++ {
		short, cancel := context.WithTimeout(ctx, time.Duration(i)*100*time.Microsecond) // from too short to long enough
		switch _, err := c.Append(short, "a", 0, group(1, "x")); {
		case err == nil:
			acknowledged++
		case errors.Is(err, wire.OutcomeUnknown):
			unknown++
		case !errors.Is(err, context.DeadlineExceeded):
			t.Errorf("%v", err)
		}
		cancel()
	}
	for requests := 1; requests > 0; time.Sleep(time.Millisecond) {
		requests, _ = s.Service.Load()
	}
	_, next, err := s.store.Bounds("a", 0)
	if stored := int(next); err != nil || stored < acknowledged || stored > acknowledged+unknown || acknowledged == 0 || unknown == 0 {
		t.Errorf("%d are stored, %d were acknowledged, of %d the outcome is unknown: %v", stored, acknowledged, unknown, err)
	}
}

// TestALeftWaitGivesItsSlotBack when its time is over.
func TestALeftWaitGivesItsSlotBack(t *testing.T) {
	s := serve(t, nil)
	ctx, c := servicetest.Within(t), s.client(t)
	if _, err := c.CreateTopic(ctx, segments.NewTopic{Name: "a", Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithCancel(ctx)
	left := make(chan error)
	go func() {
		_, err := c.Fetch(short, "a", 0, segments.Oldest(), segments.FetchOptions{Wait: 300 * time.Millisecond})
		left <- err
	}()
	awaitWaits(t, s, 1)
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	awaitWaits(t, s, 0)
}
