package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/twofold-go/twofold/invalidate/pipeline"
)

// site is the model: pages that are made of entities, kept in two layers that
// the pipeline invalidates and warms up, and a source that counts its writes by
// the epochs of their events. A page is the epoch it was loaded at.
type site struct {
	q *pipeline.Queue
	c *pipeline.Consumer

	mu      sync.Mutex // protects the rest; never held across a call to q or c
	layers  [2]map[string]uint64
	failing [2]bool
	slow    time.Duration // of a stage
	load    time.Duration // of a warm-up
	sick    bool          // warm-ups fail
	calls   [2]int
	handed  [2]map[string]int // by entity: the last call that had it
	all     [2]int            // the last call that had everything
	events  []told
	tried   map[string]uint64 // by page: the newest epoch a warm-up was tried at
	faults  []string
}

// told is an event and what was known when it was published.
type told struct {
	e     pipeline.Event
	calls [2]int // of the stages, before it
	lost  bool   // it may have been in the queue when that overflowed
}

var (
	siteSubjects = []string{"post:1", "post:2", "post:3"}
	siteEntities = []string{"post:1", "post:2", "post:3", "index"}
)

// entitiesOf is what a page is made of.
func entitiesOf(page string) []string {
	if page == "home" {
		return siteEntities
	}
	return []string{page[len("page/"):], "index"}
}

func (w *site) faultf(format string, args ...any) {
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

func (w *site) stage(i int) func(context.Context, []string, bool) error {
	return func(ctx context.Context, entities []string, all bool) error {
		w.mu.Lock()
		w.calls[i]++
		call, slow := w.calls[i], w.slow
		w.mu.Unlock()
		if err := nap(ctx, slow); err != nil {
			return err
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.failing[i] {
			return errDown
		}
		for page := range w.layers[i] {
			if all || slices.ContainsFunc(entitiesOf(page), func(e string) bool { return slices.Contains(entities, e) }) {
				delete(w.layers[i], page)
			}
		}
		for _, e := range entities {
			w.handed[i][e] = call
		}
		if all {
			w.all[i] = call
		}
		return nil
	}
}

func (w *site) warm(ctx context.Context, u *pipeline.Warmup) error {
	loaded := w.q.Last() // every write before it is seen
	w.mu.Lock()
	slow, sick := w.load, w.sick
	w.mu.Unlock()
	if loaded < u.Epoch {
		return fmt.Errorf("loaded %d for a warm-up as of %d", loaded, u.Epoch)
	}
	// Some loads do not listen to their context.
	_ = nap(context.WithoutCancel(ctx), slow)
	return u.Commit(func() error {
		passed := w.c.Applied()
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, told := range w.events {
			if e := told.e; u.Name == "page/"+e.Subject && !told.lost && loaded < e.Epoch && e.Epoch <= passed {
				w.faultf("%s is warmed up as of %d, after an event about it at %d", u.Name, loaded, e.Epoch)
			}
		}
		w.tried[u.Name] = max(w.tried[u.Name], loaded)
		if sick {
			return errDown
		}
		w.layers[0][u.Name], w.layers[1][u.Name] = loaded, loaded
		return nil
	}, entitiesOf(u.Name)...)
}

func (w *site) publish(e pipeline.Event) uint64 {
	w.mu.Lock()
	calls := w.calls
	w.mu.Unlock()
	before := w.q.Stats()
	epoch, err := w.q.Publish(e)
	after, passed := w.q.Stats(), w.c.Applied()
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.faultf("Publish: %v", err)
	}
	if after.Duplicates > before.Duplicates {
		return epoch
	}
	if epoch != before.Last+1 {
		w.faultf("epoch %d after %d", epoch, before.Last)
	}
	e.Epoch = epoch
	w.events = append(w.events, told{e: e, calls: calls})
	if after.Overflows > before.Overflows {
		for i := range w.events {
			w.events[i].lost = w.events[i].lost || w.events[i].e.Epoch > passed
		}
	}
	return epoch
}

// consume checks the promise of Consume, whoever calls it.
func (w *site) consume(ctx context.Context, upTo uint64) error {
	err := w.c.Consume(ctx, upTo)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		return err
	}
	for _, told := range w.events {
		if told.e.Epoch > upTo {
			continue
		}
		for i := range w.layers {
			for _, e := range told.e.Invalidates {
				if w.handed[i][e] <= told.calls[i] && w.all[i] <= told.calls[i] {
					w.faultf("Consume(%d) = nil, but stage %d was not told of %s at %d", upTo, i, e, told.e.Epoch)
				}
			}
		}
	}
	return nil
}

// check holds at any time: nothing that is kept is older than an event that has
// been applied.
func (w *site) check(t *rapid.T) {
	passed := w.c.Applied()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, told := range w.events {
		if told.e.Epoch > passed {
			break
		}
		for i, layer := range w.layers {
			for page, loaded := range layer {
				if loaded >= told.e.Epoch {
					continue
				}
				for _, e := range told.e.Invalidates {
					if slices.Contains(entitiesOf(page), e) {
						w.faultf("layer %d: %s was loaded at %d, but %s changed at %d", i, page, loaded, e, told.e.Epoch)
					}
				}
			}
		}
	}
	if len(w.faults) > 0 {
		t.Fatal(w.faults)
	}
}

