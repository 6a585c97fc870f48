package tier_test

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twofold-go/twofold/tier"
)

// shelf is a complete remote tier. Its sync.Map stands for any store that can read a row and
// replace it if it has not changed, such as a table whose rows have a version.
type shelf struct{ rows sync.Map }

type row struct {
	frame []byte
	ends  time.Time
}

// read returns the frame under key, and the row that swap compares.
func (s *shelf) read(key string) (frame []byte, was any) {
	was, _ = s.rows.Load(key)
	if r, ok := was.(*row); ok && time.Now().Before(r.ends) {
		return r.frame, was
	}
	return nil, was
}

// swap makes a change if was is still there.
func (s *shelf) swap(key string, was any, ch tier.Change) bool {
	next := &row{frame: ch.Frame}
	switch ch.Act {
	case tier.ActKeep:
		return true
	case tier.ActDrop:
		return s.rows.CompareAndDelete(key, was)
	case tier.ActPut:
		next.ends = time.Now().Add(ch.TTL)
	case tier.ActPatch:
		next.ends = was.(*row).ends
	}
	if was == nil {
		_, taken := s.rows.LoadOrStore(key, next)
		return !taken
	}
	return s.rows.CompareAndSwap(key, was, next)
}

// each swaps in what decide makes of the frame under each key. The last decision is the one that counts.
func (s *shelf) each(ctx context.Context, keys []string, decide func(i int, frame []byte) (tier.Change, error)) error {
	for i, key := range keys {
		if err := ctx.Err(); err != nil {
			return err
		}
		for done := false; !done; {
			frame, was := s.read(key)
			ch, err := decide(i, frame)
			if err != nil {
				return err
			}
			done = s.swap(key, was, ch)
		}
	}
	return nil
}

func (s *shelf) Get(ctx context.Context, keys []string, frames [][]byte) error {
	return s.each(ctx, keys, func(i int, frame []byte) (ch tier.Change, err error) {
		frames[i] = bytes.Clone(frame)
		return ch, nil
	})
}

func (s *shelf) Claim(ctx context.Context, keys []string, claims []tier.Claim, answers []tier.Claimed) error {
	return s.each(ctx, keys, func(i int, frame []byte) (ch tier.Change, err error) {
		ch, answers[i], err = claims[i].Over(frame, time.Now())
		return ch, err
	})
}

func (s *shelf) Fill(ctx context.Context, keys []string, fills []tier.Fill, stored []bool) error {
	return s.each(ctx, keys, func(i int, frame []byte) (ch tier.Change, err error) {
		ch, stored[i], err = fills[i].Over(frame)
		return ch, err
	})
}

func (s *shelf) Remove(ctx context.Context, keys []string) error {
	for _, key := range keys {
		s.rows.Delete(key)
	}
	return ctx.Err()
}

func (s *shelf) Validate() error { return nil }

func (s *shelf) Describe(tier.Remote) tier.Description {
	return tier.Description{Name: "shelf", Looks: true} // see Claim.Over
}

// A remote tier on your own store. One line of a test checks it with package tiertest:
// tiertest.TestRemote(t, func(*testing.T) tier.Remote { return new(shelf) })
func Example() {
	ctx := context.Background()
	var remote tier.Remote = new(shelf)
	mine, yours := tier.NewNonce(), tier.NewNonce()
	keys, got := []string{"k", "k"}, make([]tier.Claimed, 2)
	_ = remote.Claim(ctx, keys, []tier.Claim{{Nonce: mine, Lease: time.Second}, {Nonce: yours, Lease: time.Second}}, got)
	fmt.Println(got[0].Granted, got[1].Granted)

	cell := tier.Cell{Nonce: mine, Codec: "raw", Payload: []byte("the value")}
	frame, _ := cell.Encode()
	stored := make([]bool, 2)
	_ = remote.Fill(ctx, keys, []tier.Fill{{Nonce: mine, Cell: frame, TTL: time.Minute}, {Nonce: yours, Cell: frame, TTL: time.Minute}}, stored)
	fmt.Println(stored[0], stored[1])
	// Output:
	// true false
	// true false
}
