package rig

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/worker"
	"github.com/twofold-go/twofold/internal/bench/proc"
	"github.com/twofold-go/twofold/internal/bench/setup"
)

// fault is one way to break things.
type fault struct {
	about    string
	kind     string        // of the server: sentinels, cluster, or a single one
	replica  bool          // a replica exists to fail over to
	keysOnly bool          // the guarantee covers only invalidations by key
	rare     bool          // it shows only on keys that are not written again soon, so it needs many
	on       string        // the places of the log; Redis if there is none
	bound    time.Duration // the least bound that the guarantee needs, also in the process that invalidates; 0: any
	count    int           // spread evenly over the run; 0: with random gaps

	// inject breaks something, waits, heals it, and returns a description. If ctx ends, it may
	// return early, but it always heals first. It fails by r.t.
	inject func(ctx context.Context, r *Rig) string
}

// The kinds of servers, and the places of a log.
const (
	sentinels, cluster = "sentinels", "cluster"

	inRedis    = "redis"
	inPostgres = worker.Postgres
	inServer   = inPostgres + " " + worker.MariaDB
	inDB       = inServer + " " + worker.SQLite
	anywhere   = inRedis + " " + inDB
)

// Fits reports whether a fault applies to a log in Redis, if kind is empty, or in that kind of
// database.
func Fits(name, kind string) bool {
	return strings.Contains(cmp.Or(faults[name].on, inRedis), cmp.Or(kind, inRedis))
}

