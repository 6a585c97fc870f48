package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/invalidate/sqllog"
)

type options struct {
	addr, db, adminKey string
	cache, responses   bool
	seed, demo         bool
	audit              float64 // the share of hits that are compared with the database
	limits             limits
}

// limits limit the memory of the caches, and say how often background work runs.
type limits struct {
	objects, absences, responses, maxBody int64 // bytes
	hotPages, warmMax, queueMax, batch    int
	warmDelay, schedule, poll, after      time.Duration
}

var usual = limits{
	objects: 16 << 20, absences: 256 << 10, responses: 64 << 20, maxBody: httpcache.DefaultMaxBody, hotPages: 10,
	warmMax: 1000, queueMax: 2048, batch: 100, after: 5 * time.Second,
	warmDelay: 250 * time.Millisecond, schedule: time.Second, poll: 500 * time.Millisecond,
}

// errUsage means that the flags are wrong. The error is already printed.
var errUsage = errors.New("wrong usage")

func parse(args []string, errs io.Writer) (o options, err error) {
	o.limits = usual
	f := flag.NewFlagSet("site", flag.ContinueOnError)
	f.SetOutput(errs)
	f.StringVar(&o.addr, "addr", "", "`address` to listen on (default "+usualAddr+", or a free port if it is in use)")
	f.StringVar(&o.db, "db", "", "SQLite `file`, created if it does not exist (default a new one in a temporary folder)")
	f.StringVar(&o.adminKey, "admin-key", "", "bearer `key` of the admin API, not printed (default a new one, printed)")
	f.BoolVar(&o.cache, "cache", true, "cache objects and responses")
	f.BoolVar(&o.responses, "cache-responses", true, "cache responses; -cache-responses=false leaves the cache of objects")
	f.BoolVar(&o.seed, "seed", true, "fill a new database with sample posts; -seed=false starts an empty blog")
	f.BoolVar(&o.demo, "demo", false, "run and check a demonstration of hits, writes and fresh pages, and exit")
	f.Float64Var(&o.audit, "audit", 0.001, "`share` of the hits that are compared with the database, from 0 to 1")
	l := &o.limits
	size(f, &l.objects, "objects", "memory for objects")
	size(f, &l.absences, "absences", "memory for slugs and keys that do not exist")
	size(f, &l.responses, "responses", "memory for responses")
	size(f, &l.maxBody, "max-body", "longest cached response")
	count(f, &l.hotPages, "hot-pages", "cached pages of a list")
	count(f, &l.warmMax, "warm-max", "pages that may wait for a warm-up")
	count(f, &l.queueMax, "queue-max", "events that may wait for their consumption")
	count(f, &l.batch, "batch", "events, or pages to warm up, that are handled together")
	span(f, &l.after, "consume-after", time.Hour, "between automatic consumptions of events that a write left")
	span(f, &l.warmDelay, "warm-delay", time.Hour, "from a write to its warm-ups")
	span(f, &l.schedule, "schedule", time.Hour, "between checks for scheduled posts that are due")
	span(f, &l.poll, "poll", sqllog.DefaultBound/2, "between checks for writes of other processes")
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		return o, err
	} else if err != nil {
		return o, errUsage // Parse has printed it
	}
	switch {
	case f.NArg() > 0:
		err = fmt.Errorf("argument %q is not a flag: see -help", f.Arg(0))
	case !(o.audit >= 0 && o.audit <= 1):
		err = fmt.Errorf("-audit is %v: want a share from 0 to 1, such as 0.001", o.audit)
	case o.demo && (!o.cache || !o.responses):
		err = errors.New("-demo demonstrates the cache: omit -cache=false and -cache-responses=false")
	case o.demo && !o.seed:
		err = errors.New("-demo reads the seeded posts: omit -seed=false")
	}
	if err != nil {
		fmt.Fprintln(errs, "site:", err)
		return o, errUsage
	}
	return o, nil
}

func size(f *flag.FlagSet, to *int64, name, what string) {
	usage := fmt.Sprintf("%s, a `size` such as 8MiB (default %s)", what, humanize.IBytes(uint64(*to)))
	limit(f, to, name, usage, 16<<10, math.MaxInt64/2, "a size of at least 16KiB, such as 8MiB", func(s string) (int64, error) {
		n, err := humanize.ParseBytes(s)
		return int64(min(n, math.MaxInt64)), err
	})
}

func count(f *flag.FlagSet, to *int, name, what string) {
	limit(f, to, name, fmt.Sprintf("`number` of %s (default %d)", what, *to), 1, 1_000_000, "a number from 1 to 1000000", strconv.Atoi)
}

func span(f *flag.FlagSet, to *time.Duration, name string, most time.Duration, what string) {
	usage, want := fmt.Sprintf("`time` %s (default %v)", what, *to), fmt.Sprintf("a duration from 10ms to %v, such as 250ms", most)
	limit(f, to, name, usage, 10*time.Millisecond, most, want, time.ParseDuration)
}

// limit defines a flag with a value from least to most.
func limit[T cmp.Ordered](f *flag.FlagSet, to *T, name, usage string, least, most T, want string, parse func(string) (T, error)) {
	f.Func(name, usage, func(s string) error {
		v, err := parse(s)
		if err != nil || v < least || v > most {
			return errors.New("want " + want)
		}
		*to = v
		return nil
	})
}
