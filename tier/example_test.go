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

func (s *shelf) Get(ctx context.Context, key string) ([]byte, error) {
	frame, _ := s.read(key)
	return bytes.Clone(frame), ctx.Err()
}

func (s *shelf) Claim(ctx context.Context, key string, c tier.Claim) (tier.Claimed, error) {
	for ctx.Err() == nil {
		frame, was := s.read(key)
		ch, answer, err := c.Over(frame, time.Now())
		if err != nil || s.swap(key, was, ch) {
			return answer, err
		}
	}
	return tier.Claimed{}, ctx.Err()
}

func (s *shelf) Fill(ctx context.Context, key string, f tier.Fill) (bool, error) {
	for ctx.Err() == nil {
		frame, was := s.read(key)
		ch, answer, err := f.Over(frame)
		if err != nil || s.swap(key, was, ch) {
			return answer, err
		}
	}
	return false, ctx.Err()
}

func (s *shelf) Unlink(ctx context.Context, keys ...string) error {
	for _, key := range keys {
		s.rows.Delete(key)
	}
	return ctx.Err()
}

// A remote tier on your own store. One line of a test checks it with package tiertest:
// tiertest.TestRemote(t, func(*testing.T) tier.Remote { return new(shelf) })
func Example() {
	ctx := context.Background()
	var remote tier.Remote = new(shelf)
	mine, yours := tier.NewNonce(), tier.NewNonce()
	first, _ := remote.Claim(ctx, "k", tier.Claim{Nonce: mine, Lease: time.Second})
	second, _ := remote.Claim(ctx, "k", tier.Claim{Nonce: yours, Lease: time.Second})
	fmt.Println(first.Granted, second.Granted)

	cell := tier.Cell{Nonce: mine, Codec: "raw", Payload: []byte("the value")}
	frame, _ := cell.Encode()
	stored, _ := remote.Fill(ctx, "k", tier.Fill{Nonce: mine, Cell: frame, TTL: time.Minute})
	again, _ := remote.Fill(ctx, "k", tier.Fill{Nonce: yours, Cell: frame, TTL: time.Minute})
	fmt.Println(stored, again)
	// Output:
	// true false
	// true false
}
