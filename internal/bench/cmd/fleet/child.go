package main

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/bench/measure"
	"github.com/twofold-go/twofold/internal/bench/peers"
	"github.com/twofold-go/twofold/internal/bench/proc"
	"github.com/twofold-go/twofold/internal/bench/setup"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
)

const (
	childEnv = "TWOFOLD_FLEET_CHILD"  // holds a post, in the environment of a child
	grace    = 500 * time.Millisecond // for records that are under way at the end of a cell
	samples  = 250                    // approximate number of timed invalidations a second
	maxCalls = 2000                   // calls of Invalidate under way at a time
	byKey    = "key"                  // a kind of invalidation
	byTag    = "tag"                  // the other one
)

// post describes a child: members of a fleet in one process.
type post struct {
	Redis, Prefix  string
	Bound          time.Duration
	Members, Timed int  // the first Timed members note when a sample arrives
	Writes         bool // they invalidate
}

// order is the next task of a child. Times are of the clock that processes share.
type order struct {
	Kind       string
	Rate       int
	Start, End int64 // of the measurement; writers begin before
}

// deed is the result of an order.
type deed struct {
	CPU  time.Duration
	Sent int                // invalidations
	Seen []map[uint64]int64 // by member and hash: when a sample was invalidated, or received
}

// squad is the members in one process. Each has its own connections, tiers and follower.
type squad struct {
	members []*peers.TwofoldPeer
	sent    atomic.Int64

	mu    sync.Mutex // protects the rest
	seen  []map[uint64]int64
	every uint64 // one hash in this many is a sample
}

// child obeys orders until its input ends.
func child() error {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // some rates exceed the capacity on purpose
	t := setup.New(context.Background())
	defer t.Close()
	return setup.Try(func() {
		p := proc.Task[post](childEnv)
		var s squad
		s.open(t, p)
		proc.Obey(func(o order) deed { return s.obey(p, o) })
	})
}

func (s *squad) open(t *setup.T, p post) {
	s.begin(p, order{})
	base, now := time.Now(), proc.Now()
	for i := range p.Members {
		m := peers.NewTwofold(peers.Options{Entries: 1000, Redis: p.Redis, Prefix: p.Prefix}, peers.Twofold{Log: true, Bound: p.Bound})
		t.Cleanup(m.Close)
		s.members = append(s.members, m)
		if i < p.Timed && !p.Writes {
			m.Tiers.OnInvalidate(func(e invalidate.Event) {
				for _, f := range e.Fences {
					s.note(i, f.Scope.Hash(), now+int64(e.At.Sub(base)))
				}
			})
		}
	}
}

// begin forgets the notes of the last order.
func (s *squad) begin(p post, o order) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.every, s.seen = uint64(max(1, o.Rate/samples)), make([]map[uint64]int64, p.Timed)
	for i := range s.seen {
		s.seen[i] = map[uint64]int64{}
	}
}

// note records when a sample was invalidated, or when a member received it.
func (s *squad) note(member int, hash uint64, at int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if hash%s.every == 0 {
		s.seen[member][hash] = at
	}
}

func (s *squad) obey(p post, o order) (d deed) {
	s.begin(p, o)
	var writer errgroup.Group
	if p.Writes && o.Rate > 0 {
		writer.Go(func() error { return s.write(o) })
	}
	proc.SleepUntil(o.Start)
	cpu, sent := measure.CPU(), s.sent.Load()
	proc.SleepUntil(o.End)
	d.CPU, d.Sent = measure.CPU()-cpu, int(s.sent.Load()-sent)
	setup.Check(writer.Wait())
	if o.End > 0 { // not only asked whether it is ready
		proc.SleepUntil(o.End + int64(grace))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d.Seen = s.seen
	return d
}

// write invalidates at a rate that does not depend on the duration of the calls. If maxCalls calls
// are under way, further calls are left out.
func (s *squad) write(o order) error {
	begun := proc.Now()
	var calls errgroup.Group
	calls.SetLimit(maxCalls)
	for i := int64(0); proc.Now() < o.End; {
		for due := (proc.Now() - begun) * int64(o.Rate) / int64(time.Second); i < due; i++ {
			member, scope := s.members[int(i)%len(s.members)], scopeOf(o.Kind, o.Start+i)
			calls.TryGo(func() error { return s.call(member, scope) })
		}
		time.Sleep(time.Millisecond)
	}
	return calls.Wait()
}

// call makes one invalidation. A call that the log does not accept in time is not an error here.
func (s *squad) call(member *peers.TwofoldPeer, scope invalidate.Scope) error {
	s.note(0, scope.Hash(), proc.Now())
	err := member.Tiers.Invalidate(context.Background(), scope)
	if _, late := errors.AsType[*invalidate.PendingError](err); late {
		err = nil
	}
	s.sent.Add(1)
	return err
}

func scopeOf(kind string, id int64) invalidate.Scope {
	text := setup.Must(key.Of(id)) // every integer has a key
	if kind == byTag {
		return invalidate.Tag(cache.DefaultTenant, text)
	}
	return invalidate.Key(setup.Must(key.Space{Tenant: cache.DefaultTenant, Namespace: "fleet"}.Key(text)))
}
