package follow

import (
	"slices"
	"sync"

	"github.com/twofold-go/twofold/invalidate"
)

// events passes on what other processes have invalidated, in the log's order. A process must not
// take its own records for those of others. But the tail may bring a record of this process before
// the call that appends it returns its position, and another process may append the same fences at
// that time. So from a record with the fences of the append under way, events wait until the call
// returns. Then the position tells whose record it is. If the call failed, the record counts as
// another process's: an event may come twice, but none is lost.
type events struct {
	tell func(fences []invalidate.Fence) // nil: there is no listener

	mu      sync.Mutex // protects the rest; held during tell
	sending *invalidate.Append
	waiting []heardRecord
	own     []place // of this process's records that have not come yet; a page may end before them
}

// place is where a record is.
type place struct {
	at    invalidate.Position
	keyed bool // of the sequence of keys
}

// heardRecord is a record whose event waits.
type heardRecord struct {
	place
	fences []invalidate.Fence
}

// maxWaiting is how many events wait for a call of the log. Beyond it they count as other
// processes'.
const maxWaiting = 1024

// send notes the append under way.
func (e *events) send(a *invalidate.Append) {
	if e.tell == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sending = a
}

// sent notes the end of an append. The page has the positions of its records; it is zero if the
// call failed.
func (e *events) sent(p invalidate.Page) {
	if e.tell == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sending = nil
	for _, own := range []place{{p.Key, true}, {p.Scope, false}} {
		if own.at == 0 {
			continue
		}
		if i := slices.IndexFunc(e.waiting, func(r heardRecord) bool { return r.place == own }); i >= 0 {
			e.waiting = slices.Delete(e.waiting, i, i+1)
		} else {
			e.own = append(e.own, own)
		}
	}
	e.flush()
}

func (e *events) flush() {
	for _, r := range e.waiting {
		e.tell(r.fences)
	}
	e.waiting = nil
}

// record takes a record that was just applied. Followed says that no record is missing before it.
func (e *events) record(r *invalidate.Record, followed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !followed || r.Bump || r.Damaged {
		e.put(heardRecord{fences: []invalidate.Fence{{Scope: invalidate.All()}}})
	}
	if len(r.Fences) > 0 {
		e.put(heardRecord{place{r.At, r.Fences[0].OfKeys()}, r.Fences})
	}
}

// put tells a record's fences, or keeps them until the append under way has ended. mu is held.
func (e *events) put(r heardRecord) {
	own := false
	e.own = slices.DeleteFunc(e.own, func(p place) bool {
		own = own || p == r.place
		return p.keyed == r.keyed && p.at <= r.at
	})
	if own {
		return
	}
	e.waiting = append(e.waiting, r)
	same := e.sending != nil && r.at != 0 && (slices.Equal(r.fences, e.sending.Keys) || slices.Equal(r.fences, e.sending.Scopes))
	if !same && len(e.waiting) == 1 || len(e.waiting) > maxWaiting {
		e.flush()
	}
}
