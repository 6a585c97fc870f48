package redistier_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/internal/testkit/redistest"
	"github.com/twofold-go/twofold/internal/testkit/tiercall"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/redistier"
)

// The scripts implement Claim.Over and Fill.Over in Lua. This test lets both decide about the
// same frames, of cells and of garbage. Half of the calls are batches: their other keys, of
// other types too, change nothing.
func TestScriptsAgreeWithOver(t *testing.T) {
	seed := rand.Uint64()
	if s, err := strconv.ParseUint(os.Getenv("TWOFOLD_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Logf("repeat with TWOFOLD_SEED=%d", seed)
	rdb := redistest.Start(t).Client()
	d := &draw{rand.New(rand.NewPCG(seed, 1))}
	s := &stage{T: t, rdb: rdb, prefix: redistest.Prefix()}
	r := redistier.New(rdb, redistier.Config{Prefix: s.prefix})
	others, other := []string{"j", "k", "l"}, tier.Claim{Nonce: tier.Nonce{7}, Lease: hour}
	acts := map[tier.Act]int{}
	for range 5000 {
		frame := d.frame()
		if d.IntN(3) > 0 {
			c := tier.Claim{Seen: d.nonce(), Nonce: d.nonce(), Lease: d.lifetime(), Refresh: d.IntN(2) > 0}
			var got tier.Claimed
			var err error
			after := s.play(frame, func() {
				if d.IntN(2) > 0 {
					got, err = tiercall.Claim(t.Context(), r, "k", c)
					return
				}
				var many []tier.Claimed
				many, err = tiercall.ClaimMany(t.Context(), r, others, []tier.Claim{other, c, other})
				got = many[1]
			})
			acts[s.check(frame, after, c, func(now time.Time) (tier.Change, bool) {
				ch, want, fails := c.Over(frame, now)
				return ch, got.Granted == want.Granted && bytes.Equal(got.Cell, want.Cell) && errors.Is(err, fails)
			})]++
			continue
		}
		f := tier.Fill{Nonce: d.nonce(), TTL: d.lifetime()}
		if d.IntN(2) > 0 {
			f.Cell = d.frame()
		}
		var got bool
		var err error
		after := s.play(frame, func() {
			if d.IntN(2) > 0 {
				got, err = tiercall.Fill(t.Context(), r, "k", f)
				return
			}
			var many []bool
			many, err = tiercall.FillMany(t.Context(), r, others, []tier.Fill{{Nonce: other.Nonce, Cell: []byte("x")}, f, {Nonce: other.Nonce}})
			got = many[1]
		})
		acts[s.check(frame, after, f, func(time.Time) (tier.Change, bool) {
			ch, want, fails := f.Over(frame)
			return ch, got == want && errors.Is(err, fails)
		})]++
	}
	t.Logf("changes by kind: %v", acts)
	for _, act := range []tier.Act{tier.ActKeep, tier.ActPut, tier.ActPatch, tier.ActDrop} {
		if acts[act] < 20 {
			t.Errorf("only %d changes were of kind %d", acts[act], act)
		}
	}
}

// stage is one key in Redis.
type stage struct {
	*testing.T
	rdb    *redis.Client
	prefix string
}

// stand is the frame under the key after a call, and the server's time before and after the call.
type stand struct {
	frame      []byte
	ttl        time.Duration
	begun, end time.Time
}

const hour = time.Hour

// play puts frame under the key for an hour, makes the call, and reads the result.
func (s *stage) play(frame []byte, call func()) stand {
	s.Helper()
	var begun, end *redis.TimeCmd
	var got *redis.StringCmd
	var ttl *redis.DurationCmd
	key := s.prefix + ":v:k"
	s.pipelined(func(p redis.Pipeliner) {
		begun = p.Time(s.Context())
		if p.Del(s.Context(), key); frame != nil {
			p.Set(s.Context(), key, frame, hour)
		}
	})
	call()
	s.pipelined(func(p redis.Pipeliner) {
		got, ttl, end = p.Get(s.Context(), key), p.PTTL(s.Context(), key), p.Time(s.Context())
	})
	after := stand{ttl: ttl.Val(), begun: begun.Val(), end: end.Val()}
	if got.Err() == nil {
		after.frame, _ = got.Bytes()
	}
	return after
}

func (s *stage) pipelined(fill func(p redis.Pipeliner)) {
	s.Helper()
	_, err := s.rdb.Pipelined(context.Background(), func(p redis.Pipeliner) error { fill(p); return nil })
	if err != nil && !errors.Is(err, redis.Nil) {
		s.Fatal(err)
	}
}

// check fails unless Over does the same at some moment of the server's clock during the call. It
// returns the act of Over.
func (s *stage) check(before []byte, after stand, asked any, over func(now time.Time) (ch tier.Change, same bool)) tier.Act {
	s.Helper()
	from, to := after.begun.UnixMilli(), after.end.UnixMilli()
	for ms := from; ms <= to; ms++ {
		ch, same := over(time.UnixMilli(ms))
		if same && after.agrees(before, ch, time.Duration(to-from)*time.Millisecond) {
			return ch.Act
		}
	}
	ch, same := over(after.begun)
	s.Fatalf("frame %q, %+v:\nthe script leaves %q for %v,\nOver says    %+v (answers agree: %v)", before, asked, after.frame, after.ttl, ch, same)
	return 0
}

// agrees reports whether ch turns before into the current frame, made no longer than took ago.
func (a stand) agrees(before []byte, ch tier.Change, took time.Duration) bool {
	want, ttl := before, hour
	switch ch.Act {
	case tier.ActPut:
		want, ttl = ch.Frame, ch.TTL
	case tier.ActPatch:
		want = ch.Frame
	case tier.ActDrop:
		want = nil
	case tier.ActKeep:
	}
	if a.frame == nil {
		return want == nil || ttl <= took
	}
	return want != nil && bytes.Equal(a.frame, want) && a.ttl <= ttl && a.ttl >= ttl-took
}

// draw makes frames, claims and fills that often share nonces.
type draw struct{ *rand.Rand }

func pick[T any](d *draw, of ...T) T { return of[d.IntN(len(of))] }

func (d *draw) nonce() tier.Nonce {
	one := tier.Nonce{1, 2, 3}
	return pick(d, one, one, one, tier.Nonce{0, 0, 0, 0, 0, 0, 0, 1}, tier.Nonce{'\r', '\n', 255}, tier.Nonce{})
}

func (d *draw) lifetime() time.Duration {
	return pick(d, -time.Second, 0, 1, time.Millisecond, 20*time.Second, 20*time.Second+1, 20*time.Second-1, 20*time.Second+time.Millisecond,
		20*time.Second+999_999, 100*365*24*hour)
}

func (d *draw) refreshUntil() int64 {
	now := time.Now().UnixMilli()
	return pick(d, 0, 0, now-hour.Milliseconds(), now+hour.Milliseconds(), now-1, now, now+1, now+2,
		-1, 1, math.MinInt64, math.MaxInt64, 1<<53+1, -1<<53-1, int64(d.Uint64()))
}

func (d *draw) frame() []byte {
	if d.IntN(8) == 0 {
		return nil
	}
	n := d.nonce()
	whole := make([]byte, 80)
	for i := range whole {
		whole[i] = byte(d.Uint32())
	}
	whole[0] = pick(d, byte(tier.KindValue), byte(tier.KindValue), byte(tier.KindValue), byte(tier.KindLease), byte(tier.KindLease), '?', 0)
	copy(whole[1:], n[:])
	binary.BigEndian.PutUint64(whole[tier.RefreshAt:], uint64(d.refreshUntil()))
	return whole[:pick(d, d.IntN(9), 9, 9, 10, tier.HeaderSize-1, tier.HeaderSize, tier.HeaderSize+1, len(whole), len(whole))]
}
