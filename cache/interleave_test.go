package cache_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/internal/script"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// The stories in testdata/log show the races that the log, the lease and the frames' positions
// prevent. Each file shows one race, and why no read is wrong. The stories force the races:
// messages are held on the wire, processes sleep, and servers forget. Read the stories in order
// to learn the protocol.
//
// commit SCOPES ends a transaction with a row in the outbox.
//
// A process is a, b or c. The story starts c. Messages arrive by themselves. These commands stop
// them:
//
//	hold WHO get        holds the answer to the next get
//	hold WHO claim      holds the next claim before it arrives; also fill, unlink
//	hold WHO append     holds the next record before it arrives at the log
//	hold WHO number     holds the next numbering of outbox rows before it arrives at the log
//	hold WHO sync       holds the log's next answer
//	hold WHO tail       holds all that the log sends by itself
//	hold WHO decode     stops before the next value is decoded, after its frame was checked
//	hold WHO renewal    stops when a lease that had run out is good again
//	release WHO WHAT    ends the hold
//	resend WHO WHAT     the next claim, fill or append is sent twice
//	copy WHO WHAT       a copy of the next claim, fill or append stays on the wire
//	deliver WHO         the copies arrive
func TestInterleavings(t *testing.T) {
	script.Run(t, "testdata/log/*.txt", newLogStage)
}

// logStage is a stage whose processes follow one log.
type logStage struct {
	stage
	t      *testing.T
	log    *logtest.Memory
	redis  *tiertest.Memory
	names  *names
	outbox *outbox
	all    []*logProcess
	dump   dump
}

// logProcess is a process with a link to the log, and a gate on both of its links.
type logProcess struct {
	*process
	gate    *gate
	loglink *logtest.Faulty
	clock   cache.Cache[string, string] // caches nothing
	built   cache.Cache[string, string] // built from other values
	ear     ear
	pace    pace
	losing  atomic.Bool
	refused int64                                                // refused frames that were reported
	remove  func(context.Context, []string, time.Duration) error // removes cells
}

func newLogStage(t *testing.T, env *script.Env) map[string]script.Command {
	w := &logStage{
		stage: stage{env: env, source: newOrigin()}, t: t,
		log: logtest.NewMemory(logtest.MemoryConfig{Bound: bound}), redis: tiertest.NewMemory(), names: &names{text: map[invalidate.Fence]string{}},
		outbox: &outbox{rows: map[int][]invalidate.Scope{}},
	}
	for _, name := range []string{"a", "b"} {
		w.start(name).ear.open.Store(true)
	}
	commands := map[string]script.Command{
		"source": {Args: "[what...]", Options: []string{"slow"}, Run: w.source.command},
		"policy": {Options: []string{"ttl", "stale", "stale-if-error", "soft-timeout"}, Run: w.policy},
		"start":  {Args: "who", Run: w.startLate},
		"ask":    {Args: "who", Run: w.ask},
		"commit": {Args: "scopes...", Run: w.commit},
	}
	w.addFaults(commands)
	for i, name := range []string{"a", "b", "c"} {
		commands[name] = script.Command{
			Args: "verb [words...]", Options: []string{"max-age", "strict"},
			Run: func(c *script.Call) error {
				if i >= len(w.all) {
					return fmt.Errorf("%s has not started", name)
				}
				return w.command(w.all[i], c)
			},
		}
	}
	return commands
}

// start starts a process, which then contacts the log for the first time. Each process is a
// little further away than the one before.
func (w *logStage) start(name string) *logProcess {
	far := time.Duration(len(w.all)) * 100 * time.Microsecond
	p := &logProcess{process: &process{name: name, env: w.env, source: w.source, redis: w.redis, wire: time.Millisecond + far}}
	p.gate = newGate(p)
	defer p.pace.call()()
	p.link = tiertest.NewFaulty(remoteGate{p.gate, w.redis, &w.dump})
	p.loglink = logtest.NewFaulty(logGate{p.gate, w.log, w.names, w.outbox})
	p.tiers = open(w.t, cache.TiersConfig{
		Remote: logRemote{wire{p.process, p.link}, p}, Log: logWire{p, w.names}, Logger: p.logger(), Codecs: []codec.Codec{p.codec()},
		ClaimTTL: 10 * time.Second, // only one story shows a renewed claim
	})
	w.t.Cleanup(func() { // before the tiers close
		p.ear.open.Store(false)
		p.loglink.Heal()
		p.link.Heal()
		p.gate.open()
	})
	p.things = with(w.t, p.tiers, cache.Config[string, string]{Load: p.load, LoadMany: p.loadMany, Codec: p.codec(), Policy: patch{RemoteTimeout: new(bound / 4)}})
	p.clock = with(w.t, p.tiers, cache.Config[string, string]{Namespace: "clock", Policy: patch{Off: new(true)}})
	p.built = with(w.t, p.tiers, cache.Config[string, string]{Namespace: "built", Codec: p.codec(), Policy: patch{RemoteTimeout: new(bound / 4)}})
	w.procs, w.all = append(w.procs, p.process), append(w.all, p)
	advance(10 * time.Millisecond)
	return p
}

