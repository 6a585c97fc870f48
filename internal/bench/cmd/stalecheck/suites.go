package main

import (
	"slices"
	"time"

	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/rig"
)

const quarter = 250 * time.Millisecond

// many is the number of keys of a wide run.
const many = 2000

// fleet is the number of processes of the larger runs.
const fleet = 6

// ciSuite takes slightly more than a minute. A bound of 250 ms and short runs leave time for the
// controls, without which the other runs prove little.
func ciSuite() []runConfig {
	base := defaults()
	base.Bound = quarter
	base.Duration = 5500 * time.Millisecond
	return slices.Concat(
		under(base, "mix", "partition", "replicaof", "restore"),
		under(composed(base), "partition"),
		under(strict(composed(base)), "partition"),
		under(soft(base), "partition"),
		without(base, "cas,frames", "none"),
		without(soft(base), "soft", "none"),
		without(base, "lease", "partition"),
		without(base, "replid,memory,ahead", "replicaof"),
		without(base, "memory,ahead", "restore"),
		without(composed(base), "parts", "partition"),
		finding(falseAlarms, hundred(base), "audit", "partition"),
		finding(alarms, sparse(brief(base)), noCalls, "none"),
		ciDatabases(base),
	)
}

// fullSuite returns every fault, most of them with two bounds, then the controls, then the
// databases.
func fullSuite(d time.Duration) []runConfig {
	base := defaults()
	base.Duration = d
	calm, short := base, base
	calm.SlowLoads, short.Bound = 0, quarter
	return slices.Concat(
		under(calm, "none"),
		bounds(base,
			"none", "pause", "crash", "partition", "stall", "kill", "redis-pause", "log-keys", "trim", "mix",
			"sentinel", "cluster", "cluster-loss"),
		bounds(base,
			"old-dump", "failover", "copied-dump", "replicaof", "reload", "restore", "copy", "copy-alone",
			"takeover", "sentinel-loss", "restart", "cluster-restart"),
		under(strict(short), "mix", "partition", "failover", "replicaof"),
		under(wide(short), "old-dump", "failover", "cluster-loss"),
		bounds(composed(base), "partition", "mix"),
		under(soft(base), "none", "partition", "mix", "trim", "failover"),
		under(soft(composed(short)), "partition", "mix"),
		under(strict(composed(short)), "partition", "mix"),
		under(large(short), "crash", "mix", "replicaof", "cluster-join", "sentinel-join"),
		fullControls(short),
		databases(d),
	)
}

// fullControls removes every safeguard under the faults that it guards against. With a bound of 250
// ms, a control's violations appear soon.
func fullControls(base runConfig) []runConfig {
	return slices.Concat(
		without(base, noLog, "none"),
		without(base, "lease", "partition", "pause"),
		without(base, "cas,frames", "none"),
		without(soft(base), "soft", "none"),
		without(wide(base), "frames", "cluster-loss"),
		without(composed(base), "parts", "partition"),
		without(composed(base), "keys", "none"),
		finding(falseAlarms, hundred(base), "audit", "partition", "mix"),
		finding(alarms, sparse(base), noCalls, "none", "partition"),
		without(base, "ids,ahead", "copy"),
		spare(base, "ids", "copy"), // the net of frames above the log's end notices it, too
		without(base, "ahead", "copy-alone"),
		without(base, "epochs", "restart", "cluster-restart"),
		without(base, "memory,ahead", "reload", "restore"),
		without(base, "run-id,replid,memory,ahead", "old-dump", "failover", "copied-dump"),

		// The run id was once the whole identity of the log. It suffices for the faults of that
		// time, but not for the faults that were added with the other two identities.
		without(base, "replid,memory,ahead", "replicaof", "takeover", "sentinel-loss"),
		spare(base, "replid,memory", "old-dump", "failover"),
		spare(base, "run-id", "old-dump", "failover", "replicaof"),
	)
}

// under returns the run under each of the faults.
func under(c runConfig, faults ...string) []runConfig {
	var out []runConfig
	for _, fault := range faults {
		c := c
		c.Fault = fault
		c.Bound = max(c.Bound, rig.MinBound(fault))
		out = append(out, c)
	}
	return out
}

// bounds returns the run under each of the faults, with its own bound and with a quarter of a
// second.
func bounds(c runConfig, faults ...string) []runConfig {
	short := c
	short.Bound = quarter
	var out []runConfig
	for _, fault := range faults {
		out = append(out, under(c, fault)...)
		if rig.MinBound(fault) == 0 {
			out = append(out, under(short, fault)...)
		}
	}
	return out
}

// spare returns runs in which other safeguards replace the removed ones.
func spare(c runConfig, guards string, faults ...string) []runConfig {
	c.Without = guards
	return under(c, faults...)
}

// without returns runs that must violate the bound.
func without(c runConfig, guards string, faults ...string) []runConfig {
	return finding(violations, c, guards, faults...)
}

// finding returns runs that must find something.
func finding(what string, c runConfig, guards string, faults ...string) []runConfig {
	c.Expect = what
	return spare(c, guards, faults...)
}

// hundred has a hundred keys and a bound of a second. With fewer keys, most audits end because their
// key is written. With more, few keys are written during an audit.
func hundred(c runConfig) runConfig {
	c.Keys, c.Bound = 100, defaults().Bound
	return c
}

// sparse has so many keys that a write is rarely hidden by the next one.
func sparse(c runConfig) runConfig {
	c.Keys = 400
	return c
}

// wide uses so many keys that most are not in every process, and more reads go to Redis.
func wide(c runConfig) runConfig {
	c.Keys, c.WritePause, c.SlowLoads = many, 40*time.Millisecond, 0.01
	return c
}

// soft has no invalidations: changed values expire.
func soft(c runConfig) runConfig {
	c.Soft = true
	return c
}

func composed(c runConfig) runConfig {
	c.Composed, c.SlowLoads = true, 0.02 // a level waits for the loads below it
	return c
}

func strict(c runConfig) runConfig {
	c.Strict, c.Writers = true, 3
	return c
}

func large(c runConfig) runConfig {
	c.Workers = fleet
	return c
}
