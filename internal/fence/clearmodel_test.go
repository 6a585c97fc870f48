package fence_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/twofold-go/twofold/internal/testkit/race"

	"github.com/cespare/xxhash/v2"

	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/testkit/fencetest"
	"github.com/twofold-go/twofold/invalidate"
)

// remembered is a fence in the reference model, which keeps all fences forever.
type remembered struct {
	scope invalidate.Scope
	soft  bool
}

func (r remembered) covers(e *fencetest.Entry, tags []string) bool {
	switch r.scope.Kind() {
	case invalidate.KindKey:
		return r.scope.Text() == e.Key
	case invalidate.KindTag:
		return slices.Contains(tags, r.scope.Text())
	default:
		return strings.HasPrefix(e.Key, r.scope.Text())
	}
}

// coversPart reports whether the fence covers one of the parts of an entry. A prefix that ends within
// an id covers every part of the namespace.
func (r remembered) coversPart(e *modelled) bool {
	if r.scope.Kind() == invalidate.KindTag {
		return false
	}
	text := r.scope.Text()
	return e.anyPart || slices.ContainsFunc(e.parts, func(part string) bool {
		return text == part || r.scope.Kind() != invalidate.KindKey && strings.HasPrefix(part, text[:strings.LastIndexByte(text, ':')+1])
	})
}

// modelled is an entry with the reference model's knowledge of it.
type modelled struct {
	*fencetest.Entry
	names   []string
	parts   []string // keys that it was built from
	anyPart bool     // it has more parts than it can name
	since   int      // fences before it was marked
	missed  bool     // by every walk

	gen uint64 // at which it was found clear; 0: not noted
}

type clearModel struct {
	*rand.Rand
	f   *fence.Fences
	log []remembered
	all []*modelled

	soft  int // how many of ten fences are soft
	short int // entries that a survey found clear
}

func (m *clearModel) key() string {
	return fmt.Sprintf("acme:%c:%d", 'a'+rune(m.IntN(3)), m.IntN(300))
}

func (m *clearModel) add() {
	e := &modelled{since: len(m.log), missed: m.IntN(10) == 0}
	for range m.IntN(3) {
		e.names = append(e.names, strconv.Itoa(m.IntN(100)))
	}
	k := fmt.Sprintf("%s:%d", m.key(), len(m.all)) // a unique key
	if m.IntN(2) == 0 {
		k = m.key()
	}
	e.Entry = fencetest.New(m.f, k, e.names...)
	if m.IntN(2) == 0 {
		m.build(e)
	}
	m.all = append(m.all, e)
}

// build gives an entry parts: other entries, with their own parts, or keys that have no entry.
func (m *clearModel) build(e *modelled) {
	if e.Tags == nil {
		e.Tags = new(fence.Deps)
	}
	if e.anyPart = m.IntN(20) == 0; e.anyPart {
		e.Tags.Keys = []uint64{invalidate.AnyTag}
		return
	}
	for range 1 + m.IntN(3) {
		e.parts = append(e.parts, m.key())
		if len(m.all) > 0 && m.IntN(2) == 0 {
			e.parts = append(e.parts, m.all[m.IntN(len(m.all))].Key)
		}
	}
	for _, part := range e.parts {
		e.Tags.Keys = append(e.Tags.Keys, xxhash.Sum64String(part))
		for i, c := range []byte(part) {
			if c == ':' {
				e.Tags.Prefixes = append(e.Tags.Prefixes, xxhash.Sum64String(part[:i+1]))
			}
		}
	}
}

// called returns the key of an entry or of one of its parts.
func (m *clearModel) called() string {
	e := m.all[m.IntN(len(m.all))]
	return append(e.parts, e.Key)[m.IntN(len(e.parts)+1)]
}

// prefixOf returns the scope of a prefix that names its tenant.
func prefixOf(p string) invalidate.Scope {
	tenant, rest, _ := strings.Cut(p, ":")
	return invalidate.Prefix(tenant, rest)
}

