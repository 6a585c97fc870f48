package pipeline_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/invalidate/pipeline"
)

var errDown = errors.New("down")

// advance lets time pass in a bubble.
func advance(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// nap is what somebody slow does.
func nap(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// layer is a stage that notes its calls.
type layer struct {
	name string
	log  *calls

	mu    sync.Mutex // protects the rest
	err   error
	took  time.Duration
	panic any
}

// calls is the order of the calls of several stages.
type calls struct {
	mu   sync.Mutex
	list []string
}

func (c *calls) add(s string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, s)
}

// take returns what was noted since the last take.
func (c *calls) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.list
	c.list = nil
	return l
}

func (l *layer) set(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
}

func (l *layer) slow(took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.took = took
}

func (l *layer) invalidate(ctx context.Context, entities []string, all bool) error {
	l.mu.Lock()
	err, took, v := l.err, l.took, l.panic
	l.mu.Unlock()
	text := fmt.Sprint(l.name, " ", entities)
	if all {
		text += " all"
	}
	l.log.add(text)
	slices.Reverse(entities) // it is the stage's to change
	if v != nil {
		panic(v)
	}
	if e := nap(ctx, took); e != nil {
		return e
	}
	return err
}

// rig is a consumer of two stages with all that can be asked of it.
type rig struct {
	*pipeline.Consumer
	queue            *pipeline.Queue
	objects, respond *layer
	calls            *calls
	warm             *warmth
	said             *lockedBuffer
}

// lockedBuffer is a log that may be read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// warmth notes warm-ups: "name@epoch" when they are done.
type warmth struct {
	calls
	mu sync.Mutex // protects the rest
	do func(ctx context.Context, w *pipeline.Warmup) error

	entities []string // of whatever is stored; set before the first run
	running  int
	most     int
}

func (w *warmth) run(ctx context.Context, u *pipeline.Warmup) error {
	w.mu.Lock()
	w.running++
	w.most = max(w.most, w.running)
	do := w.do
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.running--
	}()
	if do != nil {
		if err := do(ctx, u); err != nil {
			return err
		}
	}
	return u.Commit(func() error {
		w.add(fmt.Sprint(u.Name, "@", u.Epoch))
		return nil
	}, w.entities...)
}

func (w *warmth) set(do func(ctx context.Context, w *pipeline.Warmup) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.do = do
}

// newRig returns a rig; within a bubble it must be closed before its end, which
// the test's cleanup would be too late for.
func newRig(t *testing.T, qc pipeline.QueueConfig, cfg pipeline.Config) *rig {
	t.Helper()
	order := &calls{}
	r := &rig{
		queue: pipeline.NewQueue(qc), calls: order, warm: &warmth{}, said: &lockedBuffer{},
		objects: &layer{name: "objects", log: order}, respond: &layer{name: "responses", log: order},
	}
	cfg.Stages = []pipeline.Stage{
		{Name: "objects", Invalidate: r.objects.invalidate}, {Name: "responses", Invalidate: r.respond.invalidate},
	}
	cfg.Warm = r.warm.run
	cfg.Logger = slog.New(slog.NewTextHandler(r.said, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var err error
	if r.Consumer, err = pipeline.NewConsumer(r.queue, cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = r.Close(ended)
	})
	return r
}

// bubble runs f with a rig in a bubble.
func bubble(t *testing.T, qc pipeline.QueueConfig, cfg pipeline.Config, f func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newRig(t, qc, cfg)) })
}

var eventKeys struct {
	sync.Mutex
	n int
}

func uniqueKey() string {
	eventKeys.Lock()
	defer eventKeys.Unlock()
	eventKeys.n++
	return fmt.Sprint("key-", eventKeys.n)
}

// event returns an event with a key of its own.
func event(subject string, invalidates ...string) pipeline.Event {
	return pipeline.Event{Key: uniqueKey(), Subject: subject, Invalidates: invalidates}
}

func warming(e pipeline.Event, names ...string) pipeline.Event {
	e.Warms = names
	return e
}

func deleting(e pipeline.Event) pipeline.Event {
	e.Deleted = true
	return e
}

func publish(t testing.TB, q *pipeline.Queue, events ...pipeline.Event) (last uint64) {
	t.Helper()
	for _, e := range events {
		epoch, err := q.Publish(e)
		if err != nil {
			t.Fatal(err)
		}
		last = epoch
	}
	return last
}

func apply(t *testing.T, r *rig, events ...pipeline.Event) {
	t.Helper()
	if err := r.Apply(t.Context(), events...); err != nil {
		t.Fatalf("Apply: %v", err)
	}
}