func (w *logStage) startLate(c *script.Call) error {
	w.start(c.Arg(0)).ear.open.Store(true)
	return nil
}

// ask makes a process contact the log now, like a reader that accepts only what is known to be
// true at this instant.
func (w *logStage) ask(c *script.Call) error {
	for _, p := range w.all {
		if p.name == c.Arg(0) {
			defer p.pace.call()()
			_, _ = p.clock.Fetch(c.Context(), "now", nil, cache.MaxAge(1)) // a miss without a loader
		}
	}
	return nil
}

// command makes one call of the cache's API. It waits while its process sleeps.
func (w *logStage) command(p *logProcess, c *script.Call) error {
	p.gate.awake()
	defer p.noteRefused()
	defer p.pace.call()()
	switch c.Arg(0) {
	case "get":
		return p.get(c, p.things, c.Arg(1), nil)
	case "set":
		s, err := scopeOf(cache.DefaultTenant, "key", c.Arg(1))
		if err != nil {
			return err
		}
		w.names.add(s, "key "+c.Arg(1))
	case "build": // builds a value from a thing or from another built value
		return p.get(c, p.built, c.Arg(1), func(ctx context.Context, _ string) (string, error) {
			if from := c.Arg(2); !strings.HasPrefix(from, "page") {
				return p.things.Get(ctx, from)
			}
			return p.built.Get(ctx, c.Arg(2))
		})
	case "invalidate":
		return p.invalidate(c, w.names, p.tiers.Invalidate)
	case "expire":
		return p.invalidate(c, w.names, p.tiers.Expire)
	}
	return p.process.command(c)
}

func (p *logProcess) get(c *script.Call, things cache.Cache[string, string], k string, load cache.Loader[string, string]) error {
	var opts []cache.Option
	if c.Has("max-age") {
		opts = append(opts, cache.MaxAge(c.Duration("max-age", 0)))
	}
	l, ctx := newLook(c.Context(), cache.DefaultTenant)
	r, err := things.Fetch(ctx, k, load, opts...)
	l.returned.Store(true)
	p.gate.awake()
	p.noteRefused()
	if err != nil {
		c.Printf("%s: %s", k, cause(err))
		return nil
	}
	from := map[cache.Source]string{
		cache.Local: "kept here", cache.Remote: "from the remote tier", cache.Load: "from the source",
	}[r.Source]
	if r.Stale {
		from += ", stale"
	}
	c.Printf("%s = %s, %s", k, r.Value, from)
	return nil
}

// invalidate invalidates or expires the scopes of KIND WHAT pairs.
func (p *logProcess) invalidate(c *script.Call, n *names, do func(context.Context, ...invalidate.Scope) error) error {
	scopes, err := n.scopes(c.Args()[1:])
	if err != nil {
		return err
	}
	if c.Bool("strict", false) {
		scopes = append(scopes, invalidate.Strict)
	}
	err = do(c.Context(), scopes...)
	p.gate.awake()
	if pending, ok := errors.AsType[*invalidate.PendingError](err); ok {
		c.Printf("not acknowledged: %d pending", pending.Pending)
		return nil
	}
	if report(c, c.Arg(0), err); err == nil {
		c.Printf("acknowledged")
	}
	return nil
}

// scopes returns the scopes of KIND WHAT pairs, and remembers their names.
func (n *names) scopes(words []string) (scopes []invalidate.Scope, err error) {
	words = append(words, "")
	for i := 0; i+1 < len(words); i += 2 {
		s, err := scopeOf(cache.DefaultTenant, words[i], words[i+1])
		if err != nil {
			return nil, err
		}
		n.add(s, words[i]+" "+words[i+1])
		scopes = append(scopes, s)
	}
	return scopes, nil
}

func scopeOf(tenant, kind, what string) (invalidate.Scope, error) {
	switch kind {
	case "key":
		id, err := key.Of(what)
		if err != nil {
			return invalidate.Scope{}, err
		}
		k, err := key.Space{Tenant: tenant, Namespace: "things"}.Key(id)
		return invalidate.Key(k), err
	case "tag":
		return invalidate.Tag(tenant, what), nil
	case "prefix":
		return prefixOf(what), nil
	case "all":
		return invalidate.All(), nil
	}
	return invalidate.Scope{}, fmt.Errorf("invalidate key, tag, prefix or all, not %s", kind)
}

// noteRefused reports the frames that were refused since its last call.
func (p *logProcess) noteRefused() {
	if n := p.tiers.Stats().Total.CellsRefused; n > p.refused {
		p.refused = n
		p.env.Printf("%s refuses the frame", p.name)
	}
}

var errLost = errors.New("connection reset")

