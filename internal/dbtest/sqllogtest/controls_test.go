//go:build twofold_controls

package sqllogtest_test

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Each safeguard is there for certain losses: the server's identity, the ids of records, and both.
// Without it, exactly those losses must go unnoticed.
func TestIdentityControls(t *testing.T) {
	if os.Getenv("TWOFOLD_SAFEGUARDS_OFF") != "" {
		return // this is the process of a control
	}
	const unknown, written, tables = "an_old_copy_that_nobody_knows_more_than", "an_old_copy_that_was_written_to", "tables_of_a_dump_that_were_written_to,_"
	for off, want := range map[string][]string{
		"run-id":     {unknown},
		"ids":        {tables + "mariadb", tables + "postgres", tables + "sqlite"},
		"run-id,ids": {unknown, written, tables + "mariadb", tables + "postgres", tables + "sqlite"},
	} {
		t.Run("without "+off, func(t *testing.T) {
			if got := failures(t, off, "TestLostEnd"); !slices.Equal(got, want) {
				t.Errorf("unnoticed: %q, want %q", got, want)
			}
		})
	}
	for _, test := range []string{"TestRestart", "TestPromotionWhileNumbering"} {
		if len(failures(t, "run-id", test)) == 0 {
			t.Errorf("%s does not miss the server's identity", test)
		}
	}
}

var failed = regexp.MustCompile(`(?m)^ *--- FAIL: (?:TestLostEnd/)?(\S+)`)

// failures runs a test without some safeguards and returns the subtests that fail.
func failures(t *testing.T, off, test string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+test+"$", "-test.count=1", "-test.v")
	cmd.Env = append(os.Environ(), "TWOFOLD_SAFEGUARDS_OFF="+off)
	out, _ := cmd.CombinedOutput() // it is expected to fail
	if strings.Contains(string(out), "panic:") || !strings.Contains(string(out), "--- ") {
		t.Fatalf("the tests did not run:\n%s", out)
	}
	var names []string
	for _, m := range failed.FindAllStringSubmatch(string(out), -1) {
		if m[1] != "TestLostEnd" {
			names = append(names, m[1])
		}
	}
	slices.Sort(names)
	return names
}
