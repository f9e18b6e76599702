package experiments

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/message"
	"lakebed/engine/host"
	"lakebed/reports"
)

// filtering by the hash of a tag in the queue saves reads of the log.

const (
	filteredAlike = 2 // tags of one hash; the arm of collisions
	filteredHalf  = 0.5
)

const (
	figureReadPer  = "bytes read by wanted message"
	figureSentPer  = "bytes sent by wanted message"
	figureUnwanted = "messages sent and not wanted"
	figureWrongTag = "messages delivered with another tag"
	figureWanted   = "messages wanted and delivered"
	figureWhole    = "time of the whole queue"
)

// filteredArm is how many tags there are, and who filters.
type filteredArm struct {
	tags  int
	alike bool // all of one hash
	store bool // the store filters
}

func (a filteredArm) filter() string {
	if a.store {
		return "store, by hash"
	}
	return "consumer alone"
}

func (a filteredArm) tagsWords() string {
	if a.alike {
		return "2 of one hash"
	}
	return strconv.Itoa(a.tags)
}

func (a filteredArm) cell() string { return fmt.Sprintf("tags %s/%s", a.tagsWords(), a.filter()) }

func (a filteredArm) place() string { return fmt.Sprintf("%d-%t", a.tags, a.alike) }

// tag is that of the n-th message. The wanted one is that of message 0.
func (a filteredArm) tag(n int) string {
	if a.alike {
		return []string{"Aa", "BB"}[n%filteredAlike]
	}
	return fmt.Sprintf("tag-%d", n%a.tags)
}

func filteredFew() []int { return []int{100, 1000} }

func (r *run) filteredArms() (arms []filteredArm) {
	for _, tags := range either(r, append([]int{1, 10}, filteredFew()...), []int{1, 100}) {
		arms = append(arms, filteredArm{tags, false, true}, filteredArm{tags, false, false})
	}
	return append(arms, filteredArm{filteredAlike, true, true}, filteredArm{filteredAlike, true, false})
}

func measureTagFilter(ctx context.Context, r *run) error {
	r.synced = syncedNever
	return r.inScratch(ctx, func(ctx context.Context, dir string) error {
		for _, a := range r.filteredArms() {
			if !a.store {
				continue // both read the same log
			}
			err := inCommitLog(ctx, r, filepath.Join(dir, a.place()), nil, func(h host.Host, s *commitlog.Store) error {
				return a.fill(h, s, either(r, 100_000, 500))
			})
			if err != nil {
				return fmt.Errorf("%s: %w", a.cell(), err)
			}
		}
		for round := range either(r, 5, 1) {
			for _, a := range r.filteredArms() {
				if err := r.readFiltered(ctx, filepath.Join(dir, a.place()), a); err != nil {
					return fmt.Errorf("%s: %w", a.cell(), err)
				}
			}
			r.say("round %d", round+1)
		}
		r.lines(r.Seed, reports.Plot{
			Name: "filtered", Title: "Bytes read for each wanted message",
			X: reports.Axis{Label: "tags in the queue", Unit: "1", Log: true}, Y: reports.Axis{Label: "read by wanted message", Unit: "B", Log: true},
		}, filteredGroup, quantity{name: figureReadPer}, "filter", func(labels map[string]string) float64 {
			if x, err := strconv.ParseFloat(labels["tags"], 64); err == nil {
				return x
			}
			return filteredAlike
		})
		return nil
	})
}

const filteredGroup = "One queue, one tag wanted"

// fill stores messages one after the other in the order of their numbers.
func (a filteredArm) fill(h host.Host, s *commitlog.Store, messages int) error {
	if err := s.CreateTopic(queuedTopic(0), 1); err != nil {
		return err
	}
	tasks := h.Root().New("fillers")
	failed := make([]error, fillers)
	for i := range fillers {
		tasks.Go("filler", func() {
			for n := i; n < messages && failed[i] == nil; n += fillers {
				properties, err := message.AppendProperties(nil, message.Property{Name: message.PropertyTags, Value: a.tag(n)})
				if err == nil {
					body := fmt.Appendf(nil, "%0*d", mixedBody, n) // which tells whether its tag is right
					_, err = s.Append(message.Message{Topic: []byte(queuedTopic(0)), Body: body, Properties: properties})
				}
				failed[i] = err
			}
		})
	}
	tasks.Wait()
	return errors.Join(failed...)
}

