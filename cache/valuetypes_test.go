package cache_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/internal/race"
	"github.com/twofold-go/twofold/internal/trip"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier/tiertest"
)

type (
	hooks struct {
		Name   string
		OnDone func()
	}
	inside struct {
		Parts []int
		Hooks hooks
	}
	private struct {
		Name   string
		onDone func()
	}
	excluded struct {
		Name   string
		onDone func() `json:"-"`
	}
	skipped struct {
		Name string
		Skip func() `json:"-"`
	}
	itself struct {
		Next *itself
		Done func()
	}
	own struct{ Done func() }
)

func (own) MarshalJSON() ([]byte, error)  { return []byte("1"), nil }
func (*own) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, new(int)) }

func newWith[V any](t *testing.T, c codec.Codec, cfg cache.TiersConfig) error {
	t.Helper()
	_, err := cache.New(open(t, cfg), cache.Config[int, V]{Namespace: "n", Codec: c})
	return err
}

// With a remote tier, New refuses value types that its codec cannot restore.
func TestNewRefusesWhatIsLost(t *testing.T) {
	_, _ = private{}.onDone, excluded{}.onDone
	remote := func() cache.TiersConfig { return cache.TiersConfig{Remote: tiertest.NewMemory()} }
	for name, tt := range map[string]struct {
		err  error
		text string
	}{
		"raw int":             {newWith[int](t, codec.Raw, remote()), "int"},
		"raw struct":          {newWith[own](t, codec.Raw, remote()), "own"},
		"snappy of raw":       {newWith[int](t, codec.Snappy(codec.Raw, 1<<20), remote()), "int"},
		"limit":               {newWith[int](t, codec.Limit(codec.Raw, 1<<20), remote()), "int"},
		"func":                {newWith[func()](t, nil, remote()), "func()"},
		"channels":            {newWith[[]chan int](t, nil, remote()), "chan int"},
		"a field":             {newWith[hooks](t, nil, remote()), "hooks.OnDone"},
		"a field, CBOR":       {newWith[hooks](t, codec.CBOR, remote()), "hooks.OnDone"},
		"a field's field":     {newWith[inside](t, nil, remote()), "inside.Hooks.OnDone"},
		"behind a pointer":    {newWith[*hooks](t, nil, remote()), "hooks.OnDone"},
		"behind a map":        {newWith[map[string][]*hooks](t, nil, remote()), "hooks.OnDone"},
		"recursive":           {newWith[itself](t, nil, remote()), "itself.Done"},
		"key of a map":        {newWith[map[[2]int]string](t, nil, remote()), "codec.CBOR"},
		"an excluded field":   {newWith[skipped](t, nil, remote()), "skipped.Skip"},
		"an unexported field": {newWith[private](t, nil, remote()), "private.onDone"},
		"an interface":        {newWith[[]any](t, nil, remote()), "is an interface"},
		"unexported, CBOR":    {newWith[*private](t, codec.CBOR, remote()), "private.onDone"},
	} {
		if tt.err == nil || !strings.Contains(tt.err.Error(), tt.text) || !errors.Is(tt.err, codec.ErrType) || !strings.Contains(tt.err.Error(), "codec.Lossy") {
			t.Errorf("New of %s = %v, want an error about %s", name, tt.err, tt.text)
		}
	}
	for name, err := range map[string]error{
		"raw bytes":          newWith[[]byte](t, codec.Raw, remote()),
		"raw string":         newWith[string](t, codec.Raw, remote()),
		"excluded":           newWith[excluded](t, nil, remote()),
		"marshals itself":    newWith[own](t, nil, remote()),
		"lossy":              newWith[private](t, codec.Lossy(codec.JSON), remote()),
		"lossy any":          newWith[any](t, codec.Lossy(codec.CBOR), remote()),
		"no remote tier":     newWith[hooks](t, nil, cache.TiersConfig{}),
		"no remote tier raw": newWith[int](t, codec.Raw, cache.TiersConfig{}),
	} {
		if err != nil {
			t.Errorf("New of %s = %v, want nil", name, err)
		}
	}
}