// addFaults adds the commands that cause and end faults in a story:
//
//	cut | hang WHO WHAT   one of WHO's links: sync, tail, redis, or log for sync and tail
//	mend WHO              heals all links of WHO
//	lose WHO              WHO's next record is written, and the answer is lost
//	deafen WHO            the log sends WHO only answers
//	pause | resume WHO    puts a process to sleep, and wakes it
//	dump                  both servers write a dump, or a replica stops following
//	failover log | redis  the dump replaces the server
//	rewind N              the log loses its last N records without a trace
//	trim N                the log keeps its newest N records
func (w *logStage) addFaults(commands map[string]script.Command) {
	for name, do := range map[string]func(p *logProcess, kind string) error{
		"hold":    func(p *logProcess, kind string) error { return p.gate.hold(kind) },
		"release": func(p *logProcess, kind string) error { return p.gate.release(kind) },
		"resend":  func(p *logProcess, kind string) error { return p.gate.mark(p.gate.twice, kind) },
		"copy":    func(p *logProcess, kind string) error { return p.gate.mark(p.gate.copied, kind) },
		"cut": func(p *logProcess, way string) error {
			return p.way(way, func(f *tiertest.Faulty) { f.Fail(errCut) }, func(f *logtest.Faulty, ops ...logtest.Op) { f.Fail(errCut, ops...) })
		},
		"hang": func(p *logProcess, way string) error {
			return p.way(way, func(f *tiertest.Faulty) { f.Hang(true) }, func(f *logtest.Faulty, ops ...logtest.Op) { f.Hang(true, ops...) })
		},
	} {
		commands[name] = w.toProcess("who what", do)
	}
	for name, do := range map[string]func(p *logProcess){
		"lose":   func(p *logProcess) { p.losing.Store(true) },
		"deafen": func(p *logProcess) { p.loglink.DropTail(true) },
		"mend":   (*logProcess).mend,
		"pause":  func(p *logProcess) { p.gate.sleep(true) },
		"resume": func(p *logProcess) { p.gate.sleep(false) },
	} {
		commands[name] = w.toProcess("who", func(p *logProcess, _ string) error { do(p); return nil })
	}
	commands["deliver"] = w.toProcess("who", func(p *logProcess, _ string) error { return p.gate.deliver() })
	commands["dump"] = script.Command{Run: func(*script.Call) error {
		w.dump.log = w.log.Snapshot()
		return w.dump.take(w.redis)
	}}
	commands["failover"] = script.Command{Args: "server", Run: w.failover}
	commands["rewind"] = w.toLog((*logtest.Memory).Rewind)
	commands["trim"] = w.toLog((*logtest.Memory).Trim)
}

// mend makes new connections. Calls that hang in the old ones fail first.
func (p *logProcess) mend() {
	p.loglink.Fail(errCut)
	p.loglink.Hang(false)
	synctest.Wait()
	p.link.Heal()
	p.loglink.Heal()
}

func (w *logStage) toProcess(args string, do func(p *logProcess, what string) error) script.Command {
	return script.Command{Args: args, Run: func(c *script.Call) error {
		for _, p := range w.all {
			if p.name == c.Arg(0) {
				return do(p, c.Arg(1))
			}
		}
		return fmt.Errorf("no process is called %s", c.Arg(0))
	}}
}

func (w *logStage) toLog(do func(*logtest.Memory, int)) script.Command {
	return script.Command{Args: "records", Run: func(c *script.Call) error {
		n, err := strconv.Atoi(c.Arg(0))
		if err == nil {
			do(w.log, n)
		}
		return err
	}}
}

// way applies a fault to one of a process's links.
func (p *logProcess) way(name string, redis func(*tiertest.Faulty), log func(*logtest.Faulty, ...logtest.Op)) error {
	switch name {
	case "redis":
		redis(p.link)
	case "log":
		log(p.loglink)
	case "sync":
		log(p.loglink, logtest.Sync)
	case "tail":
		log(p.loglink, logtest.Tail)
	default:
		return fmt.Errorf("a process has no link %s", name)
	}
	return nil
}

func (w *logStage) failover(c *script.Call) error {
	switch c.Arg(0) {
	case "log":
		w.log.Restore(w.dump.log)
		return nil
	case "redis":
		return w.dump.restore(w.redis)
	}
	return fmt.Errorf("failover of %s, want log or redis", c.Arg(0))
}

// dump holds the servers' data as of the story's last dump.
type dump struct {
	log logtest.Snapshot

	mu    sync.Mutex      // protects the rest
	keys  map[string]bool // every key that was ever claimed
	cells map[string][]byte
}

func (d *dump) know(key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.keys == nil {
		d.keys = map[string]bool{}
	}
	d.keys[key] = true
}

func (d *dump) take(m *tiertest.Memory) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cells = map[string][]byte{}
	for k := range d.keys {
		cell, err := m.Get(context.Background(), k)
		if err != nil {
			return err
		}
		if cell != nil {
			d.cells[k] = cell
		}
	}
	return nil
}

func (d *dump) restore(m *tiertest.Memory) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	ctx := context.Background()
	for k := range d.keys {
		if err := m.Unlink(ctx, k); err != nil {
			return err
		}
		cell, ok := d.cells[k]
		if !ok {
			continue
		}
		n := tier.NewNonce()
		_, err := m.Claim(ctx, k, tier.Claim{Nonce: n, Lease: time.Second})
		_, ferr := m.Fill(ctx, k, tier.Fill{Nonce: n, Cell: cell, TTL: time.Hour})
		if err = errors.Join(err, ferr); err != nil {
			return err
		}
	}
	return nil
}
