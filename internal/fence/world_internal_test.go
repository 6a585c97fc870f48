package fence

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
)

// The world: two processes over one remote tier and one log, with writers, readers and evictions. A value
// is the version of its root. A version counts as acknowledged in a process once that has applied its
// record. An oracle compares each accepted frame and each stored load with all records that were ever
// applied: a wrong one seldom lives until it is read.
const (
	leaves = 56
	built  = 16 // from leaves
	higher = 8  // from built ones
	every  = leaves + built + higher
)

type world struct {
	stop   time.Time
	lag    time.Duration // the source may show a row so late
	source [leaves]struct {
		sync.Mutex // also orders the writers of a leaf
		v          atomic.Int64
		shown      sync.Mutex // protects the versions
		versions   []version  // the last ones
	}
	log struct {
		sync.RWMutex
		records []record
		ends    [2]invalidate.Position // of the two sequences
	}
	remote struct {
		sync.Mutex
		cells map[string]cell
	}
	reads, hits, stale, soft, frames, loads atomic.Int64
}

type version struct {
	v  int64
	at time.Time
}

// wrote makes the next version of a leaf.
func (w *world) wrote(i int) int64 {
	s := &w.source[i]
	v := s.v.Add(1)
	if w.lag > 0 {
		s.shown.Lock()
		defer s.shown.Unlock()
		s.versions = append(s.versions[max(0, len(s.versions)-1000):], version{v, time.Now()})
	}
	return v
}

// load shows the newest version of a leaf, or with a lag perhaps an older one.
func (w *world) load(r *rand.Rand, i int) int64 {
	s := &w.source[i]
	if w.lag == 0 {
		return s.v.Load()
	}
	s.shown.Lock()
	defer s.shown.Unlock()
	t := time.Now().Add(-time.Duration(r.Int64N(int64(w.lag))))
	for _, old := range slices.Backward(s.versions) {
		if !old.at.After(t) {
			return old.v
		}
	}
	return 0
}

type record struct {
	invalidate.Fence
	pos     invalidate.Position
	root    int // -1: noise
	version int64
}

type cell struct {
	nonce uint64
	frame *frame
}

// frame is a value in the remote tier.
type frame struct {
	mark  Mark
	value int64
	on    *Deps
}

type process struct {
	*world
	*Fences
	id               int
	local            *local
	floor, softFloor [leaves]atomic.Int64
	owners           [4]*owner
	names            [4][2]string
	spaces           [4]atomic.Pointer[Namespace]
	text             [every]string
	of               [every]int
	at               atomic.Int64 // records applied by the tail
	oracle           oracle
}

// in returns the namespace of a key. It is opened when it is first used.
func (p *process) in(i int) *Namespace {
	k := p.of[i]
	n := p.spaces[k].Load()
	if n == nil {
		n = p.Open(p.names[k][0], p.names[k][1], p.owners[k])
		p.spaces[k].Store(n)
	}
	return n
}

func tagOf(i int) string { return fmt.Sprint("x", i%7) }
func partOf(i int) int {
	if i < leaves+built {
		return i * 7 % leaves
	}
	return leaves + i%built
}
func rootOf(i int) int {
	for i >= leaves {
		i = partOf(i)
	}
	return i
}

func (w *world) process(id int) *process {
	p := &process{world: w, Fences: NewLogged(time.Now()), id: id, oracle: oracle{last: map[invalidate.Fence]*applied{}}}
	p.applied.Store(&invalidate.Cursor{Epoch: 1})
	p.local = &local{f: p.Fences, m: map[string]*thing{}}
	p.names = [4][2]string{{"t1", "a:v1"}, {"t1", "n"}, {"t2", "h"}, {"t2", "b"}}
	for i, n := range p.names {
		p.owners[i] = &owner{of: p.local, stem: n[0] + ":" + n[1] + ":", spells: i != 2}
	}
	for i := range every {
		k, id := 3, fmt.Sprint("b", i)
		switch {
		case i < 24:
			k, id = 0, key.Text(fmt.Sprintf("g%d:u%d:%d", i%3, i%8, i))
		case i < 40:
			k, id = 1, strconv.Itoa(i)
		case i < leaves:
			k, id = 2, fmt.Sprintf("h%d%d", i%4, i)
		}
		p.of[i], p.text[i] = k, p.owners[k].stem+id
	}
	return p
}

