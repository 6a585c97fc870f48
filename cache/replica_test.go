package cache_test

import (
	"testing"
	"time"
)

// The source shows what was there before for a second after each write. A load that began in that second is
// answered and stored nowhere, and neither is what is built from it.
func TestReplicaLag(t *testing.T) {
	lag := thingConfig{Policy: patch{ReplicaLag: new(time.Second), TTL: new(time.Hour)}}
	long := thingConfig{Policy: patch{ReplicaLag: new(10 * time.Second), TTL: new(time.Hour)}}
	pages, stale, forgetful := &patch{TTL: new(time.Hour)}, lag, lag
	forgetful.Policy.ErrorTTL = new(time.Minute)
	stale.Policy.Stale, stale.Policy.Throttle = new(time.Hour), new(time.Duration(0))
	all := ground("alone paired logged")
	play(
		t,
		scene{name: "start", on: all, cfg: lag, steps: `
			a gets 1.1 load stale; a peeks nothing; wait 999ms; a gets 1.2 load stale; a counts Fills.ReplicaLag=2 Fills.Stored=0
			wait 1ms; a gets 1.3 load; a gets 1.3 local`},
		scene{name: "invalidated", on: all, cfg: lag, steps: `
			wait 1s; a gets 1.1 load; a invalidates SCOPE; wait 999ms; a gets 1.2 load stale; a many 1.3; a peeks nothing
			wait 1ms; a gets any load; a gets any local; a counts Loads.Overtaken=0`},
		scene{name: "expired", on: all, cfg: stale, steps: `
			wait 1s; a gets 1.1 load; a expires SCOPE; a gets 1.1 stale; loads 2; wait 999ms; a gets 1.1 stale; loads 2
			wait 1ms; a gets 1.1 stale; loads 3; a gets 1.3 local`},
		scene{name: "a prefix inside the id", on: all, cfg: lag, steps: `
			wait 1s; a gets 12.1 load key=12; a invalidates prefix=things:1; wait 999ms; a gets any stale key=12; a peeks nothing key=12
			wait 1ms; a gets any key=12; a gets any local key=12`},
		scene{name: "another scope", on: all, cfg: lag, steps: `
			wait 1s; a invalidates another-tag; a invalidates another-tenant; a deletes key=2; a gets 1.1 load; a gets 1.1 local`},
		scene{name: "heard", on: logged, cfg: lag, steps: `
			wait 1s; a gets 1.1; b invalidates SCOPE; wait 999ms; a gets any load stale; b gets any load stale; a peeks nothing; cells 0
			wait 1ms; a gets any load; b gets any remote`},
		scene{name: "during the load", on: all, cfg: lag, steps: `
			wait 1s; source takes=2s; during 1 a deletes; a gets 1.1 stale; took 2s; loads 1; a peeks nothing; source takes=0s; a gets 1.2 stale; wait 1s; a gets 1.3; a gets 1.3 local`},
		scene{name: "set", on: all, cfg: lag, steps: `
			wait 1s; a sets set; a gets set local; a refreshes; a gets set local; wait 1s; a refreshes; a gets 1.2 local`},
		scene{name: "absent", on: all, cfg: lag, steps: `
			wait 1s; a deletes; source absent; a gets absent load stale; a gets absent load stale; wait 1s; a gets absent load; a gets absent local`},
		scene{name: "remembered error", on: all, cfg: forgetful, steps: `
			wait 1s; a deletes; source fails; a gets failed; wait 999ms; a gets failed; source well; a gets any load stale; wait 1ms; source fails; a gets failed; source well; a gets remembered`},
		scene{name: "LoadMany", on: all, cfg: lag, many: true, steps: `
			wait 1s; a batches 1-2; loads 2; a deletes key=2; a batches 1-2; loads 3; a batches 1-2; loads 4; wait 1s; a batches 1-2; a batches 1-2; loads 5`},
		scene{name: "not modified", on: all, cfg: stale, steps: `
			wait 1s; a gets 1.1; wait 1h; source unchanged; a expires; a gets 1.1 stale; loads 2; a gets 1.1 stale; wait 1s; a gets 1.1 stale; loads 3; a gets 1.1 local; loads 3`},
		scene{name: "built", on: all, cfg: lag, pages: pages, steps: `
			wait 1s; a page 1.1 load; a page 1.1 local; a deletes; a page 1.2 load stale; a page 1.3 load stale; wait 1s; a page 1.4 load; a page 1.4 local; b page any`},
		scene{name: "a gap in the log", on: logged, cfg: long, steps: `
			wait 10s; a gets 1.1; a gets 1.1 local; a's log fails; b invalidates another-tag; b invalidates another-tag; b invalidates another-tenant; log trims; a's log well; wait 5s
			a gets 1.2 load stale; a peeks nothing; wait 10s; a gets 1.3 load; a gets 1.3 local`},
		scene{name: "a new epoch", on: logged, cfg: long, steps: `
			wait 10s; a gets 1.1; log restarts; wait 5s; a gets 1.2 load stale; a peeks nothing; wait 10s; a gets 1.3 load; a gets 1.3 local`},
		scene{name: "an audit of a Set", on: logged, cfg: thingConfig{Policy: patch{ReplicaLag: new(time.Minute), TTL: new(time.Hour), Audit: new(1.0)}}, steps: `
			wait 1m; source is=old; a sets new; a gets new local; wait 59s; source is=new; wait 6s; a audits Same=1`},
		scene{name: "the tenant's own", on: all, cfg: lag, own: patch{ReplicaLag: new(time.Duration(0))}, steps: `
			wait 1s; a deletes; a gets 1.1 load own; a gets 1.1 local`},
	)
}