// settle heals everything and checks that nothing was forgotten.
func (w *site) settle(t *rapid.T) {
	w.mu.Lock()
	w.failing = [2]bool{}
	w.slow, w.load, w.sick = 0, 0, false
	w.mu.Unlock()
	advance(20 * time.Second) // what is under way ends, and Run takes the rest
	if got, last := w.c.Applied(), w.q.Last(); got != last {
		t.Fatalf("Run has applied %d of %d", got, last)
	}
	if err := w.consume(context.Background(), pipeline.Everything); err != nil {
		t.Fatalf("Consume with all well: %v", err)
	}
	w.check(t)
	final := map[string]told{}
	for _, told := range w.events {
		final[told.e.Subject] = told
	}
	for subject, told := range final {
		for _, page := range told.e.Warms {
			if !told.lost && w.tried[page] < told.e.Epoch {
				t.Fatalf("%s is not warmed up since %s changed at %d", page, subject, told.e.Epoch)
			}
		}
	}
	if s := w.c.Stats(); s.Waiting+s.Warming != 0 || s.Panics != 0 {
		t.Fatalf("Stats = %+v", s)
	}
}

func drawEvent(t *rapid.T, past []told) pipeline.Event {
	if len(past) > 0 && rapid.IntRange(0, 9).Draw(t, "again") == 0 {
		return rapid.SampledFrom(past).Draw(t, "of").e
	}
	subject := rapid.SampledFrom(siteSubjects).Draw(t, "subject")
	e := event(subject, subject)
	e.Deleted = rapid.IntRange(0, 3).Draw(t, "deleted") == 0
	if e.Deleted && rapid.Bool().Draw(t, "quietly") {
		e.Invalidates = nil
	}
	if rapid.Bool().Draw(t, "more") {
		e.Invalidates = append(e.Invalidates, rapid.SampledFrom(siteEntities).Draw(t, "entity"))
	}
	if !e.Deleted {
		e.Warms = rapid.SampledFrom([][]string{{"page/" + subject}, {"page/" + subject, "home"}, {"home"}, nil}).Draw(t, "warms")
	}
	return e
}

func (w *site) actions() map[string]func(*rapid.T) {
	last := func() []told {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.events[max(0, len(w.events)-5):]
	}
	return map[string]func(*rapid.T){
		"publish": func(t *rapid.T) { w.publish(drawEvent(t, last())) },
		"write": func(t *rapid.T) {
			epoch := w.publish(drawEvent(t, last()))
			if err := w.consume(context.Background(), epoch); err != nil && !errors.Is(err, errDown) {
				t.Fatalf("Consume: %v", err)
			}
		},
		"write behind": func(t *rapid.T) {
			epoch := w.publish(drawEvent(t, last()))
			patience := time.Duration(rapid.IntRange(1, 500).Draw(t, "patience")) * time.Millisecond
			go func() {
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				defer cancel()
				_ = w.consume(ctx, epoch)
			}()
			if rapid.Bool().Draw(t, "let it begin") {
				synctest.Wait()
			}
		},
		"flush": func(*rapid.T) { w.q.PublishAll() },
		"wait": func(t *rapid.T) {
			advance(time.Duration(rapid.IntRange(1, 3000).Draw(t, "ms")) * time.Millisecond)
		},
		"harm": func(t *rapid.T) {
			w.mu.Lock()
			defer w.mu.Unlock()
			i := rapid.IntRange(0, 1).Draw(t, "layer")
			w.failing[i] = rapid.IntRange(0, 3).Draw(t, "failing") == 0
			w.sick = rapid.IntRange(0, 3).Draw(t, "sick") == 0
			w.slow = time.Duration(rapid.IntRange(0, 200).Draw(t, "slow ms")) * time.Millisecond
		},
		"loads": func(t *rapid.T) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.load = time.Duration(rapid.IntRange(0, 2000).Draw(t, "ms")) * time.Millisecond
		},
		"": w.check,
	}
}

// TestModel plays a site with writers, readers of what is kept, stages that fail
// and are slow, a queue that overflows and warm-ups that do not listen.
func TestModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// The wrapper hides Deadline, which must not be called in a bubble.
		rapid.Check(struct{ rapid.TB }{t}, func(t *rapid.T) {
			w := &site{tried: map[string]uint64{}, load: time.Second}
			var stages []pipeline.Stage
			for i := range w.layers {
				w.layers[i], w.handed[i] = map[string]uint64{}, map[string]int{}
				stages = append(stages, pipeline.Stage{Name: fmt.Sprint(i), Invalidate: w.stage(i)})
			}
			w.q = pipeline.NewQueue(pipeline.QueueConfig{MaxEvents: rapid.IntRange(2, 12).Draw(t, "room")})
			var err error
			w.c, err = pipeline.NewConsumer(w.q, pipeline.Config{
				Stages: stages, Warm: w.warm, Batch: rapid.IntRange(1, 4).Draw(t, "batch"),
				Logger: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			defer func() { // rapid runs this also where the actions failed
				cancel()
				_ = w.c.Close(ctx)
				advance(10 * time.Second)
			}()
			go w.c.Run(ctx)
			t.Repeat(w.actions())
			for range 3 {
				t.Repeat(w.actions())
				w.settle(t)
			}
		})
	})
}
