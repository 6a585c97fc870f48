package cache_test

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// scene is a test in steps, in the time of a bubble. A step is a line, or ends with a semicolon. The
// last of a line may have a comment.
// The processes a and b of a duo read and write key 1, whose values carry the tag t:
//
//	a gets 1.2 load        reads: the value, where it is from, and "stale" if it is
//	a gets failed          or an error; see faults
//	a many 1.2             reads by GetMany; "a batches 0-9" reads these keys at once
//	a peeks 1.2            reads by Peek: a value or "nothing"
//	a page 1.2 load        reads key 1 of a cache whose values are built from these; see pages
//	a sets v               also deletes, deletes all, refreshes, expires, invalidates, settles, closes;
//	                       an error may follow
//	a sets-many            sets key 1 and the next to "set"; also deletes-many
//	a expires tag          a scope: key, prefix, tenant, tag, everything; SCOPE plays the scene for each of them;
//	                       also another-tag, another-tenant and prefix=things:1
//	a counts Fills.Stored=1 checks fields of Stats, and Reads: hits, misses and merged reads
//	a calls 3              checks the calls to the remote tier since the last such step; any skips the check
//	a breaker open         checks the state of the breaker
//	a audits Stale=1       checks the audits; those without a number are 0
//	go 5 a gets 1.1        does it in the background, once or as often
//	during 2 a deletes     the next two loads do it before they end; with a context of theirs
//	before fill b deletes  it happens right before a's next get, claim, claims (of a batch), fill or sync
//	later 1s a deletes     it happens in the background, after that time
//	wait 10s               lets time pass
//	took 1s                checks how long the last call in the foreground took; 1s-2s are bounds
//	loads 2                checks how often the source was called; <=2 is possible
//	batched 100 50         checks the keys of each LoadMany since the last such step, the largest first; any
//	running 1              checks how many loads run; peak 4 how many ran at most
//	previous 1.1           checks what the last load got as Previous, or "nothing"
//	cells 1                checks how many cells the remote tier has
//	source fails           also absent, declines, well, unchanged, changed, empty, full, takes=1s, is=v (every value)
//	source panics          also exits, deaf (to its context), calm
//	policy off             switches the cache off, or on
//	cell damaged           the cell changes by harm; "cell returns" puts back the one that was "noted"
//	says ttl=1s stale=1s   what each load says: also iferror=, keep=, nostore; "says" alone ends it
//	remote fails           also fails=get, hangs, hangs=get, slow=1s, gets=1s, fills=1s, well, empties
//	remote loses           answers to claims; also drops (fills), forgets (answers to fills)
//	remote bars=3          calls for this key fail
//	remote corrupt         every answer changes by harm
//	remote claims=1s       a claim of another process
//	a's log hangs          of one process; also fails, well, slow=1s
//	log trims              it forgets all records but the last; also restarts, ends (another log follows)
//	b restarts             another process takes its place; "b readies" waits for the log
//
// As a value, "any" is any, "any fresh" any that is not stale, "!1.1" any other than 1.1, and "empty" the empty one. "maybe" is any
// error or none, and "perhaps pending" that error or none.
//
// The options of a call are key=2, key=2-9 (a call for each), TTL=1s, MaxAge=1s, With=1s (a TTL), own
// (With of own), Fresh, SkipLocal and SkipRemote. The caller's context ends with
// timeout=1s or after=1s, or has ended before with ended or overdue. Checks are age=1s, fresh=1s (FreshFor), code=quota
// (of a remembered error), and bare (the remembered error has no more than its code).
type scene struct {
	name  string
	on    ground                             // or several: "alone paired"; empty: alone
	as    func(*tiertest.Faulty) tier.Remote // the form of the remote tier; nil: as it is
	tc    cache.TiersConfig
	cfg   thingConfig
	many  bool   // the source has LoadMany only
	err   error  // of the source that fails
	other *patch // the policy of b, if it is another
	own   patch  // of the option own
	pages *patch // the policy of the pages; nil: there are none
	harm  func(frame []byte) []byte
	steps string
}

