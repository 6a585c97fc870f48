package rig

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/worker"
	"github.com/twofold-go/twofold/internal/bench/setup"
)

// fault is one way to break things.
type fault struct {
	kind     string        // of the server; Single when empty
	replica  bool          // a replica exists to fail over to
	keysOnly bool          // the guarantee covers only invalidations by key
	rare     bool          // it shows only on keys that are not written again soon
	on       place         // where the log is; Redis when zero
	bound    time.Duration // the least bound that the guarantee needs, also in the process that invalidates; 0: any
	count    int           // spread evenly over the run; 0: with random gaps

	// inject breaks something, waits, heals it, and returns a description. If ctx ends, it may
	// return early, but it always heals first. It fails by r.t.
	inject func(ctx context.Context, r *Rig) string
}

// place is the location of the log, or a set of locations.
type place uint8

const (
	inRedis place = 1 << iota
	inPostgres
	inMariaDB
	inSQLite
	inServer = inPostgres | inMariaDB
	inDB     = inServer | inSQLite
	anywhere = inRedis | inDB
)

// Fits reports whether a fault applies to a log in Redis, if kind is empty, or in that kind of
// database.
func Fits(name, kind string) bool {
	on := max(faults[name].on, inRedis)
	switch kind {
	case worker.Postgres:
		return on&inPostgres != 0
	case worker.MariaDB:
		return on&inMariaDB != 0
	case worker.SQLite:
		return on&inSQLite != 0
	}
	return on&inRedis != 0
}

var faults = map[string]fault{
	"none":            {on: anywhere},
	"pause":           {inject: pause, on: anywhere},
	"crash":           {inject: crash, on: anywhere},
	"partition":       {inject: partition, on: inRedis | inServer},
	"stall":           {inject: stall, on: inRedis | inServer},
	"kill":            {inject: kill, count: 50},
	"redis-pause":     {inject: redisPause},
	"log-keys":        {inject: logKeys},
	"trim":            {inject: trim},
	"mix":             {inject: mix, on: inRedis | inPostgres},
	"sentinel":        {inject: masterHangs, kind: worker.Sentinel},
	"sentinel-join":   {inject: joined(masterHangs), kind: worker.Sentinel},
	"cluster":         {inject: nodeFault, kind: worker.Cluster},
	"cluster-join":    {inject: joined(nodeFault), kind: worker.Cluster},
	"cluster-loss":    {inject: nodeLoss, kind: worker.Cluster, keysOnly: true},
	"old-dump":        {inject: losing(oldDump)},
	"failover":        {inject: losing(failover), replica: true},
	"copied-dump":     {inject: losing(copiedDump), rare: true},
	"replicaof":       {inject: losing(replicaOf), replica: true, rare: true},
	"reload":          {inject: losing(reload), rare: true},
	"restore":         {inject: losing(restore), rare: true},
	"copy":            {inject: losing(copyKeys), rare: true, bound: 4 * time.Second},
	"copy-alone":      {inject: copyAlone, rare: true, bound: time.Second},
	"sentinel-loss":   {inject: losing(promote), kind: worker.Sentinel, rare: true},
	"takeover":        {inject: losing(promote), kind: worker.Cluster, replica: true, rare: true},
	"restart":         {inject: restart, rare: true},
	"cluster-restart": {inject: restart, kind: worker.Cluster, rare: true},
	"steps":           {inject: steps, on: inDB, rare: true, count: 12},
	"committed":       {inject: committed, on: inDB, rare: true, count: 12},
	"freeze":          {inject: freeze, on: inDB, rare: true},
	"db-trim":         {inject: newAfterTrim, on: inDB, rare: true, keysOnly: true, count: 12},
	"db-copy":         {inject: losing(dbCopy), on: inDB, rare: true},
	"db-dump":         {inject: losing(oldTables), on: inServer, rare: true},
	"db-rows":         {inject: losing(oldRows), on: inDB, rare: true},
	"db-empty":        {inject: losing(emptied), on: inDB, rare: true},
	"db-ids":          {inject: idsAgain, on: inDB, rare: true},
	"db-kill":         {inject: dbKill, on: inPostgres, rare: true},
	"db-standby":      {inject: losing(standby), on: inPostgres, rare: true},
	"unanswered":      {inject: unanswered, on: inPostgres, rare: true, count: 30},
}

