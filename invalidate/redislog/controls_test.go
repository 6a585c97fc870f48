//go:build twofold_controls

package redislog_test

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Each part of the log's identity detects some histories. When that part is switched off, with
// the other parts that would detect them too, TestLostEndStartsAnEpoch must fail for exactly
// those histories. The second row is the earlier protocol, whose identity was only the run id.
func TestIdentityControls(t *testing.T) {
	if os.Getenv("TWOFOLD_SAFEGUARDS_OFF") != "" {
		return // this process runs one of the controls
	}
	const reload, restore, replicaOf = "DEBUG_RELOAD_NOSAVE", "RESTORE_of_all_three_keys", "REPLICAOF_a_lagging_replica_and_back"
	for _, tt := range []struct {
		off  string
		want []string
	}{
		{"memory", []string{reload, restore}},
		{"memory,replid", []string{reload, restore, replicaOf}},
		{"memory,replid,run-id", []string{
			reload, restore, replicaOf,
			"a_restart_with_an_old_dump", "a_promoted_replica_that_lagged", "a_copied_dump_under_a_new_server",
		}},
		{"run-id", nil}, // every change of the run id also changes the replication id
		{"replid", nil}, // the witness or the run id changes with it
		{"ids", nil},
	} {
		t.Run("without "+tt.off, func(t *testing.T) {
			t.Parallel()
			if got := failures(t, tt.off, "TestLostEndStartsAnEpoch"); !slices.Equal(got, slices.Sorted(slices.Values(tt.want))) {
				t.Errorf("unnoticed: %q, want %q", got, tt.want)
			}
		})
	}
	t.Run("positions used again without ids", func(t *testing.T) {
		t.Parallel()
		if got := failures(t, "ids", "TestPositionsUsedAgain"); len(got) == 0 {
			t.Error("the ids of records are not missed")
		}
	})
}

var failed = regexp.MustCompile(`(?m)^ +--- FAIL: [^/]+/(\S+)`)

// failures runs a test without some safeguards and returns the subtests that failed.
func failures(t *testing.T, off, test string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+test+"$", "-test.count=1", "-test.v")
	cmd.Env = append(os.Environ(), "TWOFOLD_SAFEGUARDS_OFF="+off)
	out, _ := cmd.CombinedOutput() // the test should fail
	if strings.Contains(string(out), "panic:") || !strings.Contains(string(out), "--- ") {
		t.Fatalf("the tests did not run:\n%s", out)
	}
	var names []string
	for _, m := range failed.FindAllStringSubmatch(string(out), -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	return names
}
