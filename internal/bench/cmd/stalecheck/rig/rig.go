// Package rig sets up the environment of a run: Redis servers, a proxy for each worker, and the
// faults.
package rig

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/worker"
	"github.com/twofold-go/twofold/internal/bench/proc"
	"github.com/twofold-go/twofold/internal/bench/report"
	"github.com/twofold-go/twofold/internal/bench/setup"
	"github.com/twofold-go/twofold/internal/dbtest"
	"github.com/twofold-go/twofold/internal/testkit/redistest"
)

// Config configures a rig.
type Config struct {
	worker.Run

	Fault    string        // one of Faults
	Workers  int           // each has its own proxy if there is one server
	Duration time.Duration // over which faults are spread
}

// Rig is a running set-up. No fault touches the server of the source.
type Rig struct {
	Hands []*Hand // all processes so far, by their numbers

	cfg    Config
	fault  fault
	t      *setup.T
	rng    *rand.Rand
	prefix string
	dir    string
	source *redistest.Server

	primary, replica *redistest.Server // of the log, and the replica to fail over to, if any
	proxies          []*redistest.Proxy
	sentinel         *redistest.Sentinel
	cluster          *redistest.Cluster
	workers          []*Hand
	losses           int
	gone             map[int]bool // workers that are cut off

	sql      sqlServer              // of the database: pg or my; nil for a file
	pg       *dbtest.PostgresServer // with a database, one of pg, my and file is set
	my       *dbtest.MariaDBServer
	file     *dbtest.SQLiteFile
	data     string // the folder of MariaDB's data
	observer *observer
}

// Start returns a rig with working workers that runs until it is closed. With 0 keys it has as many
// as the fault needs.
func Start(ctx context.Context, cfg Config) (*Rig, error) {
	f, ok := faults[cfg.Fault]
	if !ok {
		return nil, fmt.Errorf("rig: no fault %q: want one of %s", cfg.Fault, strings.Join(Faults(), ", "))
	}
	r := &Rig{
		cfg: cfg, fault: f, t: setup.New(ctx),
		rng: rand.New(rand.NewPCG(cfg.Seed, 0)), prefix: redistest.Prefix(), workers: make([]*Hand, cfg.Workers), gone: make(map[int]bool),
	}
	if cfg.Keys == 0 {
		r.cfg.Keys = 24
		if f.rare || cfg.DB != "" {
			r.cfg.Keys = 400
		}
	}
	if err := setup.Try(func() {
		r.dir = r.t.TempDir()
		r.start()
		for i := range r.workers {
			r.startWorker(i)
		}
		r.await(r.all())
	}); err != nil {
		r.Close()
		return nil, fmt.Errorf("rig: %w", err)
	}
	return r, nil
}

func (r *Rig) start() {
	if r.cfg.DB != "" {
		r.startDB()
		return
	}
	r.source = redistest.Start(r.t)
	switch r.fault.kind {
	case sentinels:
		r.sentinel = redistest.StartSentinel(r.t)
		r.primary, r.replica = r.sentinel.Master, r.sentinel.Replica
	case cluster:
		r.cluster = redistest.StartCluster(r.t, 3)
		r.primary = r.cluster.Owner(r.t, r.logKey("m"))
		if r.fault.replica {
			r.replica = r.cluster.AddReplica(r.t, r.primary)
		}
	default:
		r.primary = redistest.Start(r.t, debugCommand()...)
		if r.fault.replica {
			r.replica = redistest.Start(r.t)
			r.follow(r.replica, r.primary)
		}
		for range r.cfg.Workers {
			r.proxies = append(r.proxies, redistest.NewProxy(r.t, r.primary.Addr()))
		}
	}
}

// debugCommand allows DEBUG SLEEP. Redis 7 refuses it by default; older versions have no setting
// for it.
func debugCommand() []redistest.Option {
	if v := report.RedisVersion(); v == "" || v[0] < '7' && v[1] == '.' {
		return nil
	}
	return []redistest.Option{redistest.Args("--enable-debug-command", "yes")}
}

// Close ends everything that Start has started.
func (r *Rig) Close() { r.t.Close() }

// sourceAddr returns the address of the server that holds the source, or "" if a database does.
func (r *Rig) sourceAddr() string {
	if r.source == nil {
		return ""
	}
	return r.source.Addr()
}

// server returns how worker i reaches Redis.
func (r *Rig) server(i int) worker.Server {
	switch {
	case r.sentinel != nil:
		o := r.sentinel.FailoverOptions()
		return worker.Server{Addrs: o.SentinelAddrs, Master: o.MasterName}
	case r.cluster != nil:
		return worker.Server{Addrs: r.cluster.Options().Addrs, Cluster: true}
	case r.cfg.DB != "":
		return worker.Server{Addrs: []string{r.primary.Addr()}}
	}
	return worker.Server{Addrs: []string{r.proxies[i].Addr()}}
}

// Incident is one fault that was injected.
type Incident struct {
	What       string
	Start, End int64 // by proc.Now
}

// Inject injects faults until ctx ends, and heals the last one.
func (r *Rig) Inject(ctx context.Context) ([]Incident, error) {
	var all []Incident
	for proc.Sleep(ctx, r.gap()) && r.fault.inject != nil {
		in := Incident{Start: proc.Now()}
		err := setup.Try(func() { in.What = r.fault.inject(ctx, r) })
		in.End = proc.Now()
		if err != nil {
			return all, fmt.Errorf("rig: fault %s: %w", r.cfg.Fault, err)
		}
		all = append(all, in)
	}
	<-ctx.Done()
	return all, nil
}

// gap returns the time without faults between two faults.
func (r *Rig) gap() time.Duration {
	if r.fault.count > 0 {
		return r.cfg.Duration / time.Duration(r.fault.count+1)
	}
	return r.between(300*time.Millisecond, 1500*time.Millisecond)
}

func (r *Rig) between(from, to time.Duration) time.Duration {
	return from + time.Duration(r.rng.Int64N(int64(to-from)))
}

// logKey returns the name of one of the log's keys: m, k or s.
func (r *Rig) logKey(name string) string { return "{" + r.prefix + "}:" + name }
