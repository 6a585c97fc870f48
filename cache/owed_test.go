package cache_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/cache"
)

// outdating are the calls that invalidate key 1, whose tag is t, and wait for the log. Strict also
// fails when only the others are not known to have heard.
var outdating = []string{
	"sets set", "sets-many", "deletes", "deletes-many", "deletes all", "invalidates key", "invalidates tag", "expires tag", "invalidates key strict",
}

// An invalidation that returned holds in its own process, whatever it returned and in any state
// of the log. No later read gets the old value, although the remote tier still has it. When the log
// has recovered, it reaches the other process.
func TestOwnReadsAfterPendingError(t *testing.T) {
	for _, write := range outdating[:len(outdating)-1] {
		for _, state := range []string{"fails", "hangs", "slow=400ms", "well"} {
			for _, patience := range []string{"0s", "1ms", "1h"} {
				play(t, scene{name: fmt.Sprint(write, ", log ", state, ", patience ", patience), on: logged, steps: `
					b gets 1.1; a gets 1.1; a's log ` + state + `; a ` + write + ` perhaps pending timeout=` + patience +
					strings.Repeat("; a gets !1.1; a many !1.1; wait 50ms", 40) + `
					a's log well; wait 2s; a counts Pending=0; a gets !1.1; b gets !1.1`})
			}
		}
	}
}

// A writer that is cancelled while the log hangs returns at once.
func TestCancelledWriterLeavesAHungLog(t *testing.T) {
	for _, write := range outdating {
		play(t, scene{name: write, on: logged, steps: `
			a gets 1.1; b gets 1.1; a's log hangs; a ` + write + ` pending after=1ms; took 1ms-2ms; a gets !1.1
			a's log well; wait 2s; b gets !1.1`})
	}
}

// During an outage of the log a call returns a PendingError after InvalidateWait. This process
// no longer serves the invalidated value.
func TestInvalidateWait(t *testing.T) {
	for _, write := range outdating {
		for wait, want := range map[time.Duration]time.Duration{
			0: 250 * time.Millisecond, 20 * time.Millisecond: 20 * time.Millisecond, 3 * time.Second: 3 * time.Second,
		} {
			fails := fmt.Sprintf("a %s pending; took %v; a gets !1.1; wait 2s; ", write, want)
			play(t, scene{name: fmt.Sprint(write, " ", wait), on: logged, tc: cache.TiersConfig{InvalidateWait: wait}, steps: `
				a gets 1.1; a's log fails; ` + fails + fails + fails + `a's log well; wait 1s; a counts Pending=0`})
		}
	}
}