// Faults returns the names of all faults.
func Faults() []string { return slices.Sorted(maps.Keys(faults)) }

// Rare reports whether a fault shows only on keys that are not written again soon. It then needs
// many keys.
func Rare(name string) bool { return faults[name].rare }

// MinBound returns the least bound that the guarantee needs under a fault, or 0 for any bound. A
// process may miss even its own invalidations for that long.
func MinBound(name string) time.Duration { return faults[name].bound }

const (
	short = 200 * time.Millisecond
	long  = 4 * time.Second
)

// pause stops a worker, like the pause of a virtual machine or a garbage collector.
func pause(ctx context.Context, r *Rig) string {
	i, d := r.rng.IntN(r.crew.Len()), r.between(short, long)
	setup.Check(r.crew.Pause(i))
	r.sleep(ctx, d)
	setup.Check(r.crew.Resume(i))
	return fmt.Sprintf("pause of worker %d", i)
}

// crash kills a worker at an arbitrary moment. Its successor has no knowledge, and finds existing
// cells and an existing log.
func crash(_ context.Context, r *Rig) string {
	i := r.rng.IntN(r.crew.Len())
	setup.Check(r.crew.Crash([]int{i}, nil))
	return fmt.Sprintf("crash of worker %d", i)
}

// joined replaces a worker by a new process during another fault.
func joined(inject func(context.Context, *Rig) string) func(context.Context, *Rig) string {
	return func(ctx context.Context, r *Rig) string {
		i, after := r.rng.IntN(r.crew.Len()), r.between(0, 2*time.Second)
		joins := make(chan error)
		go func() {
			r.sleep(ctx, after)
			joins <- r.crew.Crash([]int{i}, nil)
		}()
		var what string
		err := setup.Try(func() { what = inject(ctx, r) })
		setup.Check(errors.Join(err, <-joins))
		return fmt.Sprintf("%s, with worker %d new", what, i)
	}
}

// partition swallows the traffic between a worker and Redis.
func partition(ctx context.Context, r *Rig) string {
	i, d := r.rng.IntN(len(r.proxies)), r.between(short, long)
	r.proxies[i].BlackHole()
	r.sleep(ctx, d)
	r.proxies[i].Pass()
	return fmt.Sprintf("partition of worker %d", i)
}

// stall delays a worker's messages until the worker has given up.
func stall(ctx context.Context, r *Rig) string {
	i, d := r.rng.IntN(len(r.proxies)), r.between(short, long/2)
	r.proxies[i].Delay(d)
	r.sleep(ctx, d)
	r.proxies[i].Pass()
	return fmt.Sprintf("stall of worker %d", i)
}

// kill ends every connection.
func kill(_ context.Context, r *Rig) string {
	for _, s := range r.servers() {
		s.Do(r.t, "CLIENT", "KILL", "TYPE", "normal")
	}
	return "kill of all connections"
}

// redisPause pauses the server, by a signal or by a command.
func redisPause(ctx context.Context, r *Rig) string {
	if r.rng.IntN(2) == 0 && len(debugCommand()) > 0 {
		d := r.between(short, time.Second)
		r.primary.Do(r.t, "DEBUG", "SLEEP", d.Seconds())
		return "sleep of Redis"
	}
	d := r.between(short, long)
	r.primary.Stop(r.t)
	r.sleep(ctx, d)
	r.primary.Cont(r.t)
	return "pause of Redis"
}

// logKeys removes a part of the log, or all of it.
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

// trim removes records that a worker has not seen.
func trim(ctx context.Context, r *Rig) string {
	i, d := r.rng.IntN(len(r.proxies)), r.between(short, long/2)
	r.proxies[i].BlackHole()
	r.sleep(ctx, d)
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

// mix is a random fault that loses only connections and time.
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