// Errors quote only a part of an argument, because errors are written to logs.
func TestErrorsQuoteAPart(t *testing.T) {
	long := strings.Repeat("x", 10<<20)
	tiers := open(t, cache.TiersConfig{})
	c := with(t, tiers, thingConfig{Load: (&source{}).load})
	_, newErr := cache.New(tiers, thingConfig{Namespace: long})
	_, getErr := c.Tenant(long).Get(t.Context(), 1)
	for name, err := range map[string]error{
		"tag":       tiers.Invalidate(t.Context(), invalidate.Tag("default", long)),
		"prefix":    tiers.Invalidate(t.Context(), invalidate.Prefix("default", ""+long)),
		"namespace": newErr,
		"Get":       getErr,
		"Delete":    c.Tenant(long).Delete(t.Context(), 1),
		"DeleteAll": c.Tenant(long).DeleteAll(t.Context()),
		"Set":       c.Set(t.Context(), 1, "v", cache.Tags(long)),
	} {
		if s := fmt.Sprint(err); err == nil || len(s) > 1000 {
			t.Errorf("%s: an error of %d bytes, want a short one: %.100s", name, len(s), s)
		}
	}
}

// liar marshals itself and loses Rank.
type liar struct {
	Name string
	Rank int
}

func (l liar) MarshalJSON() ([]byte, error)  { return json.Marshal(l.Name) }
func (l *liar) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &l.Name) }

// With the race detector, or when a test kit asks for it, a cache decodes its first nonzero
// value and compares it. So it detects a marshaller that loses data.
func TestMarshallerThatLiesIsFound(t *testing.T) {
	load := func(_ context.Context, n int) (liar, error) {
		if n == 0 {
			return liar{}, nil
		}
		return liar{"Ann", n}, nil
	}
	for name, tt := range map[string]struct {
		asked bool
		codec codec.Codec
		found bool
	}{
		"asked":     {true, codec.JSON, true},
		"lossy":     {true, codec.Lossy(codec.JSON), false},
		"one's own": {true, mine{codec.JSON}, false},
		"not asked": {false, codec.JSON, race.Enabled},
	} {
		t.Run(name, func(t *testing.T) {
			trip.Ask(tt.asked)
			defer trip.Ask(false)
			mem := tiertest.NewMemory()
			tiers := open(t, cache.TiersConfig{Remote: mem, Codecs: []codec.Codec{mine{codec.JSON}}})
			c := with(t, tiers, cache.Config[int, liar]{Load: load, Codec: tt.codec})
			get(t, c, 0) // a zero value is not compared
			_, err := c.Get(t.Context(), 1)
			for op, err := range map[string]error{"Get": err, "Set": c.Set(t.Context(), 2, liar{"Bob", 2})} {
				if found := err != nil; found != tt.found {
					t.Errorf("%s = %v, want an error: %v", op, err, tt.found)
				} else if found && (!strings.Contains(err.Error(), "liar.Rank differs") || !strings.Contains(err.Error(), "codec.Lossy")) {
					t.Errorf("%s = %v, want an error with the difference and the remedy", op, err)
				}
			}
			if _, found := c.Peek(t.Context(), 1); found == tt.found {
				t.Errorf("Peek finds a value: %v, want the opposite", found)
			}
		})
	}
}

type unreadable struct{ N int }

func (unreadable) MarshalText() ([]byte, error) { return []byte("x"), nil }
func (*unreadable) UnmarshalText([]byte) error  { return errors.New("never") }

func TestValueThatCannotBeReadIsFound(t *testing.T) {
	trip.Ask(true)
	defer trip.Ask(false)
	c := with(t, open(t, cache.TiersConfig{Remote: tiertest.NewMemory()}), cache.Config[int, unreadable]{})
	if err := c.Set(t.Context(), 1, unreadable{1}); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("Set = %v, want an error", err)
	}
}