// readFiltered reads the whole queue as a consumer of one tag.
func (r *run) readFiltered(ctx context.Context, dir string, a filteredArm) error {
	if err := dropCached(dir); err != nil {
		return err
	}
	var t tally
	return inCommitLog(ctx, r, dir, &t, func(_ host.Host, s *commitlog.Store) error {
		request := commitlog.PullRequest{Topic: queuedTopic(0)}
		if a.store {
			request.Tags = []string{a.tag(0)}
		}
		reads, bytes := t.now()
		began := time.Now()
		wanted, unwanted, wrong, sent := 0, 0, 0, 0
		for {
			found, err := s.Pull(request)
			if err != nil {
				return err
			}
			if found.Status != commitlog.Found && found.Status != commitlog.NoMatchedMessage {
				break
			}
			for i := range found.Messages {
				m := &found.Messages[i]
				sent += m.Size()
				if string(m.Tag()) != a.tag(0) {
					unwanted++
					continue // the consumer compares, and drops it
				}
				wanted++
				if n, err := strconv.Atoi(strings.TrimLeft(string(m.Body), "0")); err == nil && a.tag(n) != a.tag(0) {
					wrong++
				}
			}
			request.Offset = found.Next
		}
		took := time.Since(began)
		_, bytes = t.since(reads, bytes)
		if wanted == 0 {
			return errors.New("no message has the wanted tag")
		}
		c := r.group(filteredGroup, "Samples are rounds. Files are those of the log and of the queue.").
			cell(a.cell(), "tags", a.tagsWords(), "filter", a.filter())
		c.sample(count(figureWanted, reports.NeitherBetter), float64(wanted))
		c.sample(quantity{figureReadPer, "B", reports.ClockNone, reports.LowerBetter}, float64(bytes)/float64(wanted))
		c.sample(quantity{figureSentPer, "B", reports.ClockNone, reports.LowerBetter}, float64(sent)/float64(wanted))
		c.sample(count(figureUnwanted, reports.LowerBetter), float64(unwanted))
		c.sample(count(figureWrongTag, reports.LowerBetter), float64(wrong))
		c.sample(quantity{figureWhole, "s", reports.ClockWall, reports.LowerBetter}, took.Seconds())
		return nil
	})
}

// judgeTagFilter: no wrong tag is delivered, collisions are seen and dropped, and few wanted messages take few reads.
func judgeTagFilter(r *reports.Result) reports.Verdict {
	var j judgement
	wrong := 0.0
	for _, g := range r.Groups {
		for _, c := range g.Cells {
			if f, ok := c.Figure(figureWrongTag); ok {
				wrong += total(&f)
			}
		}
	}
	alike, ok := j.figureOf(r, filteredArm{filteredAlike, true, true}.cell(), figureUnwanted)
	if ok {
		j.none("delivered with another tag", wrong)
		if total(&alike) == 0 {
			j.leaveOpen("no collision was seen")
		} else {
			j.support("%s messages of a tag with the same hash were sent and dropped", short(alike.Value))
		}
	}
	for _, tags := range filteredFew() {
		filtered, ok := j.figureOf(r, filteredArm{tags, false, true}.cell(), figureReadPer)
		all, found := j.figureOf(r, filteredArm{tags, false, false}.cell(), figureReadPer)
		if !ok || !found {
			continue
		}
		what := fmt.Sprintf("bytes read with the filter by those without, one of %d tags,", tags)
		if i, ok := j.ratio(what, &filtered, &all); ok {
			j.below(what, i, filteredHalf)
		}
	}
	return j.verdict()
}
