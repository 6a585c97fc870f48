package follow

import "errors"

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
