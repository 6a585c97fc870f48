package sqllogtest_test

import (
	"testing"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/invalidate/sqllog"
)

func TestLog(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		logtest.TestLog(t, func(*testing.T) func() invalidate.Log {
			open := r.fresh(sqllog.Config{})
			return func() invalidate.Log { return open() }
		})
	})
}
