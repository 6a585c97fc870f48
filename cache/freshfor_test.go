package cache_test

import (
	"testing"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/policy"
)

// FreshFor is how long the policy, or the loader, lets the value be fresh. What no tier may keep is not fresh.
func TestFreshFor(t *testing.T) {
	const forever = " fresh=2562047h47m16.854775807s"
	p := func(p patch) thingConfig {
		if p.TTL == nil {
			p.TTL = new(10 * time.Second)
		}
		return thingConfig{Policy: p}
	}
	late := patch{Stale: new(time.Minute), StaleIfError: new(time.Hour), Throttle: new(time.Second)}
	for _, s := range []scene{
		{name: "loaded, then local", on: "alone paired logged", cfg: p(patch{}), steps: `
			a gets 1.1 load fresh=10s; wait 4s; a gets 1.1 local fresh=6s; a gets 1.1 local MaxAge=1h fresh=6s; wait 6s; a gets 1.2 load fresh=10s`},
		{name: "remote", on: "paired logged", cfg: p(patch{}), steps: `
			a gets 1.1 load; wait 4s; b gets 1.1 remote fresh=6s; wait 2s; b gets 1.1 local fresh=4s`},
		{name: "stale", on: "alone paired", cfg: p(late), steps: `
			a gets 1.1 load; wait 20s; source takes=1s; a gets 1.1 local stale fresh=0s; wait 1s; a gets 1.2 local fresh=10s
			source fails; wait 20m; a gets 1.2 stale fresh=0s; a gets 1.2 local stale fresh=0s`},
		{name: "expired", on: "alone logged", cfg: p(late), steps: `
			source takes=1s; a gets 1.1 load; a expires; a gets 1.1 local stale fresh=0s`},
		{name: "expired elsewhere", on: "logged", cfg: p(late), steps: `
			a gets 1.1 load; wait 1s; a expires key; source takes=1s; b gets 1.1 remote stale fresh=0s`},
		{name: "expired during the load", on: "alone", cfg: p(late), steps: `during 1 a expires; a gets 1.1 load fresh=0s`},
		{name: "forever", on: "alone paired", cfg: p(patch{TTL: new(policy.Forever)}), steps: `
			a gets 1.1 load` + forever + `; wait 1h; a gets 1.1 local` + forever},
		{name: "forever, from the remote tier", on: "paired", cfg: p(patch{TTL: new(policy.Forever)}), steps: `a gets 1.1; b gets 1.1 remote` + forever},
		{name: "absent", on: "alone paired", cfg: p(patch{NegativeTTL: new(5 * time.Second)}), steps: `
			source absent; a gets absent load fresh=5s; wait 2s; a gets absent local fresh=3s`},
		{name: "absent, from the remote tier", on: "paired", cfg: p(patch{NegativeTTL: new(5 * time.Second)}), steps: `
			source absent; a gets absent load; b gets absent remote fresh=5s`},
		{name: "a remembered error", on: "alone", cfg: p(patch{ErrorTTL: new(5 * time.Second)}), steps: `
			source fails; a gets failed fresh=0s; wait 2s; a gets remembered local fresh=3s`},
		{name: "an early refresh does not count", on: "alone", cfg: p(patch{RefreshAhead: new(3.0)}), steps: `a gets 1.1 load fresh=10s`},
		{name: "LocalTTL over a remote tier", on: "paired", cfg: p(patch{LocalTTL: new(time.Second)}), steps: `a gets 1.1 load fresh=10s; wait 2s; a gets 1.1 remote fresh=8s`},
		{name: "LocalTTL without one", on: "alone", cfg: p(patch{LocalTTL: new(time.Second)}), steps: `a gets 1.1 load fresh=1s`},
		{name: "what the loader says", on: "alone paired", cfg: p(patch{}), steps: `says ttl=40s; a gets 1.1 load fresh=40s; wait 1s; a gets 1.1 local fresh=39s`},
		{name: "the option TTL", on: "alone", cfg: p(patch{}), steps: `a gets 1.1 load TTL=20s fresh=20s; a gets 1.1 local fresh=20s`},
		{name: "a value that is set", on: "alone paired", cfg: p(patch{}), steps: `a sets v TTL=20s; wait 5s; a gets v local fresh=15s`},
		{name: "never fresh", on: "alone paired", cfg: p(late), steps: `says ttl=0s stale=1m; a gets 1.1 load fresh=0s`},
		{name: "NoStore", on: "alone paired", cfg: p(patch{}), steps: `says nostore; a gets 1.1 load fresh=0s`},
		{name: "Off", on: "alone paired", cfg: p(patch{Off: new(true)}), steps: `a gets 1.1 load fresh=0s`},
		{name: "MinLoad", on: "alone paired", cfg: p(patch{MinLoad: new(time.Second)}), steps: `a gets 1.1 load fresh=0s; source takes=1s; a gets 1.2 load fresh=10s`},
		{name: "too large", on: "alone paired", cfg: p(patch{MaxValueBytes: new(1)}), steps: `a gets 1.1 load fresh=0s`},
		{name: "a failed fill", on: "paired", cfg: p(patch{}), steps: `remote fails=fill; a gets 1.1 load fresh=10s; a gets 1.1 local fresh=10s`},
		{name: "a lost claim", on: "paired", cfg: p(patch{}), steps: `before fill b sets v; a gets 1.1 load fresh=0s`},
		{name: "an invalidation before the load ends", on: "alone logged", cfg: p(patch{}), steps: `during 9 a deletes; a gets 1.3 load fresh=0s`},
		{name: "no tier asked", on: "paired", cfg: p(patch{}), steps: `a gets 1.1 load SkipLocal SkipRemote fresh=10s; a gets 1.2 load`},
	} {
		play(t, s)
	}
	equal(t, cache.Result[int]{}.FreshFor, 0, "of no value")
}
