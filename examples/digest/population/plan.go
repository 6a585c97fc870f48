package population

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/twofold-go/twofold/examples/digest/store"
)

// DefaultSkew is what a zero Config.Skew means.
const DefaultSkew = 2.75

// packSkew is how much more often the first packs are installed: Zipf's own law. All are
// seen with 80 users or so, whatever it is, so that the table does not depend on it.
const packSkew = 1

// ErrConfig is wrapped by what is wrong with a [Config].
var ErrConfig = errors.New("population: bad configuration")

// Config says who the users are and what they can choose from. The same Config makes the
// same users, and one with more users the same ones and more.
type Config struct {
	Users int
	Seed  uint64

	// Sources are what users choose from who choose freely, the most popular first.
	Sources []int64

	// Packs are what users install, the most popular first. The first one must be the
	// store's default pack. Only Slug and SourceIDs are looked at.
	Packs []store.Pack

	// Skew is the exponent of the popularity of sources. 0: DefaultSkew.
	Skew float64

	// Uniform draws sources evenly, as if none was more popular, and Skew is not looked
	// at. Packs are as popular as ever.
	Uniform bool

	// Progress is told by Fill, from time to time, how many users are there. Nil:
	// nobody is told.
	Progress func(done int)
}

// Class is what a user does about sources.
type Class int

// The classes of users.
const (
	Installed Class = iota // a pack, as it is
	Tweaked                // the default pack, but for one or two sources
	Custom                 // nothing of the kind
)

// ClassOf returns the class of the i-th user, counted from 0. The classes take turns, so
// that the shares are exact for every ten users.
func ClassOf(i int) Class {
	switch i % 10 {
	case 8:
		return Tweaked
	case 9:
		return Custom
	default:
		return Installed
	}
}

// Plan returns what each user subscribes to, ascending. It asks nobody and changes
// nothing; the slices belong to the caller.
func Plan(cfg Config) ([][]int64, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	plan := make([][]int64, cfg.Users)
	for i := range plan {
		plan[i], _ = cfg.choose(i)
	}
	return plan, nil
}

// Combinations returns how many different sets of sources a plan has.
func Combinations(plan [][]int64) int {
	seen := map[string]bool{}
	for _, ids := range plan {
		seen[store.Hash(ids)] = true
	}
	return len(seen)
}

// HitRatio returns which part of a plan's users, 0 to 1, is given a digest that was made
// for somebody else, if each asks once. Of nobody it is 0.
func HitRatio(plan [][]int64) float64 {
	if len(plan) == 0 {
		return 0
	}
	return 1 - float64(Combinations(plan))/float64(len(plan))
}

// check reports the first fault of the configuration.
func (c Config) check() error {
	switch {
	case c.Users < 0:
		return fmt.Errorf("%w: Users is %d, must not be negative", ErrConfig, c.Users)
	case c.Skew < 0 || math.IsNaN(c.Skew) || math.IsInf(c.Skew, 0):
		return fmt.Errorf("%w: Skew is %v, want a number that is not negative", ErrConfig, c.Skew)
	case len(c.Sources) == 0:
		return fmt.Errorf("%w: Sources is empty", ErrConfig)
	case len(c.Packs) == 0:
		return fmt.Errorf("%w: Packs is empty", ErrConfig)
	}
	for i, p := range c.Packs {
		if p.Slug == "" || len(p.SourceIDs) == 0 {
			return fmt.Errorf("%w: Packs[%d] has a slug of %d bytes and %d sources", ErrConfig, i, len(p.Slug), len(p.SourceIDs))
		}
	}
	if n := len(set(c.Sources)); n != len(c.Sources) {
		return fmt.Errorf("%w: Sources has %d ids and %d of them are different", ErrConfig, len(c.Sources), n)
	}
	return nil
}

// choose returns what the i-th user subscribes to, and which pack that is: nil for those
// who did more than install one. Each user has dice of his own, so that one more user
// changes nothing for the others.
func (c Config) choose(i int) ([]int64, *store.Pack) {
	d := c.dice(i)
	switch ClassOf(i) {
	case Tweaked:
		return c.tweak(d), nil
	case Custom:
		return set(d.some(c.Sources, 1+d.rank(most, d.skew))), nil
	default:
		p := &c.Packs[d.rank(len(c.Packs), packSkew)]
		return set(p.SourceIDs), p
	}
}

// most is how many sources a user chooses freely at most: who wants more than that takes
// a pack.
const most = 5

// tweak returns the default pack with one or two sources added or removed. What is
// popular is added first, and what is not is removed first. Somebody is left with a
// source at least.
func (c Config) tweak(d dice) []int64 {
	pack := set(c.Packs[0].SourceIDs)
	var inside, outside []int64
	for _, id := range c.Sources {
		if !slices.Contains(pack, id) {
			outside = append(outside, id)
		} else {
			inside = append(inside, id)
		}
	}
	slices.Reverse(inside)
	for range 1 + d.rank(2, d.skew) {
		add := d.IntN(2) == 0
		switch {
		case len(outside) > 0 && (add || len(inside) < 2):
			at := d.rank(len(outside), d.skew)
			pack = append(pack, outside[at])
			outside = slices.Delete(outside, at, at+1)
		case len(inside) > 1:
			at := d.rank(len(inside), d.skew)
			pack = slices.DeleteFunc(pack, func(id int64) bool { return id == inside[at] })
			inside = slices.Delete(inside, at, at+1)
		}
	}
	return set(pack)
}

// dice draw by popularity.
type dice struct {
	*rand.Rand
	skew float64
}

func (c Config) dice(i int) dice {
	d := dice{rand.New(rand.NewPCG(c.Seed, uint64(i))), c.Skew} //nolint:gosec // i is not negative, and it is no secret
	switch {
	case c.Uniform:
		d.skew = 0
	case d.skew == 0:
		d.skew = DefaultSkew
	}
	return d
}

// rank draws one of n, counted from 0, with the weight 1/(rank+1)^skew.
func (d dice) rank(n int, skew float64) int {
	weights, sum := make([]float64, n), 0.0
	for i := range weights {
		weights[i] = math.Pow(float64(i+1), -skew)
		sum += weights[i]
	}
	at := d.Float64() * sum
	for i, w := range weights {
		if at -= w; at < 0 {
			return i
		}
	}
	return n - 1 // what rounding left over
}

// some draws n of the ids, each once.
func (d dice) some(ids []int64, n int) []int64 {
	left := slices.Clone(ids)
	var drawn []int64
	for range min(n, len(ids)) {
		at := d.rank(len(left), d.skew)
		drawn = append(drawn, left[at])
		left = slices.Delete(left, at, at+1)
	}
	return drawn
}

// set returns ids ascending and each once, as a slice of its own.
func set(ids []int64) []int64 { return slices.Compact(slices.Sorted(slices.Values(ids))) }
