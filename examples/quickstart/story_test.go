package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/tier/tiertest"
)

var errGone = errors.New("gone")

// rig is a story to be spoilt: what both processes share, and the way of each to
// the log.
type rig struct {
	*index
	remote *tiertest.Faulty
	log    *logtest.Memory
	links  []invalidate.Log // in the order of the processes
}

func newRig(t *testing.T) *rig {
	x, err := newIndex("testdata")
	if err != nil {
		t.Fatal(err)
	}
	log := logtest.NewMemory(logtest.MemoryConfig{})
	return &rig{
		index:  x,
		remote: tiertest.NewFaulty(tiertest.NewMemory()),
		log:    log,
		links:  []invalidate.Log{log, log},
	}
}

func (r *rig) fleet() *fleet {
	f := &fleet{bound: r.log.Bound(), remote: r.remote}
	f.log = func() (log invalidate.Log) {
		log, r.links = r.links[0], r.links[1:]
		return log
	}
	return f
}

// spoilt returns a log whose pages how has spoilt.
func spoilt(log invalidate.Log, how func(*invalidate.Page)) invalidate.Log {
	f := logtest.NewFaulty(log)
	f.Corrupt(func(p invalidate.Page) invalidate.Page {
		how(&p)
		return p
	})
	return f
}

// A step that does not happen is an error that names it: so what the story
// tells is what was so. Time is virtual here, the second process's clock
// included.
func TestStepsThatDoNotHappen(t *testing.T) {
	for _, tc := range []struct {
		step, name string
		sabotage   func(*rig)
	}{
		{"cold", "a broken source", func(r *rig) { r.broken.Store(true) }},
		{"cold", "a package that vanished", func(r *rig) { r.paths[0] = "vanished" }},
		{"merged", "no shared tier", func(r *rig) { r.remote.Fail(errGone) }},
		{"elsewhere", "lost fills", func(r *rig) {
			r.remote.FailKeys(errGone, "default:packages:v1:alpha")
		}},
		{"negative", "an absence that is not shared", func(r *rig) {
			r.remote.FailKeys(errGone, "default:packages:v1:no%2Fsuch%2Fpackage", "default:packages:v1:no/such/package")
		}},
		{"invalidated", "one directory alone", func(r *rig) {
			r.paths = []string{"alpha", "alpha/beta", "delta"}
		}},
		{"invalidated", "a log that tells nothing", func(r *rig) {
			r.links[1] = spoilt(r.log, func(p *invalidate.Page) {
				p.Keys, p.Scopes = emptied(p.Keys), emptied(p.Scopes)
			})
		}},
		{"cut off", "a lease longer than the bound", func(r *rig) {
			r.links[1] = r.log.Handle(4 * r.log.Bound())
		}},
		{"strict", "a bound that is not that of the others", func(r *rig) {
			r.links[0] = spoilt(r.log.Handle(r.log.Bound()/8), func(p *invalidate.Page) { p.Bound = 0 })
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				tc.sabotage(r)
				var out bytes.Buffer
				err := tell(t.Context(), r.index, r.fleet(), &out)
				if err == nil || !strings.Contains(err.Error(), `step "`+tc.step+`" did not happen`) {
					t.Errorf("tell = %v, want an error about step %q, after:\n%s", err, tc.step, &out)
				}
			})
		})
	}
}

// emptied returns records that say nothing, in the places of those that do.
func emptied(records []invalidate.Record) []invalidate.Record {
	var none []invalidate.Record
	for _, r := range records {
		r.Fences = nil
		none = append(none, r)
	}
	return none
}

// Where computing takes no time, what takes time is what is promised to: nothing
// is old for longer than the bound, and a strict call takes as long as that.
func TestTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		var out bytes.Buffer
		start := time.Now()
		if err := tell(t.Context(), r.index, r.fleet(), &out); err != nil {
			t.Fatalf("tell = %v, after:\n%s", err, &out)
		}
		if took := time.Since(start); took > 6*time.Second {
			t.Errorf("the story takes %v, want two bounds of 2s, 1s until the log is asked again, and less than 1s for the rest", took)
		}
		got := strings.Join(strings.Fields(out.String()), " ")
		for _, want := range []string{
			"the call took 2s, until", "log records 7 7", "log gaps 0 0", "log bumps 1 1", "lease lapses 0 2",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("the output lacks %q:\n%s", want, &out)
			}
		}
	})
}
