package sqltier_test

import (
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/digest/sqltier"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

func TestPlainTable(t *testing.T) {
	t.Parallel()
	s := open(t, database(t))
	tiertest.TestRemote(t, func(*testing.T) tier.Remote { return on(s) })
}

// The table of digests has columns that must not get in the way, and they are unique
// in another way than the key is.
func TestTableThatPeopleRead(t *testing.T) {
	t.Parallel()
	s := open(t, database(t))
	tiertest.TestRemote(t, func(t *testing.T) tier.Remote {
		return on(s, sqltier.Table{
			Name:    "digest_cache",
			Columns: []string{"subscription_hash", "digest_type", "period_start", "period_end", "state", "content"},
			Row: func(key string, c tier.Cell) ([]any, time.Time, error) {
				if c.Kind != tier.Value {
					return []any{key, t.Name(), 1, 2, "claimed", nil}, time.Time{}, nil
				}
				return []any{key, t.Name(), 1, 2, "ready", string(c.Payload)}, time.Time{}, nil
			},
		})
	})
}

// Two processes are two sets of connections to one file.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	path := database(t)
	tiers := []*sqltier.Tier{on(open(t, path)), on(open(t, path))}
	turn := 0
	tiertest.TestRemote(t, func(*testing.T) tier.Remote {
		turn++
		return alternating{tiers[turn%2], tiers[(turn+1)%2]}
	})
}
