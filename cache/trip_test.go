package cache_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/internal/race"
	"github.com/twofold-go/twofold/internal/trip"
	"github.com/twofold-go/twofold/tier/tiertest"
)

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