var faults = map[string]fault{
	"none":            {about: "nothing", on: anywhere},
	"pause":           {about: "a worker stops, like a virtual machine or a garbage collector that pauses", inject: pause, on: anywhere},
	"crash":           {about: "a worker is killed at any moment; its successor knows nothing, and finds cells and a log", inject: crash, on: anywhere},
	"partition":       {about: "the traffic of a worker is swallowed", inject: partition, on: inRedis + " " + inServer},
	"stall":           {about: "the messages of a worker come so late that it has given up", inject: stall, on: inRedis + " " + inServer},
	"kill":            {about: "every connection ends", inject: kill, count: 50},
	"redis-pause":     {about: "Redis pauses, by a signal or a command", inject: redisPause},
	"log-keys":        {about: "a part of the log is removed, or all of it", inject: logKeys},
	"trim":            {about: "records are removed that a worker has not seen", inject: trim},
	"key-trim":        {about: "all workers are killed, and the log has no key records for their successors", inject: newAfterKeyTrim, rare: true, keysOnly: true, count: 5},
	"mix":             {about: "a random fault that loses only connections and time", inject: mix, on: inRedis + " " + inPostgres},
	"sentinel":        {about: "the master hangs until the Sentinels fail over", inject: masterHangs, kind: sentinels},
	"sentinel-join":   {about: "the same, with a new process", inject: joined(masterHangs), kind: sentinels},
	"cluster":         {about: "connections end, or a node pauses, sometimes until the others consider it down", inject: nodeFault, kind: cluster},
	"cluster-join":    {about: "the same, with a new process", inject: joined(nodeFault), kind: cluster},
	"cluster-loss":    {about: "a node that does not hold the log restarts with an older dump", inject: nodeLoss, kind: cluster, keysOnly: true},
	"old-dump":        {about: "Redis restarts with an older dump", inject: losing(oldDump)},
	"failover":        {about: "a lagging replica is promoted; the old primary comes back empty", inject: losing(failover), replica: true},
	"copied-dump":     {about: "another server starts with an older dump", inject: losing(copiedDump), rare: true},
	"replicaof":       {about: "the server follows a lagging replica, and becomes the primary again", inject: losing(replicaOf), replica: true, rare: true},
	"reload":          {about: "DEBUG RELOAD NOSAVE: the server forgets its writes since its last dump", inject: losing(reload), rare: true},
	"restore":         {about: "RESTORE of the log's three keys; the cells stay", inject: losing(restore), rare: true},
	"copy":            {about: "COPY of the three keys, and back: leaves no trace in the server", inject: losing(copyKeys), rare: true, bound: 4 * time.Second},
	"copy-alone":      {about: "the same, and no process is left that knew the lost writes", inject: copyAlone, rare: true, bound: time.Second},
	"sentinel-loss":   {about: "the Sentinels fail over to a lagging replica, and in turn back", inject: losing(promote), kind: sentinels, rare: true},
	"takeover":        {about: "the same in a Cluster, by CLUSTER FAILOVER TAKEOVER", inject: losing(promote), kind: cluster, replica: true, rare: true},
	"restart":         {about: "the log's keys and all processes are lost; the cells stay", inject: restart, rare: true},
	"cluster-restart": {about: "the same in a Cluster", inject: restart, kind: cluster, rare: true},
	"steps":           {about: "a worker is killed at each step of a numbering and of a transaction in turn", inject: steps, on: inDB, rare: true, count: 12},
	"committed":       {about: "a worker is killed after the answer to COMMIT", inject: committed, on: inDB, rare: true, count: 12},
	"freeze":          {about: "a worker is stopped at such a step, usually for longer than the bound", inject: freeze, on: inDB, rare: true},
	"db-trim":         {about: "workers are killed, and the log has no key records for their successors", inject: newAfterTrim, on: inDB, rare: true, keysOnly: true, count: 12},
	"db-copy":         {about: "an old data folder is put back under the server; SQLite: .restore under the processes", inject: losing(dbCopy), on: inDB, rare: true},
	"db-dump":         {about: "a dump is restored into the running server: after DROP, or beside and then renamed", inject: losing(oldTables), on: inServer, rare: true},
	"db-rows":         {about: "older rows are put back into the same tables, after TRUNCATE or DELETE", inject: losing(oldRows), on: inDB, rare: true},
	"db-empty":        {about: "the tables of the log, or the records alone, are emptied; the data stays", inject: losing(emptied), on: inDB, rare: true},
	"db-ids":          {about: "the ids of the outbox begin again, while a process holds rows with these ids", inject: idsAgain, on: inDB, rare: true},
	"db-kill":         {about: "PostgreSQL is killed, or stopped at once, and started again", inject: dbKill, on: inPostgres, rare: true},
	"db-standby":      {about: "a lagging standby is promoted", inject: losing(standby), on: inPostgres, rare: true},
	"unanswered":      {about: "the answer to a COMMIT is lost with its connection", inject: unanswered, on: inPostgres, rare: true, count: 30},
}

// OneServer reports whether the log is on a single server of Redis under a fault, and workers reach it
// at one address.
func OneServer(name string) bool { return Fits(name, "") && faults[name].kind == "" }

// Faults returns the names of all faults.
func Faults() []string { return slices.Sorted(maps.Keys(faults)) }

// About describes all faults, each on a line.
func About() string {
	var b strings.Builder
	for _, name := range Faults() {
		fmt.Fprintf(&b, "\n%s: %s", name, faults[name].about)
	}
	return b.String()
}

// MinBound returns the least bound that the guarantee needs under a fault, or 0 for any bound. A
// process may miss even its own invalidations for that long.
func MinBound(name string) time.Duration { return faults[name].bound }

const (
	short = 200 * time.Millisecond
	long  = 4 * time.Second
)

func pause(ctx context.Context, r *Rig) string {
	i, d := r.any(), r.between(short, long)
	r.workers[i].Pause()
	proc.Sleep(ctx, d)
	r.workers[i].Resume()
	return fmt.Sprintf("pause of worker %d", i)
}

func crash(_ context.Context, r *Rig) string {
	i := r.any()
	r.replace([]int{i}, func() {})
	return fmt.Sprintf("crash of worker %d", i)
}

