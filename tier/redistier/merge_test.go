package redistier_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/internal/testkit/tiercall"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/tier/redistier"
)

// lanes is how many messages run before reads gather.
const lanes = 4

// held is a server that answers every GET with its key, and every MGET with its keys, when the
// test allows it. It replaces the network, so the test can run in a bubble.
type held struct {
	mu      sync.Mutex // protects the fields below
	arrived []arrival

	panics bool // panics instead of answering an MGET
}

// arrival is a message that arrived and waits for its answer.
type arrival struct {
	ctx    context.Context //nolint:containedctx // the tests check the context of the message
	keys   int             // in the message
	answer chan struct{}   // closed by the answer
}

func (h *held) DialHook(redis.DialHook) redis.DialHook {
	return func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("dialed") }
}

func (h *held) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := h.reply(ctx, cmd)
		if h.panics && cmd.Name() == "mget" {
			panic("a nonsensical reply")
		}
		return err
	}
}

func (h *held) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(context.Context, []redis.Cmder) error { return errors.New("a pipeline") }
}

func (h *held) reply(ctx context.Context, cmd redis.Cmder) error {
	a := arrival{ctx, len(cmd.Args()) - 1, make(chan struct{})}
	h.mu.Lock()
	h.arrived = append(h.arrived, a)
	h.mu.Unlock()
	select {
	case <-a.answer:
	case <-ctx.Done():
		cmd.SetErr(ctx.Err())
		return ctx.Err()
	}
	var vals []any
	for _, key := range cmd.Args()[1:] {
		vals = append(vals, strings.TrimPrefix(key.(string), "p:v:"))
	}
	switch cmd := cmd.(type) {
	case *redis.StringCmd:
		cmd.SetVal(vals[0].(string))
	case *redis.SliceCmd:
		cmd.SetVal(vals)
	}
	return nil
}

// waiting returns how many keys each unanswered message has.
func (h *held) waiting() (keys []int) {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, a := range h.arrived {
		keys = append(keys, a.keys)
	}
	return keys
}

// answer answers the first message that waits.
func (h *held) answer() arrival {
	h.mu.Lock()
	a := h.arrived[0]
	h.arrived = h.arrived[1:]
	h.mu.Unlock()
	close(a.answer)
	synctest.Wait()
	return a
}

func (h *held) answerAll() {
	for len(h.waiting()) > 0 {
		h.answer()
	}
}

// readers are calls of Get, some of which may not have returned.
type readers struct {
	t    *testing.T
	tier *redistier.Tier
	mu   sync.Mutex // protects back
	back map[string]error
}

func (r *readers) get(ctx context.Context, keys ...string) {
	for _, key := range keys {
		go func() {
			frame, err := tiercall.Get(ctx, r.tier, key)
			if err == nil && string(frame) != key {
				err = fmt.Errorf("got %q", frame)
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			r.back[key] = err
		}()
		synctest.Wait()
	}
}

// want checks which calls have returned, and with which errors.
func (r *readers) want(err error, keys ...string) {
	r.t.Helper()
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range keys {
		if got, ok := r.back[key]; !ok || !errors.Is(got, err) {
			r.t.Errorf("Get of %s: returned %v, %v; want %v", key, ok, got, err)
		}
		delete(r.back, key)
	}
	for key, err := range r.back {
		r.t.Errorf("Get of %s returned: %v", key, err)
	}
}

// withHeld runs a test that decides when its reads are answered.
func withHeld(t *testing.T, f func(t *testing.T, h *held, r *readers)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &held{}
		rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", ContextTimeoutEnabled: true, Dialer: func(context.Context, string, string) (net.Conn, error) { panic("dialed") }})
		rdb.AddHook(h)
		f(t, h, &readers{t: t, tier: redistier.New(rdb, redistier.Config{Prefix: "p"}), back: map[string]error{}})
		h.answerAll()
		if err := rdb.Close(); err != nil {
			t.Error(err)
		}
	})
}

func names(prefix string, n int) (keys []string) {
	for i := range n {
		keys = append(keys, fmt.Sprint(prefix, i))
	}
	return keys
}

func wantInts(t *testing.T, what string, got []int, want ...int) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// TestReadsLeaveTogether: few reads are sent immediately. Later reads leave in one message when an
// earlier message has returned, and each gets its own answer.
func TestReadsLeaveTogether(t *testing.T) {
	withHeld(t, func(t *testing.T, h *held, r *readers) {
		first, more := names("first", lanes), names("more", 10)
		r.get(t.Context(), first...)
		r.get(t.Context(), more...)
		wantInts(t, "under way", h.waiting(), 1, 1, 1, 1)
		h.answer()
		r.want(nil, first[0])
		wantInts(t, "under way", h.waiting(), 1, 1, 1, 10)
		r.get(t.Context(), "late1", "late2")
		h.answer()
		wantInts(t, "under way", h.waiting(), 1, 1, 10, 2)
		h.answer()
		h.answer()
		h.answer() // answers the ten
		r.want(nil, append(more, first[1:]...)...)
		r.get(t.Context(), "alone") // lanes are free again
		wantInts(t, "under way", h.waiting(), 2, 1)
		h.answerAll()
		r.want(nil, "late1", "late2", "alone")
		r.get(t.Context(), names("again", lanes+1)...)
		wantInts(t, "under way", h.waiting(), 1, 1, 1, 1)
		h.answerAll()
		r.want(nil, names("again", lanes+1)...)
	})
}