func (m *clearModel) fence(t *testing.T) {
	var s invalidate.Scope
	switch n := m.IntN(1000); {
	case n == 0:
		s = invalidate.All()
	case n == 1:
		s = invalidate.Prefix("acme", string('a'+rune(m.IntN(26)))) // within a namespace
	case n < 20:
		s = prefixOf(m.key()[:7])
	case n < 50 && len(m.all) > 0: // what an entry, or a part of one, is called
		s = prefixOf(m.called())
	case n < 100:
		s = prefixOf(m.key() + ":" + strconv.Itoa(m.IntN(2000)))
	case n < 400:
		s = invalidate.Tag("acme", strconv.Itoa(m.IntN(400)))
	case n < 500 && len(m.all) > 0:
		s = invalidate.Key(fencetest.KeyOf(t, m.called()))
	default:
		s = invalidate.Key(fencetest.KeyOf(t, m.key()))
	}
	r := remembered{s, m.IntN(10) < m.soft}
	m.log = append(m.log, r) // first, because storing it may start a walk
	m.f.Apply(fence.Request{Scopes: []invalidate.Scope{s}, Soft: r.soft})
}

// walk checks all entries, as the cache does it: by a survey, and exactly where that does not
// suffice.
func (m *clearModel) walk() {
	s := m.f.Survey()
	for _, e := range m.all {
		switch {
		case e.missed:
		case s.Clear(e.Born, uint32(e.Hash), e, e.Tags):
			e.Born = max(e.Born, s.Tick())
			m.short++
		default:
			tick, fresh, ok := s.ClearExact(e.Born, uint32(e.Hash), e, e.Tags)
			e.Note(fresh)
			if ok {
				e.Born = tick
			}
		}
	}
	m.f.Settled(s.Tick())
}

// covered reports whether a fence of that softness covers the entry.
func (m *clearModel) covered(e *modelled, soft bool) bool {
	return slices.ContainsFunc(m.log[e.since:], func(r remembered) bool { return r.soft == soft && (r.covers(e.Entry, e.names) || r.coversPart(e)) })
}

func (m *clearModel) check(t *testing.T, e *modelled) {
	t.Helper()
	gen := m.f.Generation()
	covered, expired, ok := m.covered(e, false), m.covered(e, true), e.Clear(m.f)
	fail := func(what string) {
		t.Fatalf("after %d fences %s (tags %v, marked after %d; covered: %v, expired: %v) %s", len(m.log), e.Key, e.names, e.since, covered, expired, what)
	}
	switch {
	case ok && covered:
		fail("is clear")
	case ok && expired != e.Ended:
		fail("is clear, and its freshness is not told right")
	case !ok && !covered && !e.missed:
		fail("is lost")
	case e.gen > 0 && (covered || expired) && !m.f.Since(e.gen-1, uint32(e.Hash), partOf(e.Key)) && !m.f.DepsSince(e.gen-1, e.Tags):
		fail("is not looked at again")
	}
	if e.gen == 0 && ok && !expired {
		e.gen = gen + 1
	}
	fresh, over := m.f.Overtaken(e.Mark, e.Hash, e.Key, e.Tags)
	if covered && !over || expired && !over && fresh == fence.Forever {
		fail("is not overtaken as a load")
	}
	beyondKey := slices.ContainsFunc(m.log[e.since:], func(r remembered) bool { // the cell of a fenced key was removed
		own := r.scope.Kind() == invalidate.KindKey && r.scope.Text() == e.Key
		return !r.soft && (!own && r.covers(e.Entry, e.names) || r.coversPart(e))
	})
	fresh, ok = m.f.Accepts(e.Mark, e.Hash, e.Key, e.Tags)
	if ok && (beyondKey || expired && fresh == fence.Forever) {
		fail("is accepted as a frame")
	}
	if m.IntN(2) == 0 {
		checked(e.Entry, m.f)
	}
}

