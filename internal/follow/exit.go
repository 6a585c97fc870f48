package follow

import (
	"errors"
	"fmt"

	"github.com/twofold-go/twofold/invalidate"
)

// errExited is the error of a call to the log that has ended its goroutine by runtime.Goexit, as
// t.FailNow does. Only deferred functions see it: where the call was made, nothing else runs any
// more.
var errExited = errors.New("invalidate: a call to the log called runtime.Goexit")

// apart runs f in a goroutine of its own, and returns when that has ended. The follower's own
// goroutines call the log like this, so that none of them is lost.
func apart(f func()) {
	end := make(chan struct{})
	go func() {
		defer close(end)
		f()
	}()
	<-end
}

// hearing is what the tail's calls use again and again: it makes many.
type hearing struct {
	page invalidate.Page
	err  error
	over chan struct{} // holds one
}

// listen makes a call of the tail, in a goroutine of its own like apart.
func (w *Follower) listen(h *hearing) (invalidate.Page, error) {
	h.page, h.err = invalidate.Page{}, errExited
	go w.hear(h)
	<-h.over
	return h.page, h.err
}

func (w *Follower) hear(h *hearing) {
	defer func() {
		if x := recover(); x != nil {
			h.err = fmt.Errorf("invalidate: the log panicked (%T)", x)
		}
		h.over <- struct{}{}
	}()
	h.page, h.err = w.log.Tail(w.ctx, w.fences.Cursor())
}