// faults are the errors that a scene can name.
var faults = map[string]error{
	"error": errAny, "panic": errPanic, "goexit": cache.ErrGoexit, "recursive": cache.ErrRecursive,
	"down": errDown, "failed": errSource, "absent": cache.ErrNotFound, "unmodified": cache.ErrNotModified, "declined": cache.ErrDeclined, "miss": cache.ErrMiss, "slow": cache.ErrLoadTimeout,
	"closed": cache.ErrClosed, "cancelled": context.Canceled, "late": context.DeadlineExceeded, "large": cache.ErrTooLarge,
	"overloaded": cache.ErrOverloaded, "unavailable": cache.ErrUnavailable, "option": cache.ErrOption, "pending": new(invalidate.PendingError), "remembered": new(cache.RememberedError),
}

var (
	errDown  = errors.New("out of reach")
	errAny   = errors.New("any error")
	errPanic = errors.New("the source's panic")
)

// isFault reports whether err is a fault. A failure of the source must not pass for an absence.
func isFault(err, fault error) bool {
	switch fault.(type) { //nolint:errorlint // the very error
	case *invalidate.PendingError:
		_, ok := errors.AsType[*invalidate.PendingError](err)
		return ok
	case *cache.RememberedError:
		_, ok := errors.AsType[*cache.RememberedError](err)
		return ok
	}
	if fault == errAny { //nolint:errorlint // the very error
		return true
	}
	if fault == errSource && (errors.Is(err, cache.ErrNotFound) || errors.Is(err, cache.ErrNotModified)) { //nolint:errorlint // the very error
		return false
	}
	if fault == context.DeadlineExceeded && errors.Is(err, cache.ErrLoadTimeout) { //nolint:errorlint // the very error
		return false
	}
	return errors.Is(err, fault) && (fault != context.Canceled || !errors.Is(err, cache.ErrClosed)) //nolint:errorlint // the very error
}

// play plays each scene on each of its grounds.
func play(t *testing.T, all ...scene) {
	t.Helper()
	for _, s := range all {
		for on := range strings.FieldsSeq(string(cmp.Or(s.on, alone))) {
			each := []string{""}
			if strings.Contains(s.steps, "SCOPE") {
				each = slices.Sorted(maps.Keys(scopes(t)))
			}
			for _, scope := range each {
				bubble(t, strings.Join(strings.Fields(s.name+" "+on+" "+scope), " "), func(t *testing.T) {
					s.play(t, ground(on), strings.ReplaceAll(s.steps, "SCOPE", scope))
				})
			}
		}
	}
}

func (s scene) play(t *testing.T, on ground, steps string) {
	if s.cfg.Tags == nil {
		s.cfg.Tags = tagT
	}
	src := &source{}
	if s.many {
		s.cfg.LoadMany = src.loadMany
	} else if s.cfg.Load == nil && s.cfg.LoadMany == nil {
		s.cfg.Load = src.load
	}
	if s.as == nil {
		s.as = asIs
	}
	p := &player{T: t, scene: s, duo: newDuo(t, on, s.tc, s.cfg, s.as)}
	p.src = src
	if s.other != nil {
		s.cfg.Policy = *s.other
		p.c[1] = with(t, p.tiers[1], s.cfg)
	}
	p.build(0)
	p.build(1)
	for step := range strings.FieldsFuncSeq(steps, func(r rune) bool { return r == ';' || r == '\n' }) {
		step, _, _ = strings.Cut(step, "//")
		if words := strings.Fields(step); len(words) > 0 {
			p.do(t.Context(), words)
			synctest.Wait()
		}
	}
	for i := range p.wire {
		p.wire[i].Heal()
		p.link[i].Heal()
	}
	p.calls.Wait()
	p.src.mu.Lock()
	running, took := p.src.running, p.src.took
	p.src.mu.Unlock()
	if running > 0 { // a load that ignores its context ends in its time
		advance(took)
	}
}

// player is a scene that is being played.
type player struct {
	*testing.T
	scene
	*duo
	built [2]things      // the pages
	calls sync.WaitGroup // in the background
	hooks []hook         // steps before messages of a
	took  time.Duration  // by the last call that was not in the background
	cell  []byte         // that was noted
}

