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

// Each safeguard is there for certain losses: the server's identity, the ids of records, the mark of
// the tables, their place, and the content of rows. Without it, exactly those losses must go unnoticed.
func TestIdentityControls(t *testing.T) {
	if os.Getenv("TWOFOLD_SAFEGUARDS_OFF") != "" {
		return // this is the process of a control
	}
	const unknown, written, tables = "an_old_copy_that_nobody_knows_more_than", "an_old_copy_that_was_written_to", "tables_of_a_dump_that_were_written_to,_"
	template, renamed, folder := "postgres,_a_database_from_a_TEMPLATE,_RENAME", "mariadb,_a_copy_in_the_server,_RENAME_TABLES", "sqlite,_the_folder_by_rename,_closed"
	var all []string
	for _, kind := range rigs {
		for name := range ways[kind.dialect] {
			all = append(all, strings.ReplaceAll(kind.name+", "+name, " ", "_"))
		}
	}
	for _, tt := range []struct {
		off, test string
		want      []string
	}{
		{"memory,place,run-id", "TestLostEnd", []string{unknown}},
		{"memory,place,ids", "TestLostEnd", []string{tables + "mariadb", tables + "postgres", tables + "sqlite"}},
		{"memory,place,run-id,ids", "TestLostEnd", []string{unknown, written, tables + "mariadb", tables + "postgres", tables + "sqlite"}},
		{"place", "TestPutBack", []string{template, renamed, folder}},
		{"memory,place", "TestPutBack", all},
		{"content", "TestReusedID", []string{"mariadb", "postgres", "sqlite"}},
		{"content", "TestReusedIDBetweenStatements", []string{"TestReusedIDBetweenStatements"}},
		{"content", "TestChangedWhileNumbering", []string{"TestChangedWhileNumbering"}},
		{"memory", "TestInMemory", []string{"TestInMemory"}},
		{"run-id", "TestRestart", []string{"TestRestart"}},
		{"run-id", "TestRestartWithinSeconds", []string{"TestRestartWithinSeconds"}},
		{"run-id", "TestPromotionWhileNumbering", []string{"TestPromotionWhileNumbering"}},
	} {
		t.Run(tt.test+" without "+tt.off, func(t *testing.T) {
			got, skipped := failures(t, tt.off, tt.test)
			want := slices.DeleteFunc(slices.Sorted(slices.Values(tt.want)), func(name string) bool { return slices.Contains(skipped, name) })
			if !slices.Equal(got, want) {
				t.Errorf("unnoticed: %q, want %q", got, want)
			}
		})
	}
}

// ended finds how a test, and how each of its subtests, ended. It leaves out subtests of subtests.
var ended = regexp.MustCompile(`(?m)^(?:    )?--- (FAIL|SKIP): (?:[^/\s]+/)?([^/\s]+) `)

// failures runs a test without some safeguards and returns the subtests that fail, or the test if it
// has none, and what was skipped.
func failures(t *testing.T, off, test string) (failed, skipped []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+test+"$", "-test.count=1", "-test.v")
	cmd.Env = append(os.Environ(), "TWOFOLD_SAFEGUARDS_OFF="+off)
	out, _ := cmd.CombinedOutput() // it is expected to fail
	if strings.Contains(string(out), "panic:") || !strings.Contains(string(out), "--- ") {
		t.Fatalf("the tests did not run:\n%s", out)
	}
	for _, m := range ended.FindAllStringSubmatch(string(out), -1) {
		if m[1] == "SKIP" {
			skipped = append(skipped, m[2])
		} else {
			failed = append(failed, m[2])
		}
	}
	if len(failed) > 1 {
		failed = slices.DeleteFunc(failed, func(name string) bool { return name == test })
	}
	slices.Sort(failed)
	return failed, skipped
}