// scope returns a record that covers a leaf.
func (p *process) scope(r *rand.Rand, i int) invalidate.Fence {
	text, isSoft := p.text[i], r.IntN(4) == 0
	tenant, rest, _ := strings.Cut(text, ":")
	stem := strings.LastIndexByte(text, ':') + 1
	switch k := r.IntN(40); {
	case k < 16:
	case k < 22:
		return fenceOf(invalidate.Tag("t1", tagOf(i)), isSoft)
	case k < 26:
		return fenceOf(invalidate.Tag("t1", fmt.Sprint("u", i)), isSoft)
	case k < 32:
		if c := strings.Index(text[stem:], colon); c >= 0 {
			return fenceOf(invalidate.Prefix(tenant, text[len(tenant)+1:stem+c+len(colon)]), isSoft)
		}
	case k < 37:
		return fenceOf(invalidate.Prefix(tenant, text[len(tenant)+1:stem+1+r.IntN(len(text)-stem)]), isSoft)
	case k == 37:
		return fenceOf(invalidate.Prefix(tenant, text[len(tenant)+1:stem]), isSoft)
	case k == 38:
		if n := r.IntN(5); n == 0 {
			return fenceOf(invalidate.All(), isSoft)
		} else if n == 1 {
			return fenceOf(invalidate.Tenant(tenant), isSoft)
		}
		return fenceOf(invalidate.Prefix(tenant, rest[:1]), isSoft)
	}
	k, err := key.Parse(text)
	if err != nil {
		panic(err)
	}
	return fenceOf(invalidate.Key(k), isSoft)
}

func (p *process) write(r *rand.Rand) {
	i := r.IntN(leaves)
	rec := record{fenceOf(invalidate.Tag("t1", fmt.Sprint("noise", r.Uint32())), r.IntN(4) == 0), 0, -1, 0}
	if r.IntN(3) > 0 {
		s := &p.source[i]
		s.Lock()
		defer s.Unlock()
		rec = record{p.scope(r, i), 0, i, p.wrote(i)}
	} else if r.IntN(2) == 0 {
		k, _ := key.Parse(fmt.Sprint("t1:n:", 1000+r.Uint32()))
		rec.Scope = invalidate.Key(k)
	}
	ofKeys := rec.Scope.Kind() == invalidate.KindKey && !rec.Soft
	if ofKeys { // cells are removed before the record is written
		p.remote.Lock()
		delete(p.remote.cells, rec.Scope.Text())
		p.remote.Unlock()
	}
	seq := kindOf(!ofKeys)
	p.log.Lock()
	p.log.ends[seq]++
	rec.pos = p.log.ends[seq]
	p.log.records = append(p.log.records, rec)
	p.log.Unlock()
	p.apply(rec)
}

func (p *process) apply(rec record) {
	tick, at := p.Tick()+1, p.Now()
	p.Store(rec.Fence, rec.pos)
	if rec.root < 0 {
		return
	}
	p.oracle.note(rec.Fence, tick, at, rec.pos)
	raiseTo := &p.floor
	if rec.Soft {
		raiseTo = &p.softFloor
	}
	for a := &raiseTo[rec.root]; ; {
		if o := a.Load(); o >= rec.version || a.CompareAndSwap(o, rec.version) {
			return
		}
	}
}

