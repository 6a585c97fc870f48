package cache_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/script"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

var (
	errCut  = errors.New("connection refused")
	errLost = errors.New("connection reset")
)

// addFaults adds the commands that stop messages, which arrive by themselves otherwise:
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
//
// and those that cause and end faults:
//
//	cut | hang WHO WHAT   one of WHO's links: sync, tail, redis, or log for sync and tail
//	mend WHO              heals all links of WHO
//	lose WHO WHAT         claim: WHO's claims are granted, and the answers are lost; append: the next
//	                      record is written, and the answer is lost
//	deafen WHO            the log sends WHO only answers
//	pause | resume WHO    puts a process to sleep, and wakes it
//	dump                  both servers write a dump, or a replica stops following
//	failover log | redis  the dump replaces the server
//	rewind N              the log loses its last N records without a trace
//	trim N                the log keeps its newest N records
func (w *stage) addFaults(commands map[string]script.Command) {
	for name, do := range map[string]func(p *process, kind string) error{
		"hold":    func(p *process, kind string) error { return p.gate.hold(kind) },
		"release": func(p *process, kind string) error { return p.gate.release(kind) },
		"resend":  func(p *process, kind string) error { return p.gate.mark(p.gate.twice, kind) },
		"copy":    func(p *process, kind string) error { return p.gate.mark(p.gate.copied, kind) },
		"cut": func(p *process, way string) error {
			return p.way(way, func(f *tiertest.Faulty) { f.Fail(errCut) }, func(f *logtest.Faulty, ops ...logtest.Op) { f.Fail(errCut, ops...) })
		},
		"lose": func(p *process, what string) error {
			switch what {
			case "claim":
				p.link.LoseClaims(true)
			case "append":
				p.losing.Store(true)
			default:
				return fmt.Errorf("cannot lose a %s", what)
			}
			return nil
		},
		"hang": func(p *process, way string) error {
			return p.way(way, func(f *tiertest.Faulty) { f.Hang(true) }, func(f *logtest.Faulty, ops ...logtest.Op) { f.Hang(true, ops...) })
		},
	} {
		commands[name] = w.toProcess("who what", do)
	}
	for name, do := range map[string]func(p *process){
		"ask":    (*process).ask,
		"deafen": func(p *process) { p.loglink.DropTail(true) },
		"mend":   (*process).mend,
		"pause":  func(p *process) { p.gate.sleep(true) },
		"resume": func(p *process) { p.gate.sleep(false) },
	} {
		commands[name] = w.toProcess("who", func(p *process, _ string) error { do(p); return nil })
	}
	commands["deliver"] = w.toProcess("who", func(p *process, _ string) error { return p.gate.deliver() })
	commands["dump"] = script.Command{Run: func(*script.Call) error {
		w.dump.log = w.log.Snapshot()
		return w.dump.take(w.redis)
	}}
	commands["failover"] = script.Command{Args: "server", Run: w.failover}
	commands["rewind"] = w.toLog((*logtest.Memory).Rewind)
	commands["trim"] = w.toLog((*logtest.Memory).Trim)
}

// ask makes a process contact the log now, like a reader that accepts only what is known to be
// true at this instant.
func (p *process) ask() {
	defer p.pace.call()()
	_, _ = p.clock.Fetch(context.Background(), "now", nil, cache.MaxAge(1)) // a miss without a loader
}

// mend makes new connections. Calls that hang in the old ones fail first.
func (p *process) mend() {
	if p.loglink != nil {
		p.loglink.Fail(errCut)
		p.loglink.Hang(false)
		synctest.Wait()
	}
	p.heal()
}

func (p *process) heal() {
	p.link.Heal()
	if p.loglink != nil {
		p.loglink.Heal()
	}
}

func (w *stage) toProcess(args string, do func(p *process, what string) error) script.Command {
	return script.Command{Args: args, Run: func(c *script.Call) error {
		for _, p := range w.procs {
			if p.name == c.Arg(0) {
				return do(p, c.Arg(1))
			}
		}
		return fmt.Errorf("no process is called %s", c.Arg(0))
	}}
}

func (w *stage) toLog(do func(*logtest.Memory, int)) script.Command {
	return script.Command{Args: "records", Run: func(c *script.Call) error {
		n, err := strconv.Atoi(c.Arg(0))
		if err == nil {
			do(w.log, n)
		}
		return err
	}}
}

// way applies a fault to one of a process's links.
func (p *process) way(name string, redis func(*tiertest.Faulty), log func(*logtest.Faulty, ...logtest.Op)) error {
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

func (w *stage) failover(c *script.Call) error {
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
