package redislog_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/internal/testkit/redistest"
)

// serversEnv names more server binaries to run this package's suite against: other versions of
// Redis, or Valkey. They are separated like the entries of PATH.
const serversEnv = "TWOFOLD_REDIS_SERVERS"

// TestOtherServers runs the conformance suite and the fault tests against each of them, in its
// own process.
func TestOtherServers(t *testing.T) {
	if os.Getenv(redistest.ServerEnv) != "" {
		return // this process runs one of those servers
	}
	bins := filepath.SplitList(os.Getenv(serversEnv))
	if len(bins) == 0 {
		t.Logf("%s names no server; the suite ran against redis-server alone", serversEnv)
	}
	for _, bin := range bins {
		t.Run(filepath.Base(filepath.Dir(bin))+"/"+filepath.Base(bin), func(t *testing.T) {
			version, err := exec.CommandContext(t.Context(), bin, "--version").Output()
			if err != nil {
				t.Fatalf("%s: field %s: %v; want the path of a server binary", bin, serversEnv, err)
			}
			t.Log(strings.TrimSpace(string(version)))
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.count=1", "-test.timeout=5m")
			cmd.Env = append(os.Environ(), redistest.ServerEnv+"="+bin)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v:\n%s", err, out)
			}
		})
	}
}
