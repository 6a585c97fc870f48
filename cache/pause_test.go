package cache_test

import (
	"testing"
	"time"
)

var paused = patch{TTL: new(10 * time.Second), Stale: new(8 * time.Second), StaleIfError: new(20 * time.Second), LoadTimeout: new(6 * time.Second)}

// A refresh whose value is not stored, as NoStore says, leaves the stale value. The next refresh starts
// no sooner than a LoadTimeout after it.
func TestRefreshThatIsNotStored(t *testing.T) {
	play(t, scene{cfg: thingConfig{Policy: paused}, steps: `
		a gets 1.1; says nostore; wait 11s; a gets 1.1 stale; loads 2; wait 5900ms; a gets 1.1 stale; loads 2
		wait 200ms; a gets 1.1 stale; loads 3`})
}

// Past Stale a value is not served while a refresh of it runs, since that may still succeed.
func TestRefreshBeyondStale(t *testing.T) {
	play(t, scene{cfg: thingConfig{Policy: paused}, steps: `
		a gets 1.1; source takes=3s; wait 17s; a gets 1.1 stale; wait 2s; a gets 1.2 load; took 1s; loads 2`})
}
