package cache_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing/synctest"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/testkit/memlog"
	"github.com/twofold-go/twofold/internal/testkit/script"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/tier/tiertest"
)

var errCut = errors.New("connection refused")

// addFaults adds the commands that stop messages, which arrive by themselves otherwise:
//
//	hold WHO get        holds the answer to the next get
//	hold WHO claim      holds the next claim before it arrives; also fill, unlink
//	hold WHO append     holds the next record before it arrives at the log
//	hold WHO sync       holds the log's next answer
//	hold WHO tail       holds all that the log sends by itself
//	hold WHO decode     stops before the next value is decoded, after its frame was checked
//	hold WHO renewal    stops when a lease that had run out is good again
//	release WHO WHAT    ends the hold
//
// and those that cause and end faults:
//
//	cut | hang WHO WHAT   one of WHO's links: sync, tail, redis, or log for sync and tail
//	mend WHO              heals all links of WHO
//	lose WHO              WHO's claims are granted, and the answers are lost
//	deafen WHO            the log sends WHO only answers
//	pause | resume WHO    puts a process to sleep, and wakes it
//	dump                  the log's server writes a dump, or a replica stops following
//	failover              the dump replaces the server
//	rewind N              the log loses its last N records without a trace
//	trim N                the log keeps its newest N records
func (w *stage) addFaults(commands map[string]script.Command) {
	for name, do := range map[string]func(p *process, kind string) error{
		"hold":    func(p *process, kind string) error { return p.gate.hold(kind) },
		"release": func(p *process, kind string) error { return p.gate.release(kind) },
		"cut": func(p *process, way string) error {
			return p.way(way, func(f *tiertest.Faulty) { f.Fail(errCut) }, func(f *logtest.Faulty, ops ...logtest.Op) { f.Fail(errCut, ops...) })
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
		"lose":   func(p *process) { p.link.LoseClaims(true) },
		"mend":   (*process).mend,
		"pause":  func(p *process) { p.gate.sleep(true) },
		"resume": func(p *process) { p.gate.sleep(false) },
	} {
		commands[name] = w.toProcess("who", func(p *process, _ string) error { do(p); return nil })
	}
	commands["dump"] = script.Command{Run: func(*script.Call) error { w.dump = w.log.Snapshot(); return nil }}
	commands["failover"] = script.Command{Run: func(*script.Call) error { w.log.Restore(w.dump); return nil }}
	commands["rewind"] = w.toLog((*memlog.Log).Rewind)
	commands["trim"] = w.toLog((*memlog.Log).Trim)
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

func (w *stage) toLog(do func(*memlog.Log, int)) script.Command {
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
