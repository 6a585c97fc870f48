package pipeline

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"
)

// A warmer holds what is to be warmed up, by name, and runs it. It takes no
// part in the queue of events: who drains that hands the warm-ups over here,
// whether it waits for them or not.
//
// It starts a goroutine per run, and a timer for what waits, so that it has
// nothing to close when it is idle.
type warmer struct {
	cfg     *Config
	numbers *counters
	observe func(outcome string, took time.Duration)
	base    context.Context
	cancel  context.CancelFunc
	wg      sync.WaitGroup

	mu      sync.Mutex // protects the rest
	tasks   map[string]*task
	list    []*task // the same, to go through
	running int
	order   uint64 // the newest task's
	epoch   uint64 // events up to it have been applied
	reach   *reach // of the batch in the stages, or that waits to be tried again
	timer   *time.Timer
	stopped bool
}

// task is a name that waits for its run or is in it.
type task struct {
	name   string
	order  uint64
	wants  map[string]want // by subject
	wide   bool            // more subjects than are kept
	due    time.Time
	latest time.Time // due is not put off beyond it
	run    *Warmup   // nil: it waits
	at     int       // in warmer.list
}

// want is why a task is there. It goes when a later event about the subject
// does not ask for the task.
type want struct {
	epoch    uint64
	entities []string // what the subject's events invalidated
}

// maxWants is how many subjects of a task are told apart. A task that more ask
// for is a page that shows a bit of everything: any event is taken to change it.
const maxWants = 64

func newWarmer(cfg *Config, numbers *counters) *warmer {
	w := &warmer{cfg: cfg, numbers: numbers, tasks: map[string]*task{}}
	w.base, w.cancel = context.WithCancel(context.Background())
	return w
}

// begin is called before a batch goes into the stages. Runs that it reaches are
// overtaken; tasks that it reaches do not start until settle.
func (w *warmer) begin(ctx context.Context, r *reach) error {
	w.mu.Lock()
	w.reach = r
	var runs []*Warmup
	for _, t := range w.list {
		switch {
		case t.run == nil:
		case r.reaches(t) || r.has(t.run.claims):
			runs = append(runs, t.run)
		default:
			t.run.miss(r)
		}
	}
	w.mu.Unlock()
	for _, run := range runs { // without mu: one of them may be storing
		if err := run.overtake(ctx); err != nil {
			return err
		}
	}
	return nil
}

// settle is called when the batch has passed all stages. What its subjects asked
// for before is no longer wanted, what they ask for now is.
func (w *warmer) settle(p *Plan) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.reach
	w.reach = nil
	w.epoch = max(w.epoch, p.Last)
	for _, t := range slices.Backward(w.list) { // remove fills the gap from the end
		t.withdraw(r)
		if t.run != nil || t.wanted() { // the end of a run sees to it
			continue
		}
		if _, again := r.warms[t.name]; !again {
			w.remove(t)
			w.numbers.inc(skipped)
		}
	}
	if w.cfg.Warm != nil && !w.stopped {
		for i := range p.Warms {
			w.add(&p.Warms[i], p)
		}
	}
	w.kickLocked()
}

// withdraw drops the wants that later events of their subjects took the place of.
func (t *task) withdraw(r *reach) {
	for subject, old := range t.wants {
		if r.subjects[subject] > old.epoch {
			delete(t.wants, subject)
		}
	}
}

func (t *task) wanted() bool { return t.wide || len(t.wants) > 0 }

func (w *warmer) add(warm *Warm, p *Plan) {
	now := time.Now()
	t := w.tasks[warm.Name]
	if t == nil {
		if len(w.list) >= w.cfg.MaxWarms {
			w.numbers.inc(refusedWarms)
			return
		}
		t = w.insert(&task{name: warm.Name, wants: map[string]want{}, latest: now.Add(10 * w.cfg.Debounce)})
	}
	t.delay(now.Add(w.cfg.Debounce))
	for _, name := range warm.Subjects {
		if _, ok := t.wants[name]; !ok && len(t.wants) >= maxWants {
			t.wide = true
			continue
		}
		i, _ := slices.BinarySearchFunc(p.Subjects, name, func(s Subject, name string) int { return strings.Compare(s.Name, name) })
		t.wants[name] = want{epoch: p.Subjects[i].Epoch, entities: p.Subjects[i].invalidates}
	}
}

func (w *warmer) insert(t *task) *task {
	w.order++
	t.order, t.at = w.order, len(w.list)
	w.tasks[t.name] = t
	w.list = append(w.list, t)
	return t
}

func (w *warmer) remove(t *task) {
	last := len(w.list) - 1
	w.list[t.at] = w.list[last]
	w.list[t.at].at = t.at
	w.list[last] = nil
	w.list = w.list[:last]
	delete(w.tasks, t.name)
}

func (t *task) delay(until time.Time) {
	if until.After(t.latest) {
		until = t.latest
	}
	if until.After(t.due) {
		t.due = until
	}
}

// reach is what a batch may make stale.
type reach struct {
	all             bool
	subjects        map[string]uint64 // the epoch of the last word on each
	entities, warms map[string]struct{}
}

func newReach(p *Plan) reach {
	r := reach{all: p.All, subjects: map[string]uint64{}, entities: map[string]struct{}{}, warms: map[string]struct{}{}}
	for i := range p.Subjects {
		r.subjects[p.Subjects[i].Name] = p.Subjects[i].Epoch
	}
	for _, name := range p.Entities {
		r.entities[name] = struct{}{}
	}
	for i := range p.Warms {
		r.warms[p.Warms[i].Name] = struct{}{}
	}
	return r
}

// reaches reports whether what the task loads may be changed by the batch: when
// it is about one of the task's subjects, invalidates what one of them did, or
// asks for the task itself.
func (r *reach) reaches(t *task) bool {
	if _, ok := r.warms[t.name]; ok || r.all || t.wide {
		return true
	}
	for subject, want := range t.wants {
		if _, ok := r.subjects[subject]; ok || r.has(want.entities) {
			return true
		}
	}
	return false
}

// has reports whether the batch invalidates one of the entities.
func (r *reach) has(entities []string) bool {
	for _, name := range entities {
		if _, ok := r.entities[name]; ok {
			return true
		}
	}
	return false
}
