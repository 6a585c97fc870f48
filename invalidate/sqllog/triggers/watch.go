package triggers

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/twofold-go/twofold/invalidate/sqllog"
)

// DefaultInterval is how often [Watch] checks, unless it is told otherwise.
const DefaultInterval = time.Minute

// Watch calls [Check] immediately and then at intervals, until ctx ends. Run it in its own goroutine. It
// finds what removes or changes triggers while programs run: a migration that makes a table anew, or
// one that moves on to the Rows of the next version.
//
// When the answer of Check changes, Watch logs it once to the Logger of cfg: a fault as a warning, and
// its end as information. An interval of zero or less means [DefaultInterval]. A Check may take as long
// as the interval.
func Watch(ctx context.Context, interval time.Duration, db *sql.DB, cfg sqllog.Config, tables []Table, caches ...Cache) {
	if interval <= 0 {
		interval = DefaultInterval
	}
	log := cfg.Logger
	if log == nil {
		log = slog.Default()
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for last := ""; ctx.Err() == nil; {
		check, cancel := context.WithTimeout(ctx, interval)
		err := Check(check, db, cfg, tables, caches...)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if now := faultOf(err); now != last {
			last = now
			logChange(ctx, log, err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

// faultOf returns what Watch compares. What a database says when it cannot be asked may differ each time.
func faultOf(err error) string {
	switch {
	case err == nil:
		return ""
	case isFault(err):
		return err.Error()
	}
	return "not checked"
}

func isFault(err error) bool {
	return errors.Is(err, ErrTable) || errors.Is(err, ErrNotInstalled) || errors.Is(err, sqllog.ErrConfig)
}

func logChange(ctx context.Context, log *slog.Logger, err error) {
	switch {
	case err == nil:
		log.InfoContext(ctx, "triggers: tables invalidate themselves again")
	case isFault(err):
		log.WarnContext(ctx, "triggers: tables do not invalidate themselves, so caches may serve old values until their TTL: mend the triggers as the error says, then invalidate what was written meanwhile", "error", err)
	default:
		log.WarnContext(ctx, "triggers: the triggers of tables could not be checked; the next check follows", "error", err)
	}
}

// cacheFaults compares the Rows of tables with the caches that they are for.
func cacheFaults(all []mapped, caches []Cache) error {
	var errs []error
	named, keys := map[string]bool{}, []string{}
	for i := range all {
		for _, r := range all[i].Rows {
			if r.Key != "" && !named[r.Key] {
				named[r.Key], keys = true, append(keys, r.Key)
			}
		}
	}
	for i, c := range caches {
		switch namespace := c.Namespace(); {
		case !named[namespace]:
			errs = append(errs, fmt.Errorf("%w: caches[%d] is of namespace %.100q, and no Row has it as its Key; the Keys are %.1000q: set Key to the cache's Namespace()", ErrTable, i, namespace, keys))
		case c.HashesKeys():
			errs = append(errs, fmt.Errorf("%w: caches[%d] is of namespace %.100q, and its keys are hashed, which SQL cannot do: "+
				"use string, integer or UUID keys, or give its values a tag and name it in a Row", ErrTable, i, namespace))
		}
	}
	return errors.Join(errs...)
}
