package resident

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/internal/measure"
	"github.com/twofold-go/twofold/internal/remote"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/local"
)

// New returns the core for cfg. When it fails, the parts of cfg stay open.
func New(cfg Config) (*Core, error) {
	cfg.MaxLoads = cmp.Or(cfg.MaxLoads, 512)
	cfg.MaxRefreshes = cmp.Or(cfg.MaxRefreshes, 32)
	cfg.MaxFlights = cmp.Or(cfg.MaxFlights, 1<<16)
	cfg.ClaimTTL = cmp.Or(cfg.ClaimTTL, 3*time.Second)
	cfg.MaxTenants = cmp.Or(cfg.MaxTenants, 200)
	cfg.MaxAudits = cmp.Or(cfg.MaxAudits, 10)
	codecs, seal, err := cfg.validate()
	if err != nil {
		return nil, fmt.Errorf("cache: open: %w", err)
	}
	takeLog(cfg.Log)
	cfg.Secret, cfg.PreviousSecret = nil, nil // the seal has what it needs
	t := &Core{
		Base: time.Now(), Seed: maphash.MakeSeed(), Config: cfg, Faults: cfg.Faults, Local: cfg.Local, codecs: codecs, seal: seal,
		Log:     cmp.Or(cfg.Logger, slog.Default()),
		Loads:   semaphore.NewWeighted(int64(cfg.MaxLoads)),
		Refresh: semaphore.NewWeighted(int64(cfg.MaxRefreshes)),
		counts:  make(map[key.Space]*measure.Counters), used: make(namespaces), unused: make(map[string]struct{}), missed: make(map[string]struct{}), All: &measure.Counters{},
	}
	t.Fills.Base, t.Fills.Texts = t.Base, cfg.OnStored != nil
	t.Listeners.Log = t.Log
	t.policies.Store(&cfg.Policies)
	t.Closing, t.closing = context.WithCancel(context.Background())
	if t.Seen, err = measure.New(cfg.MeterProvider, cfg.TracerProvider, t.All, &t.Notable); err != nil {
		leaveLog(cfg.Log)
		return nil, fmt.Errorf("cache: open: %w", err)
	}
	if t.Local == nil {
		t.Local = local.New(local.Config{})
	}
	if cfg.Remote != nil {
		t.remote = remote.New(remote.Config{Tier: cfg.Remote, Now: t.Now, Logger: t.Log, Watcher: t.Seen, Work: &t.Work})
		t.All.Far = t.remote
	}
	t.Local.Open(tier.Hooks{Now: t.Now, ExpiresAt: EndOf, Removed: t.removed}) // before another goroutine can use it
	t.follow()
	if err := t.Seen.Observe(t.Numbers, t.Follower != nil); err != nil { // all that Numbers reads exists
		return nil, fmt.Errorf("cache: open: %w", errors.Join(err, t.abandon()))
	}
	return t, nil
}

// abandon undoes what Open has begun.
func (t *Core) abandon() (err error) {
	if t.Follower != nil {
		leaveLog(t.Config.Log)
		err = t.Follower.Close(context.Background()) // no invalidation waits to be sent
	}
	if t.Config.Local == nil {
		err = errors.Join(err, t.Local.Close())
	}
	return err
}

func (cfg *Config) validate() (codec.Set, *remote.Seal, error) {
	var errs []error
	fault := func(field string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("field %s: %w", field, err))
		}
	}
	for name, n := range map[string]int{
		"MaxLoads": cfg.MaxLoads, "MaxRefreshes": cfg.MaxRefreshes, "MaxFlights": cfg.MaxFlights, "MaxTenants": cfg.MaxTenants,
		"MaxAudits": cfg.MaxAudits,
	} {
		if n < 0 {
			fault(name, fmt.Errorf("%d is negative: set it to 1 or more, or leave it 0 for the default", n))
		}
	}
	if d := cfg.ClaimTTL; d < time.Millisecond {
		fault("ClaimTTL", fmt.Errorf("%v is negative or rounds to zero: set it to 1ms or more, or leave it 0 for 3s", d))
	}
	if d := cfg.InvalidateWait; d < 0 {
		fault("InvalidateWait", fmt.Errorf("%v is negative: set it to 1ms or more, or leave it 0 for 250ms", d))
	}
	fault("Local", faultOfPart(cfg.Local))
	fault("Remote", faultOfPart(cfg.Remote))
	fault("Log", faultOfPart(cfg.Log))
	if cfg.Log != nil && !isNil(cfg.Log) {
		fault("Log", follow.Validate(cfg.Log))
	}
	if r := cfg.Remote; r != nil && !isNil(r) && r.Describe(r).Name == "" {
		fault("Remote", fmt.Errorf("a %T has no name: Describe must return one, which is what all processes that share the tier have in common, such as the kind of server and a prefix", r))
	}
	fault("Policies", cfg.Policies.Validate(policy.Default()))
	codecs, err := codec.NewSet(append(codec.Builtin(), cfg.Codecs...)...)
	fault("Codecs", err)
	seal, err := remote.NewSeal(cfg.Secret, cfg.PreviousSecret)
	fault("Secret", err)
	return codecs, seal, errors.Join(errs...)
}

