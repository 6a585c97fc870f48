package cache_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/twofold-go/twofold/cache"
)

// The model says for each read of one key, in one process with a local tier, what it gets and when,
// and how many loads have begun. It knows nothing of fences, ticks, parties and items.

var fillPolicy = patch{
	TTL: new(10 * time.Second), Stale: new(8 * time.Second), StaleIfError: new(20 * time.Second), NegativeTTL: new(4 * time.Second),
	ErrorTTL: new(3 * time.Second), Throttle: new(2 * time.Second), LoadTimeout: new(6 * time.Second), Jitter: new(0.0),
}

// sayings are what the source says to a load. With a short life the value has a TTL of 2 s, with no
// life one under a millisecond, and is not stored.
var sayings = []string{"a value", "short life", "no life", "no store", "absent", "failed"}

// fillStep is one step of a random run.
type fillStep struct {
	do   string // "wait", "read", "delete", "set"; "source": says and took count from now on
	wait time.Duration
	says string
	took time.Duration
}

func drawFillStep(t *rapid.T) fillStep {
	s := fillStep{do: rapid.SampledFrom([]string{"read", "wait", "read", "wait", "read", "wait", "source", "delete", "set"}).Draw(t, "do")}
	switch s.do {
	case "wait":
		waits := []time.Duration{50 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 9 * time.Second, 19 * time.Second}
		s.wait = rapid.SampledFrom(waits).Draw(t, "wait")
	case "source":
		s.says = rapid.SampledFrom(sayings).Draw(t, "says")
		s.took = rapid.SampledFrom([]time.Duration{0, 100 * time.Millisecond, time.Second, 3 * time.Second}).Draw(t, "took")
	}
	return s
}

// took returns how long the nth load takes. No two loads end at the same moment, unless they take no time.
func took(d time.Duration, n int) time.Duration {
	return d + min(d, time.Duration(n*n*7919%1_000_003)*2)
}

// got is what a read gets.
type got struct {
	val   string // "absent" and "failed" for errors
	src   cache.Source
	stale bool
}

// remembered is what the cache holds of the key. Times count from the begin of the run.
type remembered struct {
	val               string
	good              bool // a value
	born              time.Duration
	soft, stale, hard time.Duration
	next              time.Duration // no refresh begins before it
	spared            bool          // because a load failed
}

// fetching is a flight: what its readers wait for.
type fetching struct {
	of        *remembered // refreshed in the background; nil: a read began it
	readers   []int
	closed    bool // the key was invalidated since it began: no read joins
	tries     int
	n         int // the load
	says      string
	began     time.Duration // the load
	ends      time.Duration
	overtaken bool // the key was invalidated since the load began
}

type fillModel struct {
	now     time.Duration
	says    string
	took    time.Duration
	loads   int
	sets    int
	held    *remembered
	flights []*fetching
	answers map[int]got
}

func (m *fillModel) step(s fillStep, reader int) {
	switch s.do {
	case "source":
		m.says, m.took = s.says, s.took
	case "read":
		m.read(reader)
	case "delete":
		m.held = nil
		m.overtake()
	case "set":
		m.sets++
		m.overtake()
		m.hold(fmt.Sprint("set ", m.sets), true, m.now, *fillPolicy.TTL)
	case "wait":
		until := m.now + s.wait
		for {
			var first *fetching
			for _, f := range m.flights {
				if f.ends <= until && (first == nil || f.ends < first.ends) {
					first = f
				}
			}
			if first == nil {
				break
			}
			m.now = first.ends
			m.loaded(first)
		}
		m.now = until
	}
}

func (m *fillModel) overtake() {
	for _, f := range m.flights {
		f.closed, f.overtaken = true, true
	}
}

// hold stores a result for ttl, unless a result of a later load is there.
func (m *fillModel) hold(val string, good bool, born, ttl time.Duration) {
	if m.held != nil && m.held.born > born {
		return
	}
	r := &remembered{val: val, good: good, born: born, soft: m.now + ttl, stale: m.now + ttl, hard: m.now + ttl}
	if good {
		r.stale += *fillPolicy.Stale
		r.hard = r.stale + *fillPolicy.StaleIfError
	}
	m.held = r
}

func (m *fillModel) read(reader int) {
	if r := m.held; r != nil {
		switch spared := r.spared && m.now < r.next; {
		case m.now < r.soft:
			m.answers[reader] = got{r.val, cache.Local, false}
			return
		case m.now < r.stale:
			m.answers[reader] = got{r.val, cache.Local, true}
			switch {
			case m.now < r.next:
			case m.open() != nil: // a read began it before there was an old value: it is the refresh
				r.next, r.spared = m.now+refreshPause, false
			default:
				r.next, r.spared = m.now+*fillPolicy.LoadTimeout, false
				m.fetch(&fetching{of: r})
			}
			return
		case m.now < r.hard && spared:
			m.answers[reader] = got{r.val, cache.Local, true}
			return
		}
	}
	if f := m.open(); f != nil {
		f.readers = append(f.readers, reader)
		return
	}
	m.fetch(&fetching{readers: []int{reader}})
}

// refreshPause is the pause between two tries to refresh of which the first found a flight.
const refreshPause = 100 * time.Millisecond

// open returns the flight that a read joins, or nil.
func (m *fillModel) open() *fetching {
	for _, f := range m.flights {
		if !f.closed {
			return f
		}
	}
	return nil
}

func (m *fillModel) fetch(f *fetching) {
	m.flights = append(m.flights, f)
	m.load(f)
}

