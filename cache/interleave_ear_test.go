package cache_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/twofold-go/twofold/invalidate"
)

// ear records what a process has heard from the log.
type ear struct {
	open atomic.Bool // closed while a process starts: those records belong to no story

	mu      sync.Mutex // protects the rest
	at      invalidate.Cursor
	trouble string
}

// hear reports the records of a page that are new to the process, except those that the process
// has just appended.
func (e *ear) hear(p *process, page invalidate.Page) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var what []string
	var fences []invalidate.Fence
	for _, s := range []struct {
		at, own *invalidate.Position
		records []invalidate.Record
	}{{&e.at.Key, &page.Key, page.Keys}, {&e.at.Scope, &page.Scope, page.Scopes}} {
		for _, r := range s.records {
			if r.At <= *s.at {
				continue
			}
			*s.at = r.At
			if r.Bump {
				what = append(what, "a new epoch")
			}
			if r.Damaged {
				what = append(what, "something garbled")
			}
			if r.At != *s.own {
				fences = append(fences, r.Fences...)
			}
		}
	}
	if len(fences) > 0 {
		what = append(what, p.names.list(fences))
	}
	if len(what) > 0 && e.open.Load() {
		p.env.Printf("%s hears of %s", p.name, strings.Join(slices.Compact(what), " and "))
	}
}

// missed reports, once, that a process does not know whether a record is in the log.
func (e *ear) missed(p *process, what string, err error) {
	text := ""
	if err != nil {
		text = fmt.Sprintf("%s cannot tell whether %s is in the log (%v)", p.name, what, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if text != e.trouble && text != "" && e.open.Load() {
		p.env.Printf("%s", text)
	}
	e.trouble = text
}

// names maps the fences in records to what a story calls them.
type names struct {
	mu   sync.Mutex
	text map[invalidate.Fence]string
}

func (n *names) add(s invalidate.Scope, text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.text[invalidate.Fence{Scope: s}] = text
}

func (n *names) list(fences []invalidate.Fence) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []string
	for _, f := range fences {
		what := ""
		if f.Soft {
			what = "the expiry of "
		}
		f.Soft = false
		all = append(all, what+cmp.Or(n.text[f], "something"))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// followerLog turns a follower's log lines into lines of the story.
type followerLog struct {
	slog.Handler
	p *process
}

func (p *process) logger() *slog.Logger { return slog.New(followerLog{slog.DiscardHandler, p}) }

func (followerLog) Enabled(context.Context, slog.Level) bool { return true }

func (l followerLog) Handle(_ context.Context, r slog.Record) error {
	text, ok := strings.CutPrefix(r.Message, "invalidate: ")
	if !ok || !l.p.ear.open.Load() {
		return nil
	}
	text, _, _ = strings.Cut(text, ";")
	l.p.env.Printf("%s: %s", l.p.name, text)
	if text == "the lease is good again" {
		l.p.gate.linger("renewal")
	}
	return nil
}
