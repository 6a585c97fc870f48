package redistier_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/internal/testkit/redistest"
	"github.com/twofold-go/twofold/internal/testkit/tiercall"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/redistier"
)

// TestReadsOfOneServer: many readers of a real server each get their own frame, or none. A key of
// another Redis type is an error for GET. MGET reports it as missing, and a claim replaces it. Every
// read sends its key once.
func TestReadsOfOneServer(t *testing.T) {
	rdb := redistest.Start(t).Client()
	prefix := redistest.Prefix()
	r := redistier.New(rdb, redistier.Config{Prefix: prefix})
	for i := range 10 {
		store(t, r, fmt.Sprint("there", i))
	}
	if err := rdb.LPush(t.Context(), prefix+":v:list", "x").Err(); err != nil {
		t.Fatal(err)
	}
	before := stat(t, rdb, "keyspace_hits:") + stat(t, rdb, "keyspace_misses:")
	var wg sync.WaitGroup
	for g := range 64 {
		wg.Go(func() {
			for i := range 50 {
				key := []string{"list", "absent", fmt.Sprint("there", (g+i)%10)}[(g+i)%3]
				frame, err := tiercall.Get(t.Context(), r, key)
				if (err != nil && key != "list") || (len(frame) > 0) != strings.HasPrefix(key, "there") {
					t.Errorf("Get of %s = %d bytes, %v", key, len(frame), err)
				}
			}
		})
	}
	wg.Wait()
	found, missed, mgets := stat(t, rdb, "keyspace_hits:"), stat(t, rdb, "keyspace_misses:"), stat(t, rdb, "cmdstat_mget:calls=")
	if found+missed != before+64*50 {
		t.Errorf("%d keys were looked up, want %d", found+missed-before, 64*50)
	}
	if mgets == 0 {
		t.Error("no reads were merged")
	}
	if _, err := tiercall.Get(t.Context(), r, "list"); err == nil {
		t.Error("a GET of another Redis type returned no error")
	}
	claim := tier.Claim{Nonce: tier.NewNonce(), Lease: time.Second}
	if got, err := tiercall.Claim(t.Context(), r, "list", claim); err != nil || !got.Granted {
		t.Errorf("a claim of another Redis type = %+v, %v; want it granted", got, err)
	}
}

// stat returns the number after a name in the server's INFO; 0 when the name is missing.
func stat(t *testing.T, rdb *redis.Client, name string) (n int) {
	t.Helper()
	info, err := rdb.Info(t.Context(), "everything").Result()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(info) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			if _, err := fmt.Sscan(rest, &n); err != nil {
				t.Fatal(err)
			}
		}
	}
	return n
}