// faultOfPart returns why a tier or a log cannot be used as it is, or nil.
func faultOfPart(part interface{ Validate() error }) error {
	switch {
	case part == nil:
		return nil
	case isNil(part):
		return fmt.Errorf("a nil %T: check the error of what made it, or leave the field nil", part)
	}
	return part.Validate()
}

// isNil reports whether a tier or a log is a nil pointer, map, function or the like in an interface.
func isNil(part any) bool {
	switch v := reflect.ValueOf(part); v.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Func, reflect.Chan, reflect.Slice:
		return v.IsNil()
	}
	return false
}

// SetPolicies replaces the table of overrides for reads that start afterwards, unless it is faulty.
func (t *Core) SetPolicies(table policy.Table) error {
	if err := t.setPolicies(table); err != nil {
		return fmt.Errorf("cache: set policies: %w", err)
	}
	t.warnOfUnused(table)
	return nil
}

func (t *Core) setPolicies(table policy.Table) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := table.Validate(policy.Default())
	for _, name := range slices.Sorted(maps.Keys(t.used)) {
		for _, base := range t.used[name].bases {
			if e := fresh(err, table.Validate(base)); e != nil {
				err = errors.Join(err, fmt.Errorf("with the policy of namespace %q: %w", name, e))
			}
		}
	}
	if err == nil {
		t.policies.Store(&table)
	}
	return err
}

// fresh returns the faults of a table that are not among those already found.
func fresh(found, more error) error {
	known := faultsIn(found, nil)
	var errs []error
	for _, f := range faultsIn(more, nil) {
		if !slices.ContainsFunc(known, func(k *policy.FieldError) bool { return *k == *f }) {
			errs = append(errs, f)
		}
	}
	return errors.Join(errs...)
}

// faultsIn appends the faults that an error of package policy joins.
func faultsIn(err error, to []*policy.FieldError) []*policy.FieldError {
	switch e := err.(type) { //nolint:errorlint // the tree is walked here
	case *policy.FieldError:
		return append(to, e)
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			to = faultsIn(one, to)
		}
	case interface{ Unwrap() error }:
		return faultsIn(e.Unwrap(), to)
	}
	return to
}

// Close ends the engine. Until ctx ends it waits for loads and sends the invalidations that wait for
// the log; then it cancels the loads and reports what was lost. A second Close does nothing.
func (t *Core) Close(ctx context.Context) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, cmp.Or(time.Duration(t.Bound), 2*time.Second))
		defer cancel()
	}
	t.closing()
	var lost error
	var unfollowed sync.WaitGroup
	first, err := t.Work.Close(ctx, func() {
		unfollowed.Go(func() { lost = t.unfollow(ctx) })
	})
	if !first {
		return nil
	}
	unfollowed.Wait()
	t.Listeners.Close()
	if err = errors.Join(err, lost, t.Seen.Close(), t.Local.Close()); err != nil {
		return fmt.Errorf("cache: close: %w", err)
	}
	return nil
}

// Numbers returns the numbers so far. They are read one by one while other goroutines count. So
// two of them may differ by what happened between their readings.
func (t *Core) Numbers() measure.Snapshot {
	s := measure.Snapshot{Fences: t.Fences.Stats(), Local: t.Local.Stats()}
	t.mu.Lock()
	all := slices.Collect(maps.Values(t.counts))
	t.mu.Unlock()
	s.Take(all, t.All)
	if t.remote != nil {
		s.Breaker = t.remote.Breaker()
	}
	if t.Follower != nil {
		s.Log = t.Follower.Stats()
	}
	return s
}
