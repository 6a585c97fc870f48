//go:build !unix

package testserver

import "os"

// Without signals a server can be killed, but not paused.
var (
	Pause     os.Signal
	Resume    os.Signal
	Quit      = os.Kill
	Terminate = os.Kill
)
