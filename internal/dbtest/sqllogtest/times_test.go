package sqllogtest_test

import (
	"testing"

	"github.com/twofold-go/twofold/invalidate/sqllog"
)

// A row written by hand with an infinite time is numbered like any other.
func TestEndlessTimes(t *testing.T) {
	t.Parallel()
	r := postgresRig(t)
	p := r.process(t, sqllog.Config{})
	p.sync()
	r.exec(t, `INSERT INTO twofold_outbox (scopes, at) VALUES ('[["t","default","org:1"]]', 'infinity'), ('[["t","default","org:2"]]', '-infinity')`)
	p.want(org(1), org(2))
}