func (p *process) tail() {
	r := rand.New(rand.NewPCG(7, uint64(p.id)))
	for time.Now().Before(p.stop) {
		if p.id == 0 && r.IntN(8) == 0 { // it falls behind this process's own writes, and the other's frames
			rest(time.Duration(r.Int64N(int64(10 * time.Millisecond))))
		}
		p.log.RLock()
		news := p.log.records[p.at.Load():]
		p.log.RUnlock()
		for _, rec := range news {
			p.apply(rec)
			at := p.Cursor()
			if rec.Scope.Kind() == invalidate.KindKey && !rec.Soft {
				at.Key = rec.pos
			} else {
				at.Scope = rec.pos
			}
			p.applied.Store(&at)
			p.at.Add(1)
		}
		runtime.Gosched()
	}
}

type result struct {
	*thing
	state  int
	loaded bool
}

func (p *process) read(r *rand.Rand, i int) result {
	if t := p.local.get(p.text[i]); t != nil {
		if r.IntN(8) == 0 {
			runtime.Gosched()
		}
		switch st := p.state(t); st {
		case isFresh:
			return result{t, st, false}
		case isStale:
			if r.IntN(2) == 0 {
				p.fill(r, i)
			}
			return result{t, st, false}
		}
	}
	return p.fill(r, i)
}

func (p *process) fill(r *rand.Rand, i int) result {
	text := p.text[i]
	m := p.Capture()
	p.remote.Lock()
	c := p.remote.cells[text]
	p.remote.Unlock()
	if f := c.frame; f != nil {
		s := &Subject{xxhash.Sum64String(text), text, f.on}
		if fresh, ok := p.accept(p.in(i), s, f); ok {
			t, _ := p.put(i, f.value, m, f.on, true, fresh != Forever)
			if fresh != Forever || t.ended.Load() {
				return result{t, isStale, false}
			}
			return result{t, isFresh, false}
		}
	}
	c = cell{nonce: r.Uint64()}
	begun := p.Now()
	p.remote.Lock()
	p.remote.cells[text] = c
	p.remote.Unlock()
	on := &Deps{}
	var value int64
	loaded, store := true, true
	if i < leaves {
		for _, tag := range []string{tagOf(i), fmt.Sprint("u", i), fmt.Sprint("r", r.IntN(300))} { // nodes come and go
			on.Tags = append(on.Tags, invalidate.Tag("t1", tag).Hash())
		}
		if i%11 == 0 {
			on.Tags = append(on.Tags, invalidate.AnyTag)
		}
		value = p.load(r, i)
	} else {
		part := p.read(r, partOf(i))
		on.Keys = append(on.Keys, part.Hash)
		on.Prefixes = append(on.Prefixes, part.In.stems...)
		on.Tags = append(on.Tags, part.On.Tags...)
		on.Keys = append(on.Keys, part.On.Keys...)
		on.Prefixes = append(on.Prefixes, part.On.Prefixes...)
		if i%5 == 0 {
			on.Keys, on.Prefixes = []uint64{invalidate.AnyTag}, nil
		}
		value, loaded, store = part.value, part.loaded, part.state == isFresh
	}
	if r.IntN(4) == 0 {
		runtime.Gosched()
	}
	if p.lag > 0 && store && loaded {
		since := begun - int64(p.lag)
		s := &Subject{xxhash.Sum64String(text), text, on}
		bad := p.oracle.over(s, func(r *applied) bool { return r.at > since })
		if store = !p.Recent(since, p.in(i), s); store && bad {
			p.loads.Add(1)
		}
	}
	t, ok := p.put(i, value, m, on, store, false)
	if ok && !t.ended.Load() {
		p.remote.Lock()
		if p.remote.cells[text].nonce == c.nonce {
			p.remote.cells[text] = cell{c.nonce, &frame{m, value, on}}
		}
		p.remote.Unlock()
	}
	st := isFresh
	if !store {
		st = isStale
	}
	return result{t, st, loaded}
}