func (m *fillModel) load(f *fetching) {
	m.loads++
	f.n, f.says, f.began, f.ends, f.overtaken = m.loads, m.says, m.now, m.now+took(m.took, m.loads), false
	if f.ends == m.now {
		m.loaded(f)
	}
}

// loaded is the end of a load.
func (m *fillModel) loaded(f *fetching) {
	if f.says == "failed" {
		m.failed(f)
		return
	}
	if f.overtaken && f.tries < 2 {
		f.tries++
		r := m.held // stored meanwhile, and then the flight's result
		switch {
		case r != nil && m.now < r.soft && (f.of == nil || r.born > f.of.born):
			m.end(f, got{r.val, cache.Local, false})
		case r != nil && f.of == nil && m.now < r.hard && r.spared && m.now < r.next:
			m.end(f, got{r.val, cache.Local, true})
		default:
			m.load(f)
		}
		return
	}
	val := fmt.Sprint("load ", f.n)
	if f.says == "absent" {
		val = "absent"
	}
	if !f.overtaken {
		switch f.says {
		case "a value":
			m.hold(val, true, f.began, *fillPolicy.TTL)
		case "short life":
			m.hold(val, true, f.began, 2*time.Second)
		case "absent":
			m.hold(val, false, f.began, *fillPolicy.NegativeTTL)
		}
	}
	m.end(f, got{val, cache.Load, false})
}

// failed is the end of a failed load. Its readers get an old value, or the error, which is remembered.
func (m *fillModel) failed(f *fetching) {
	wait := func(r *remembered) { r.next, r.spared = m.now+*fillPolicy.Throttle, true }
	if f.of != nil {
		wait(f.of)
	}
	if r := m.held; r != nil && r.good && m.now < r.hard {
		if f.of == nil {
			wait(r)
		}
		m.end(f, got{r.val, cache.Local, true})
		return
	}
	if !f.overtaken {
		m.hold("failed", false, f.began, *fillPolicy.ErrorTTL)
	}
	m.end(f, got{"failed", 0, false})
}

func (m *fillModel) end(f *fetching, a got) {
	for _, r := range f.readers {
		m.answers[r] = a
	}
	m.flights = slices.DeleteFunc(m.flights, func(g *fetching) bool { return g == f })
}

// fillRun is the real cache beside the model.
type fillRun struct {
	mu      sync.Mutex // protects the rest
	says    string
	took    time.Duration
	loads   int
	answers map[int]got
}

func (x *fillRun) load(ctx context.Context, _ int) (string, error) {
	x.mu.Lock()
	x.loads++
	n, what, d := x.loads, x.says, took(x.took, x.loads)
	x.mu.Unlock()
	if err := nap(ctx, d); err != nil {
		return "", err
	}
	switch what {
	case "short life":
		cache.Filling(ctx).SetTTL(2 * time.Second)
	case "no life":
		cache.Filling(ctx).SetTTL(time.Millisecond - 1)
	case "no store":
		cache.Filling(ctx).NoStore()
	case "absent":
		return "", cache.ErrNotFound
	case "failed":
		return "", errSource
	}
	return fmt.Sprint("load ", n), nil
}

func (x *fillRun) read(ctx context.Context, c things, reader int) {
	r, err := c.Fetch(ctx, 1, nil)
	switch {
	case errors.Is(err, cache.ErrNotFound):
		r.Value = "absent"
	case errors.Is(err, errSource) && r.Source == cache.Local:
		r.Value = "failed"
	case errors.Is(err, errSource):
		r.Value, r.Source = "failed", 0
	case err != nil:
		r.Value = err.Error()
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.answers[reader] = got{r.Value, r.Source, r.Stale}
}

// seen returns how many loads have begun, and the answers so far.
func (x *fillRun) seen() (loads int, answers map[int]got) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.loads, maps.Clone(x.answers)
}

func TestFillModel(t *testing.T) {
	for range 5 { // 500 runs, because 100 may not meet a failure at the right moment
		rapid.Check(t, func(rt *rapid.T) {
			steps := rapid.SliceOfN(rapid.Custom(drawFillStep), 50, 100).Draw(rt, "steps")
			var fault string
			synctest.Test(t, func(t *testing.T) { fault = compareFills(t, steps) })
			if fault != "" {
				rt.Fatal(fault)
			}
		})
	}
}

// compareFills runs the steps, and returns the first difference.
func compareFills(t *testing.T, steps []fillStep) string {
	m, x := &fillModel{says: "a value", answers: map[int]got{}}, &fillRun{answers: map[int]got{}}
	c := with(t, open(t, cache.TiersConfig{}), thingConfig{Load: x.load, Policy: fillPolicy})
	var log strings.Builder
	for i, s := range append(steps, fillStep{do: "wait", wait: 20 * time.Second}) { // all flights end
		fmt.Fprintf(&log, "\n%v %+v", m.now, s)
		m.step(s, i)
		x.mu.Lock()
		x.says, x.took = m.says, m.took
		x.mu.Unlock()
		var err error
		switch s.do {
		case "read":
			go x.read(t.Context(), c, i)
		case "delete":
			err = c.Delete(t.Context(), 1)
		case "set":
			err = c.Set(t.Context(), 1, fmt.Sprint("set ", m.sets))
		case "wait":
			<-time.After(s.wait)
		}
		synctest.Wait()
		loads, answers := x.seen()
		if err != nil || loads != m.loads || !maps.Equal(answers, m.answers) {
			return fmt.Sprintf("%d loads, and the reads got %+v;\nwant %d loads, and %+v; error %v after:%s", loads, answers, m.loads, m.answers, err, &log)
		}
	}
	return ""
}
