package redislog_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/internal/testkit/redistest"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/redislog"
	"github.com/twofold-go/twofold/tier"
)

// storing returns a step that stores a value, and the claim and the fill that it stands for.
func storing(n byte) (*invalidate.Storing, tier.Claim, tier.Fill) {
	c := tier.Claim{Nonce: tier.Nonce{7, n}, Lease: 20 * time.Second}
	f := tier.Fill{Nonce: c.Nonce, Cell: []byte("V" + string(c.Nonce[:]) + "frame"), TTL: time.Minute}
	return &invalidate.Storing{Cell: "c", Claim: tier.LeaseCell(c.Nonce), Lease: c.Lease, Frame: f.Cell, TTL: f.TTL}, c, f
}

// The step is a claim over what the cell holds, then the record, and then a fill, if the record
// directly follows the caller's cursor.
func TestStoringAgreesWithOver(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	d := rand.New(rand.NewPCG(seed, 1))
	r := newRig(t)
	p, other := r.started(1), r.process()
	seen := map[invalidate.Stored]int{}
	for i := range 2000 {
		before := frame(d)
		s, claim, fill := storing(byte(i))
		r.do("DEL", "c")
		if before != nil {
			r.do("SET", "c", before)
		}
		_, claim.Seen = tier.Head(before)
		behind := d.IntN(3) == 0
		if behind {
			other.sync(both(uint64(i)))
		}
		at, a := p.at, both(1)
		a.Scopes = nil
		a.Store = s
		page, err := p.log.Sync(t.Context(), at, a)
		how := page.Stored
		if err != nil {
			t.Fatal(err)
		}
		ch, _, _ := claim.Over(before, time.Now())
		want, left, ttl := invalidate.Claimed, ch.Frame, ch.TTL
		if ch, ok, _ := fill.Over(left); ok && !behind {
			want, left, ttl = invalidate.Filled, ch.Frame, ch.TTL
		}
		got, _ := r.server.Client().Get(t.Context(), "c").Bytes()
		lasts := r.server.Client().PTTL(t.Context(), "c").Val()
		if how != want || !bytes.Equal(got, left) || lasts > ttl || lasts < ttl-10*time.Second {
			t.Fatalf("over %q, behind: %v: %d leaves %q for %v, want %d, %q for %v", before, behind, how, got, lasts, want, left, ttl)
		}
		if how == invalidate.Filled && page.Key != at.Key+1 {
			t.Fatalf("the frame is as of %v, and the record is at %v", at.Key+1, page.Key)
		}
		if page.Key == 0 || page.Key != page.End.Key {
			t.Fatalf("no record at the end: %+v", page)
		}
		seen[how]++
		p.sync(both(2))
	}
	if t.Logf("%v", seen); len(seen) != 2 {
		t.Errorf("only %v: the test shows nothing about the others", seen)
	}
}

// frame returns a frame, garbage, or nil.
func frame(d *rand.Rand) []byte {
	if d.IntN(5) == 0 {
		return nil
	}
	b := make([]byte, 60)
	for i := range b {
		b[i] = byte(d.Uint32())
	}
	b[0] = "VVLLHH?"[d.IntN(7)]
	if d.IntN(6) == 0 {
		clear(b[1:9])
	}
	return b[:[]int{d.IntN(9), 9, 33, 60}[d.IntN(4)]]
}

// A cell of another Redis type is no frame, and is replaced.
func TestStoringReplacesOtherTypes(t *testing.T) {
	r := newRig(t)
	p := r.started(1)
	s, _, f := storing(1)
	r.do("HSET", "c", "a", "b")
	a := both(1)
	a.Scopes = nil
	a.Store = s
	if page, err := p.log.Sync(t.Context(), p.at, a); err != nil || page.Stored != invalidate.Filled {
		t.Errorf("Sync = %d, %v; want the cell to be filled", page.Stored, err)
	}
	if got := r.do("GET", "c"); got != string(f.Cell) {
		t.Errorf("the cell holds %q, want the frame", got)
	}
}

// A server that takes no writes, or has no memory, changes neither the log nor the cell.
func TestStoringRefused(t *testing.T) {
	for name, refuse := range map[string]func(r *rig){
		"a replica": func(r *rig) {
			primary := redistest.Start(r.t)
			r.do("CONFIG", "SET", "replica-read-only", "yes")
			r.do("CONFIG", "SET", "replica-serve-stale-data", "yes")
			r.do("REPLICAOF", "127.0.0.1", primary.Port())
		},
		"no replica to write to": func(r *rig) { r.do("CONFIG", "SET", "min-replicas-to-write", "1") },
		"no memory":              func(r *rig) { r.do("CONFIG", "SET", "maxmemory", "1") },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			p := r.started(1)
			s, _, _ := storing(1)
			r.do("SET", "c", "Vold nonce and the rest")
			refuse(r)
			a := both(1)
			a.Scopes = nil
			a.Store = s
			if page, err := p.log.Sync(t.Context(), p.at, a); err == nil {
				t.Errorf("Sync = %d, want an error", page.Stored)
			}
			if name == "a replica" {
				return // its data are those of the primary soon
			}
			if got, err := r.server.Client().Get(t.Context(), "c").Result(); err != nil || got != "Vold nonce and the rest" {
				t.Errorf("the cell holds %q, %v; want the old frame", got, err)
			}
			if n := r.server.Client().XLen(t.Context(), r.k).Val(); n != 2 {
				t.Errorf("the log has %d records of keys, want the 2 from before", n)
			}
		})
	}
}

// On a Cluster a cell has another slot than the log.
func TestStoringOnCluster(t *testing.T) {
	l := newLog(t, closed(t, redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}})), redislog.Config{Prefix: "p"})
	s, _, _ := storing(1)
	for _, a := range []invalidate.Append{{Store: s}, {Remove: []string{"c"}}} {
		if _, err := l.Sync(t.Context(), invalidate.Cursor{}, a); !errors.Is(err, redislog.ErrAppend) {
			t.Errorf("Sync with a cell on a cluster = %v, want %v", err, redislog.ErrAppend)
		}
	}
	if got := l.Server(); got != "" {
		t.Errorf("Server of a cluster = %q, want none", got)
	}
}