func (p *process) check(r *rand.Rand) {
	i := r.IntN(every)
	root := rootOf(i)
	want, late := p.floor[root].Load(), p.softFloor[root].Load()
	got := p.read(r, i)
	p.reads.Add(1)
	if got.loaded && p.lag > 0 {
		return // the source may show an old row
	}
	if !got.loaded {
		p.hits.Add(1)
	}
	if got.value < want {
		p.stale.Add(1)
	} else if got.state == isFresh && got.value < late {
		p.soft.Add(1)
	}
}

func fenceOf(s invalidate.Scope, isSoft bool) invalidate.Fence {
	return invalidate.Fence{Scope: s, Soft: isSoft}
}

// small makes the histories and lists so small that they often forget.
func small(t *testing.T) {
	was, wasSoft, wasCuts := most, mostSoft, mostCuts
	for k := range most {
		most[k] = 2
	}
	mostSoft, mostCuts = 2, 8
	t.Cleanup(func() { most, mostSoft, mostCuts = was, wasSoft, wasCuts })
}

// rest waits: the world runs on real goroutines, in real time.
func rest(d time.Duration) { <-time.After(d) }

func span() time.Duration {
	if d, err := time.ParseDuration(os.Getenv("SPAN")); err == nil {
		return d
	}
	return 800 * time.Millisecond
}

func TestWorld(t *testing.T) {
	for name, size := range map[string]func(*testing.T){"that forgets": small, "that remembers": func(*testing.T) {}} {
		for _, lag := range []time.Duration{0, 200 * time.Microsecond} {
			t.Run(fmt.Sprint(name, " lag=", lag), func(t *testing.T) {
				size(t)
				play(t, lag)
			})
		}
	}
}

func play(t *testing.T, lag time.Duration) {
	w := &world{stop: time.Now().Add(span()), lag: lag}
	w.remote.cells = map[string]cell{}
	ps := []*process{w.process(0), w.process(1)}
	var wg sync.WaitGroup
	for n, p := range ps {
		do := func(id int, f func(*rand.Rand)) {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(uint64(n), uint64(id)))
				for time.Now().Before(w.stop) {
					f(r)
				}
			})
		}
		wg.Go(p.tail)
		do(1, func(r *rand.Rand) { p.write(r); rest(time.Duration(r.IntN(50)) * time.Microsecond) })
		for id := range 3 {
			do(10+id, p.check)
		}
		do(2, func(r *rand.Rand) { // evictions
			text := p.text[r.IntN(every)]
			p.local.remove(text)
			if r.IntN(2) == 0 { // in the remote tier, too
				w.remote.Lock()
				delete(w.remote.cells, text)
				w.remote.Unlock()
			}
			if r.IntN(50) == 0 {
				p.spaces[r.IntN(4)].Store(nil) // opened again
			}
			if r.IntN(500) == 0 {
				runtime.GC()
			}
			rest(20 * time.Microsecond)
		})
	}
	wg.Wait()
	for _, p := range ps {
		for text := range p.local.m {
			p.local.remove(text)
		}
		for i := range p.shards {
			s := &p.shards[i]
			s.sweep()
			if s.nodes.used != 0 {
				t.Errorf("leak: %d nodes are left in shard %d", s.nodes.used, i)
			}
		}
		if n := p.anyTag.node.refs.Load() + p.anyKey.node.refs.Load(); n != 0 {
			t.Errorf("leak: %d references", n)
		}
	}
	t.Logf("%d reads (%d without a load), %d records", w.reads.Load(), w.hits.Load(), len(w.log.records))
	if w.frames.Load()+w.loads.Load()+w.stale.Load()+w.soft.Load() > 0 {
		t.Errorf("%d stale, %d fresh after an Expire; %d frames wrongly accepted, %d loads wrongly stored", w.stale.Load(), w.soft.Load(), w.frames.Load(), w.loads.Load())
	}
}
