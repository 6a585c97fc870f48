package sqltier_test

import (
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/digest/sqltier"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
)

// Every handle is a process of its own: it has its own connections to the file.
func TestLog(t *testing.T) {
	t.Parallel()
	logtest.TestLog(t, func(t *testing.T) func() invalidate.Log {
		path := database(t)
		return func() invalidate.Log {
			return sqltier.NewLog(on(open(t, path)), sqltier.LogConfig{Bound: 400 * time.Millisecond, Poll: time.Millisecond})
		}
	})
}