// TestReadsAreSentBefore: a batch that is full, or that has gathered for long, does not wait for
// a lane. It takes an extra lane and returns it.
func TestReadsAreSentBefore(t *testing.T) {
	for name, tt := range map[string]struct {
		wait time.Duration
		more int
		want []int
	}{
		"full":     {0, 64, []int{1, 1, 1, 1, 64}},
		"not full": {0, 63, []int{1, 1, 1, 1}},
		"late":     {2 * time.Millisecond, 2, []int{1, 1, 1, 1, 2}},
		"in time":  {0, 2, []int{1, 1, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			withHeld(t, func(t *testing.T, h *held, r *readers) {
				all := append(names("first", lanes), names("more", tt.more)...)
				r.get(t.Context(), all[:len(all)-1]...)
				<-time.After(tt.wait)
				r.get(t.Context(), all[len(all)-1])
				wantInts(t, "under way", h.waiting(), tt.want...)
				h.answerAll()
				r.want(nil, all...)
				all = names("again", lanes+1)
				r.get(t.Context(), all...)
				wantInts(t, "under way", h.waiting(), 1, 1, 1, 1)
				h.answerAll()
				r.want(nil, all...)
			})
		})
	}
}

// TestLanesAreFew: a lane that was opened for one batch ends with it, even when other reads wait.
func TestLanesAreFew(t *testing.T) {
	withHeld(t, func(t *testing.T, h *held, r *readers) {
		all := append(names("first", lanes), names("full", 64)...)
		r.get(t.Context(), all...)
		r.get(t.Context(), "next")
		for range lanes {
			h.arrived = append(h.arrived[1:], h.arrived[0]) // the full one first
		}
		h.answer()
		r.want(nil, all[lanes:]...)
		wantInts(t, "under way", h.waiting(), 1, 1, 1, 1)
		h.answerAll()
		r.want(nil, append(all[:lanes], "next")...)
	})
}

// TestReadersLeave: a caller that waits in a batch returns when its ctx ends. The other callers
// are not affected, and the keys of callers that left are not requested.
func TestReadersLeave(t *testing.T) {
	withHeld(t, func(t *testing.T, h *held, r *readers) {
		first := names("first", lanes)
		r.get(t.Context(), first...)
		gone, cancel := context.WithCancel(t.Context())
		short, stop := context.WithTimeout(context.WithValue(t.Context(), name{}, "short"), time.Second)
		defer stop()
		long, end := context.WithTimeout(t.Context(), 3*time.Second)
		defer end()
		r.get(gone, "gone")
		r.get(short, "short")
		r.get(long, "long")
		cancel()
		r.want(context.Canceled, "gone")
		h.answer()
		r.want(nil, first[0])
		wantInts(t, "under way", h.waiting(), 1, 1, 1, 2)
		sent := h.arrived[3].ctx
		if got, _ := sent.Deadline(); !got.Equal(deadlineOf(long)) || sent.Value(name{}) != "short" {
			t.Errorf("sent for %v until %v, want the first and %v, the last deadline", sent.Value(name{}), got, deadlineOf(long))
		}
		<-time.After(2 * time.Second)
		r.want(context.DeadlineExceeded, "short")
		h.answerAll()
		r.want(nil, "long", first[1], first[2], first[3])
	})
}

type name struct{}

func deadlineOf(ctx context.Context) time.Time {
	d, _ := ctx.Deadline()
	return d
}

// TestReadWithoutDeadline: a read without a deadline gives the batch no deadline.
func TestReadWithoutDeadline(t *testing.T) {
	withHeld(t, func(t *testing.T, h *held, r *readers) {
		first := names("first", lanes)
		r.get(t.Context(), first...)
		short, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		r.get(short, "short")
		r.get(t.Context(), "patient")
		h.answer()
		r.want(nil, first[0])
		<-time.After(time.Hour)
		r.want(context.DeadlineExceeded, "short")
		wantInts(t, "under way", h.waiting(), 1, 1, 1, 2)
		h.answerAll()
		r.want(nil, "patient", first[1], first[2], first[3])
	})
}

// TestReadersAllLeft: a batch whose callers have all left is not sent, and its lane is free.
func TestReadersAllLeft(t *testing.T) {
	withHeld(t, func(t *testing.T, h *held, r *readers) {
		first := names("first", lanes)
		r.get(t.Context(), first...)
		gone, cancel := context.WithCancel(t.Context())
		r.get(gone, "gone1", "gone2")
		cancel()
		r.want(context.Canceled, "gone1", "gone2")
		h.answer()
		r.want(nil, first[0])
		wantInts(t, "under way", h.waiting(), 1, 1, 1)
		r.get(t.Context(), "next")
		wantInts(t, "under way", h.waiting(), 1, 1, 1, 1)
		h.answerAll()
		r.want(nil, "next", first[1], first[2], first[3])
	})
}

// TestBatchPanics: garbage in a reply fails only the callers of that reply.
func TestBatchPanics(t *testing.T) {
	withHeld(t, func(t *testing.T, h *held, r *readers) {
		first := names("first", lanes)
		r.get(t.Context(), first...)
		r.get(t.Context(), "a", "b")
		h.panics = true
		h.answer()
		r.want(nil, first[0])
		for range lanes - 1 {
			h.answer()
		}
		r.want(nil, first[1], first[2], first[3])
		h.answer()
		r.want(redistier.ErrReply, "a", "b")
		r.get(t.Context(), "next")
		h.answerAll()
		r.want(nil, "next")
	})
}
