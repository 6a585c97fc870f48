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
	source [leaves]struct {
		sync.Mutex // also orders the writers of a leaf
		v          atomic.Int64
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

// local is a stand-in for the local tier.
type local struct {
	f  *Fences
	mu sync.Mutex
	m  map[string]*thing
}

// thing is an entry.
type thing struct {
	Subject
	In    *Namespace
	value int64
	mark  uint64
	seen  atomic.Uint64
	nodes []*Node
	ended atomic.Bool // by an Expire
	dead  atomic.Bool
}

func (l *local) get(text string) *thing {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.m[text]
}

func (l *local) set(t *thing) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if old := l.m[t.Key]; old != nil {
		l.gone(old)
	}
	l.m[t.Key] = t
}

func (l *local) remove(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if old := l.m[text]; old != nil {
		delete(l.m, text)
		l.gone(old)
	}
}

func (l *local) gone(t *thing) {
	l.f.Drop(t.nodes)
}

// owner finds things of a namespace.
type owner struct {
	of     *local
	stem   string
	spells bool
}

func (o *owner) Spells() bool { return o.spells }

func (o *owner) EndKey(id string, fresh int64) {
	if t := o.of.get(o.stem + id); t != nil {
		if fresh != Forever {
			t.ended.Store(true)
			return
		}
		t.dead.Store(true)
		o.of.remove(t.Key)
	}
}

const (
	isFresh = iota
	isStale
	isDead
)

// state says how a thing of the local tier may be served.
func (p *process) state(t *thing) int {
	if t.dead.Load() {
		return isDead
	}
	seen := t.seen.Load()
	quiet := t.In.Quiet(t.mark, seen)
	for _, n := range t.nodes {
		quiet = quiet && !n.Since(t.mark, seen)
	}
	if !quiet {
		now, fresh, ok := p.Check(t.In, t.nodes, t.mark, seen, func() string { return t.Key })
		if !ok {
			t.dead.Store(true)
			return isDead
		}
		if fresh != Forever {
			t.ended.Store(true)
		}
		raise(&t.seen, now)
	}
	if t.ended.Load() {
		return isStale
	}
	return isFresh
}

// put stores a loaded value, unless it was overtaken. It returns a thing in any case.
func (p *process) put(i int, value int64, m Mark, on *Deps, store, expired bool) (*thing, bool) {
	t := &thing{In: p.in(i), Subject: Subject{xxhash.Sum64String(p.text[i]), p.text[i], on}, value: value, mark: m.Tick}
	t.ended.Store(expired)
	bad := p.oracle.over(&t.Subject, func(r *applied) bool { return !r.soft && r.tick > m.Tick })
	late := p.oracle.over(&t.Subject, func(r *applied) bool { return r.soft && r.tick > m.Tick })
	if !store {
		return t, false
	}
	now := p.Tick()
	nodes, fresh, ok := p.Hold(m, t.In, &t.Subject)
	t.nodes = nodes
	t.seen.Store(now)
	if fresh != Forever {
		t.ended.Store(true)
	}
	ok = ok && p.Enter(m, t.Hash, func(fresh int64) {
		if fresh != Forever {
			t.ended.Store(true)
		}
		if bad || late && !t.ended.Load() {
			p.loads.Add(1)
		}
		p.local.set(t)
	})
	if !ok {
		p.local.gone(t)
	}
	return t, ok
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

type applied struct {
	tick uint64
	pos  invalidate.Position
	soft bool
}

// oracle remembers the latest record of each scope.
type oracle struct {
	mu   sync.Mutex
	last map[invalidate.Fence]*applied
}

func (o *oracle) note(r invalidate.Fence, tick uint64, pos invalidate.Position) { // after Store; the tick is from before it
	o.mu.Lock()
	defer o.mu.Unlock()
	a := o.last[r]
	if a == nil {
		a = &applied{soft: r.Soft}
		o.last[r] = a
	}
	a.tick, a.pos = max(a.tick, tick), max(a.pos, pos)
}

// over reports whether a record that is new, by the function, covers a subject.
func (o *oracle) over(s *Subject, isNew func(*applied) bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for r, a := range o.last {
		if isNew(a) && covers(r.Scope, s) {
			return true
		}
	}
	return false
}

func covers(r invalidate.Scope, s *Subject) bool {
	var on Deps
	if s.On != nil {
		on = *s.On
	}
	text := r.Text()
	switch r.Kind() {
	case invalidate.KindKey:
		return text == s.Key || slices.Contains(on.Keys, r.Hash())
	case invalidate.KindTag:
		return slices.Contains(on.Tags, r.Hash())
	case invalidate.KindPrefix:
		return strings.HasPrefix(s.Key, text) || len(on.Keys) > 0 && slices.Contains(on.Prefixes, xxhash.Sum64String(text[:strings.LastIndexByte(text, ':')+1]))
	case invalidate.KindAll:
	}
	return true
}

func (p *process) accept(in *Namespace, s *Subject, f *frame) (fresh int64, ok bool) {
	bad := p.oracle.overFrame(s, f.mark, false)
	late := p.oracle.overFrame(s, f.mark, true)
	fresh, ok = p.Accepts(f.mark, in, s)
	if ok && (bad || late && fresh == Forever) {
		p.frames.Add(1)
	}
	return fresh, ok
}

func (o *oracle) overFrame(s *Subject, m Mark, isSoft bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for r, a := range o.last {
		than := m.Scope
		if r.Scope.Kind() == invalidate.KindKey && !r.Soft {
			than = m.Key
		}
		if a.soft == isSoft && a.pos > than && covers(r.Scope, s) && (isSoft || r.Scope.Text() != s.Key) { // its cell was removed
			return true
		}
	}
	return false
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
		rec = record{p.scope(r, i), 0, i, s.v.Add(1)}
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
	tick := p.Tick() + 1
	p.Store(rec.Fence, rec.pos)
	if rec.root < 0 {
		return
	}
	p.oracle.note(rec.Fence, tick, rec.pos)
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
		value = p.source[i].v.Load()
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
	return 1500 * time.Millisecond
}

func TestWorld(t *testing.T) {
	for name, size := range map[string]func(*testing.T){"that forgets": small, "that remembers": func(*testing.T) {}} {
		t.Run(name, func(t *testing.T) {
			size(t)
			play(t)
		})
	}
}

func play(t *testing.T) {
	w := &world{stop: time.Now().Add(span())}
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