// Random fences, entries, checks and walks, with tables that forget all the time. An entry is
// clear if and only if no fence covers it or one of its parts, and expired if and only if a soft fence covers it. An
// entry that every walk missed may be lost, but is never wrongly clear or fresh.
func TestClearModel(t *testing.T) {
	seed := rand.Uint64()
	if s := os.Getenv("TWOFOLD_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	t.Logf("repeat with TWOFOLD_SEED=%d", seed)
	rounds := 20
	if race.Enabled {
		rounds = 4
	}
	for round := range rounds {
		m := &clearModel{Rand: rand.New(rand.NewPCG(seed, uint64(round))), f: fence.NewSmall(64), soft: []int{3, 10}[round%2]}
		m.f.OnForget(m.walk)
		for range 3000 {
			if m.IntN(20) == 0 {
				m.add()
			}
			m.fence(t)
			if len(m.all) > 0 {
				m.check(t, m.all[m.IntN(len(m.all))])
			}
		}
		for _, e := range m.all {
			m.check(t, e)
		}
		if m.short < len(m.all)/2 {
			t.Errorf("surveys found an entry clear %d times only, with %d entries", m.short, len(m.all))
		}
	}
}

// Fences, hits and walks run concurrently: an entry that hits and walks check all the time never
// outlives its own fence.
func TestClearConcurrently(t *testing.T) {
	const workers, rounds = 4, 1000
	f := fence.NewSmall(256)
	type shared struct {
		fencetest.Entry
		born atomic.Uint64
	}
	check := func(e *shared) bool {
		tick, _, ok := f.ClearExact(e.born.Load(), uint32(e.Hash), &e.Entry, e.Tags)
		for old := e.born.Load(); ok && old < tick; old = e.born.Load() {
			e.born.CompareAndSwap(old, tick)
		}
		return ok
	}
	var resident [workers]atomic.Pointer[shared]
	var walks sync.WaitGroup
	f.OnForget(func() {
		walks.Go(func() {
			tick := f.Tick()
			for i := range resident {
				if e := resident[i].Load(); e != nil {
					check(e)
				}
			}
			f.Settled(tick)
		})
	})
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			own, tag := fencetest.KeyOf(t, fmt.Sprint("acme:own:", w)), fmt.Sprint("own", w)
			for i := range rounds {
				e := &shared{Entry: *fencetest.New(f, own.String(), tag)}
				e.born.Store(e.Mark.Tick)
				resident[w].Store(e)
				for j := range 5 {
					f.Fence(invalidate.Key(fencetest.KeyOf(t, fmt.Sprint("acme:other:", w, ":", i*5+j))), invalidate.Tag("acme", fmt.Sprint(w, i, j)))
					check(e)
				}
				if i%2 == 0 {
					f.Fence(invalidate.Key(own))
				} else {
					f.Fence(invalidate.Tag("acme", tag))
				}
				if check(e) || !fencetest.Overtaken(f, e.Mark, e.Hash, e.Key, e.Tags) {
					t.Errorf("round %d: an entry outlived its fence", i)
					return
				}
			}
		})
	}
	wg.Wait()
	walks.Wait()
}

// A hit that checks an entry while its fence is being stored does not note the fence's tick or a
// later one.
func TestFenceRacesHit(t *testing.T) {
	rounds := 200_000
	if race.Enabled {
		rounds /= 10
	}
	for name, scope := range map[string]invalidate.Scope{
		"key": invalidate.Key(fencetest.KeyOf(t, "acme:users:1")), "tag": invalidate.Tag("acme", "t"), "all": invalidate.All(),
	} {
		for _, soft := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/soft=%v", name, soft), func(t *testing.T) {
				raceHit(t, rounds, fence.Request{Scopes: []invalidate.Scope{scope}, Soft: soft})
			})
		}
	}
}

func raceHit(t *testing.T, rounds int, r fence.Request) {
	f := fence.New(start)
	e := fencetest.New(f, "acme:users:1", "t")
	var born atomic.Uint64
	var ended atomic.Uint64 // a tick at which it was found expired
	check := func() (fresh bool) {
		old := born.Load()
		tick, until, ok := f.ClearExact(old, uint32(e.Hash), e, e.Tags)
		if until != fence.Forever {
			ended.Store(tick) // before the tick, as the cache does it
		}
		if ok {
			born.CompareAndSwap(old, tick)
		}
		return ok && ended.Load() == 0
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	var stop atomic.Bool
	defer stop.Store(true)
	wg.Go(func() {
		for !stop.Load() {
			check()
		}
	})
	for i := range rounds {
		ended.Store(0)
		born.Store(f.Tick()) // a new entry
		f.Apply(r)
		if check() {
			t.Fatalf("round %d: the entry outlived its fence", i)
		}
	}
}

// V9: two prefixes of one hash and of different lengths are both looked up.
func TestPrefixesOfOneHash(t *testing.T) {
	const mine, other = "acme:users:", len("acme:") // the other one's text does not matter
	hash := xxhash.Sum64String(mine)
	f := fence.New(start)
	e := fencetest.New(f, mine+"1")
	add := func(n int) {
		f.StoreHashed(fence.Hashed{Kind: invalidate.KindPrefix, Hash: hash, Len: n}, invalidate.At(9, uint32(n)))
	}
	add(other)
	if !e.Clear(f) {
		t.Error("covered by a prefix of another length")
	}
	add(len(mine))
	if e.Clear(f) || fencetest.Accepts(f, fence.Mark{Scope: invalidate.At(9, 6)}, e.Hash, e.Key, nil) {
		t.Error("not covered by its prefix: another one has the same hash")
	}
}
