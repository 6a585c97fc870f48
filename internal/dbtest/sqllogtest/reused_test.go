package sqllogtest_test

import (
	"testing"

	"github.com/twofold-go/twofold/invalidate/sqllog"
)

// If an old copy of a SQLite file is restored between stage and numbering, another row may have the
// id of a staged one. Numbering must not delete that row from the outbox.
func TestReusedID(t *testing.T) {
	t.Parallel()
	r := sqliteRig(t)
	c := &cells{}
	l := r.open(sqllog.Config{})
	l.UseCells("redis", c.remove)
	p := &process{t: t, log: l}
	p.sync()
	c.during = func([]string) error {
		c.during = nil
		r.exec(t, `UPDATE twofold_outbox SET scopes = '[["t","default","org:2"]]'`)
		return nil
	}
	commit(t, r, l, key42(t))
	p.want(org(2))
}
