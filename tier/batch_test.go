package tier_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/tier"
)

// scripted is a remote tier that answers by key and records its calls. Keys that start with "bad"
// fail.
type scripted struct{ calls []string }

var errBad = errors.New("bad key")

func (s *scripted) call(op, key string) error {
	s.calls = append(s.calls, op+" "+key)
	if len(key) >= 3 && key[:3] == "bad" {
		return errBad
	}
	return nil
}

func (s *scripted) Get(_ context.Context, key string) ([]byte, error) {
	return []byte("frame of " + key), s.call("get", key)
}

func (s *scripted) Claim(_ context.Context, key string, c tier.Claim) (tier.Claimed, error) {
	return tier.Claimed{Granted: c.Refresh, Cell: []byte(key)}, s.call("claim", key)
}

func (s *scripted) Fill(_ context.Context, key string, f tier.Fill) (bool, error) {
	return f.TTL > 0, s.call("fill", key)
}

func (s *scripted) Unlink(context.Context, ...string) error { return nil }

// batching is a scripted tier with batch methods.
type batching struct{ scripted }

func (b *batching) GetMany(_ context.Context, keys []string) ([][]byte, error) {
	return make([][]byte, len(keys)), b.call("get many", keys[0])
}

func (b *batching) ClaimMany(_ context.Context, keys []string, _ []tier.Claim) ([]tier.Claimed, error) {
	return make([]tier.Claimed, len(keys)), b.call("claim many", keys[0])
}

func (b *batching) FillMany(_ context.Context, keys []string, _ []tier.Fill) ([]bool, error) {
	return make([]bool, len(keys)), b.call("fill many", keys[0])
}

var (
	batchKeys   = []string{"a", "bad", "c"}
	batchClaims = []tier.Claim{{}, {}, {Refresh: true}}
	batchFills  = []tier.Fill{{TTL: time.Second}, {TTL: time.Second}, {}}
)

func TestBatchFallsBack(t *testing.T) {
	s := &scripted{}
	frames, err := tier.GetMany(t.Context(), s, batchKeys)
	wantBatch(t, "GetMany", frames, [][]byte{[]byte("frame of a"), nil, []byte("frame of c")}, err)
	claimed, err := tier.ClaimMany(t.Context(), s, batchKeys, batchClaims)
	wantBatch(t, "ClaimMany", claimed, []tier.Claimed{{Cell: []byte("a")}, {}, {Granted: true, Cell: []byte("c")}}, err)
	filled, err := tier.FillMany(t.Context(), s, batchKeys, batchFills)
	wantBatch(t, "FillMany", filled, []bool{true, false, false}, err)

	want := []string{
		"get a", "get bad", "get c", "claim a", "claim bad", "claim c", "fill a", "fill bad", "fill c",
	}
	if diff := cmp.Diff(want, s.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func wantBatch[T any](t *testing.T, op string, got, want []T, err error) {
	t.Helper()
	if !errors.Is(err, errBad) {
		t.Errorf("%s = %v, want %v", op, err, errBad)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", op, diff)
	}
}

func TestBatchUsesBatcher(t *testing.T) {
	b := &batching{}
	keys := []string{"a", "b"}
	if _, err := tier.GetMany(t.Context(), b, keys); err != nil {
		t.Errorf("GetMany = %v", err)
	}
	if _, err := tier.ClaimMany(t.Context(), b, keys, make([]tier.Claim, 2)); err != nil {
		t.Errorf("ClaimMany = %v", err)
	}
	if _, err := tier.FillMany(t.Context(), b, keys, make([]tier.Fill, 2)); err != nil {
		t.Errorf("FillMany = %v", err)
	}
	if diff := cmp.Diff([]string{"get many a", "claim many a", "fill many a"}, b.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// short is a Batcher that returns fewer or more answers than keys.
type short struct {
	scripted
	off int
	err error
}

func (s *short) GetMany(_ context.Context, keys []string) ([][]byte, error) {
	return make([][]byte, max(len(keys)+s.off, 0)), s.err
}

func (s *short) ClaimMany(_ context.Context, keys []string, _ []tier.Claim) ([]tier.Claimed, error) {
	out := make([]tier.Claimed, max(len(keys)+s.off, 0))
	for i := range out {
		out[i].Granted = true
	}
	return out, s.err
}

func (s *short) FillMany(_ context.Context, keys []string, _ []tier.Fill) ([]bool, error) {
	out := make([]bool, max(len(keys)+s.off, 0))
	for i := range out {
		out[i] = true
	}
	return out, s.err
}

// A Batcher that does not return one answer for each key has answered nothing, because its
// answers cannot be matched with keys.
func TestBatcherOfWrongLength(t *testing.T) {
	for _, tt := range []struct {
		name string
		off  int
		err  error
		said bool // the error is an AnswersError
	}{
		{name: "one too few", off: -1, said: true},
		{name: "none", off: -3, said: true},
		{name: "one too many", off: 1, said: true},
		{name: "none, with an error", off: -3, err: errBad},
		{name: "one too few, with an error", off: -1, err: errBad, said: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &short{off: tt.off, err: tt.err}
			frames, err := tier.GetMany(t.Context(), s, batchKeys)
			wantNone(t, "GetMany", frames, make([][]byte, 3), err, tt.err, tt.said, 3+tt.off)
			claimed, err := tier.ClaimMany(t.Context(), s, batchKeys, batchClaims)
			wantNone(t, "ClaimMany", claimed, make([]tier.Claimed, 3), err, tt.err, tt.said, 3+tt.off)
			filled, err := tier.FillMany(t.Context(), s, batchKeys, batchFills)
			wantNone(t, "FillMany", filled, make([]bool, 3), err, tt.err, tt.said, 3+tt.off)
		})
	}
}

func wantNone[T any](t *testing.T, op string, got, want []T, err, is error, said bool, answers int) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", op, diff)
	}
	if is != nil && !errors.Is(err, is) {
		t.Errorf("%s = %v, want one that is %v", op, err, is)
	}
	ae, ok := errors.AsType[*tier.AnswersError](err)
	if ok != said {
		t.Errorf("%s = %v, want an AnswersError: %v", op, err, said)
	}
	if ok && *ae != (tier.AnswersError{Op: op, Keys: 3, Answers: answers}) {
		t.Errorf("%s = %+v, want %d answers to 3 keys", op, *ae, answers)
	}
}

func TestBatchOfNothing(t *testing.T) {
	got, err := tier.GetMany(t.Context(), &scripted{}, nil)
	if len(got) != 0 || err != nil {
		t.Errorf("GetMany of no keys = %v, %v; want nothing", got, err)
	}
}

func TestEvictReasonString(t *testing.T) {
	for r, want := range map[tier.EvictReason]string{
		tier.Evicted: "evicted", tier.Rejected: "rejected", tier.Replaced: "replaced", tier.Deleted: "deleted",
		tier.Expired: "expired", tier.Closed: "closed", 0: "unknown",
	} {
		if got := r.String(); got != want {
			t.Errorf("EvictReason(%d).String() = %q, want %q", r, got, want)
		}
	}
}