// joined replaces a worker by a new process during another fault.
func joined(inject func(context.Context, *Rig) string) func(context.Context, *Rig) string {
	return func(ctx context.Context, r *Rig) string {
		i, after := r.any(), r.between(0, 2*time.Second)
		joins := make(chan error)
		go func() {
			proc.Sleep(ctx, after)
			joins <- setup.Try(func() { r.replace([]int{i}, func() {}) })
		}()
		var what string
		err := setup.Try(func() { what = inject(ctx, r) })
		setup.Check(errors.Join(err, <-joins))
		return fmt.Sprintf("%s, with worker %d new", what, i)
	}
}

func partition(ctx context.Context, r *Rig) string {
	i, d := r.rng.IntN(len(r.proxies)), r.between(short, long)
	r.proxies[i].BlackHole()
	proc.Sleep(ctx, d)
	r.proxies[i].Pass()
	return fmt.Sprintf("partition of worker %d", i)
}

func stall(ctx context.Context, r *Rig) string {
	i, d := r.rng.IntN(len(r.proxies)), r.between(short, long/2)
	r.proxies[i].Delay(d)
	proc.Sleep(ctx, d)
	r.proxies[i].Pass()
	return fmt.Sprintf("stall of worker %d", i)
}

func kill(_ context.Context, r *Rig) string {
	for _, s := range r.servers() {
		s.Do(r.t, "CLIENT", "KILL", "TYPE", "normal")
	}
	return "kill of all connections"
}

func redisPause(ctx context.Context, r *Rig) string {
	if r.rng.IntN(2) == 0 && len(debugCommand()) > 0 {
		d := r.between(short, time.Second)
		r.primary.Do(r.t, "DEBUG", "SLEEP", d.Seconds())
		return "sleep of Redis"
	}
	d := r.between(short, long)
	r.primary.Stop(r.t)
	proc.Sleep(ctx, d)
	r.primary.Cont(r.t)
	return "pause of Redis"
}

func logKeys(_ context.Context, r *Rig) string {
	switch draw := r.rng.IntN(8); draw {
	case 0:
		r.primary.Do(r.t, "FLUSHALL")
		return "FLUSHALL"
	case 1, 2:
		r.trimLogs(r.rng.IntN(4))
		return "XTRIM of the logs"
	default:
		name := r.logKey(string("mks"[draw%3]))
		r.primary.Do(r.t, "DEL", name)
		return "DEL of " + name
	}
}

func trim(ctx context.Context, r *Rig) string {
	i, d := r.rng.IntN(len(r.proxies)), r.between(short, long/2)
	r.proxies[i].BlackHole()
	proc.Sleep(ctx, d)
	r.trimLogs(r.rng.IntN(4))
	r.proxies[i].Pass()
	return fmt.Sprintf("XTRIM of the logs behind worker %d", i)
}

// trimLogs leaves keep records in each of the two logs.
func (r *Rig) trimLogs(keep int) {
	for _, log := range []string{"k", "s"} {
		r.primary.Do(r.t, "XTRIM", r.logKey(log), "MAXLEN", keep)
	}
}

// newAfterKeyTrim leaves no process that knows a record of a key. The new ones trust the cells.
func newAfterKeyTrim(ctx context.Context, r *Rig) string {
	r.replace(r.all(), func() { r.primary.Do(r.t, "XTRIM", r.logKey("k"), "MAXLEN", 1) })
	proc.Sleep(ctx, 2*r.cfg.Bound)
	return "XTRIM of the keys' log, and all workers new"
}

func mix(ctx context.Context, r *Rig) string {
	return []func(context.Context, *Rig) string{
		pause, partition, stall, kill, redisPause, forget,
	}[r.rng.IntN(6)](ctx, r)
}

// forget makes the server forget its scripts.
func forget(_ context.Context, r *Rig) string {
	r.primary.Do(r.t, "SCRIPT", "FLUSH")
	return "SCRIPT FLUSH"
}
