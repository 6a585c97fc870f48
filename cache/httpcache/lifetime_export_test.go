package httpcache

import (
	"errors"
	"net/http"
	"time"
)

// Reckoned shows a lifetime to tests.
type Reckoned struct {
	Age, Total, Stale, StaleIfError time.Duration

	Explicit, Asks, Strict, NoStore, Private, Public, Authorized, Immutable, Bad bool
}

// LifetimeOf computes the lifetime of a response.
func LifetimeOf(shared bool, targets []string, f Fallback, status int, h http.Header, asked, received time.Time) Reckoned {
	l := (&rules{shared: shared, targets: targets, fallback: f}).lifetimeOf(status, h, asked, received)
	return Reckoned{l.age, l.total, l.stale, l.staleIfError, l.explicit, l.asks, l.strict, l.noStore, l.private, l.public, l.authorized, l.immutable, l.bad}
}

// Left is lifetime.left.
func (l Reckoned) Left() (fresh, stale, staleIfError time.Duration) {
	return (&lifetime{age: l.Age, total: l.Total, stale: l.Stale, staleIfError: l.StaleIfError, asks: l.Asks}).left()
}

// Faults returns the faults of f.
func (f Fallback) Faults() error { return errors.Join(f.faults()...) }