// build makes the pages of a process.
func (p *player) build(i int) {
	if p.pages != nil {
		p.built[i] = with(p.T, p.tiers[i], thingConfig{Namespace: "pages", Policy: *p.pages, Load: p.c[i].Get})
	}
}

// opOf are the messages that a step can come before. A sync is one to the log, with the record of a key.
var opOf = map[string]tiertest.Op{"get": tiertest.Get, "claim": tiertest.Claim, "fill": tiertest.Fill, "sync": -1}

// hook is a step right before a message to the remote tier.
type hook struct {
	op    tiertest.Op
	words []string
}

// message makes the steps that come before a message of a.
func (p *player) message(ctx context.Context, op tiertest.Op, _ []string) {
	due := slices.DeleteFunc(slices.Clone(p.hooks), func(h hook) bool { return h.op != op })
	p.hooks = slices.DeleteFunc(p.hooks, func(h hook) bool { return h.op == op })
	for _, h := range due {
		p.do(context.WithoutCancel(ctx), h.words)
	}
}

func (p *player) do(ctx context.Context, words []string) {
	p.Helper()
	if words[0] == "go" {
		n, err := strconv.Atoi(words[1])
		if words = words[1:]; err == nil {
			words = words[1:]
		}
		for range max(n, 1) {
			for _, words := range each(words) {
				p.calls.Go(func() { p.call(ctx, words) })
			}
		}
		return
	}
	arg := words[min(1, len(words)-1)]
	switch words[0] {
	case "a", "b":
		begun := time.Now()
		for _, words := range each(words) {
			p.call(ctx, words)
		}
		p.took = time.Since(begun)
	case "during":
		left := p.number(arg)
		p.src.set(func(s *source) {
			s.during = func(ctx context.Context) {
				if left--; left >= 0 {
					p.call(ctx, words[2:])
				}
			}
		})
	case "before":
		p.hooks = append(p.hooks, hook{opOf[arg], words[2:]})
		p.wire[0].Before(p.message)
		p.link[0].Before(func(ctx context.Context, op logtest.Op, a invalidate.Append) {
			if op == logtest.Sync && len(a.Keys) > 0 {
				p.message(ctx, opOf["sync"], nil)
			}
		})
	case "later":
		p.calls.Go(func() {
			<-time.After(p.duration(arg))
			p.do(ctx, words[2:])
		})
	case "wait":
		advance(p.duration(arg))
	case "took":
		least, most, bounds := strings.Cut(arg, "-")
		if p.took != p.duration(least) && (!bounds || p.took < p.duration(least) || p.took > p.duration(most)) {
			p.Errorf("the call took %v, want %s", p.took, arg)
		}
	case "running", "peak":
		p.src.set(func(s *source) {
			if n := map[string]int{"running": s.running, "peak": s.peak}[words[0]]; n != p.number(arg) {
				p.Errorf("%s = %d loads, want %s", words[0], n, arg)
			}
		})
	case "loads":
		most, bounded := strings.CutPrefix(arg, "<=")
		if n := p.src.total(); n > p.number(most) || n != p.number(most) && !bounded {
			p.Errorf("the source was called %d times, want %s", n, arg)
		}
	case "batched":
		p.batched(strings.Join(words[1:], " "))
	case "previous":
		if v := cmp.Or(p.src.previous, "nothing"); v != arg {
			p.Errorf("the last load got %s as Previous, want %s", v, arg)
		}
	case "cells":
		if n := p.memory.Len(); n != p.number(arg) {
			p.Errorf("%d cells, want %s", n, arg)
		}
	case "source":
		p.source(arg)
	case "policy":
		var table policy.Table
		if arg == "off" {
			table = policy.Table{{Patch: patch{Off: new(true)}}}
		}
		must(p.T, p.tiers[0].SetPolicies(table))
	case "cell":
		switch arg {
		case "noted":
			p.cell = cellOf(p.T, p.memory, cell1)
		case "returns":
			store(p.T, p.memory, cell1, p.cell, 2*time.Hour)
		default:
			store(p.T, p.memory, cell1, p.harm(cellOf(p.T, p.memory, cell1)), 2*time.Hour)
		}
	case "says":
		p.says(words[1:])
	default:
		p.fault(words)
	}
}
