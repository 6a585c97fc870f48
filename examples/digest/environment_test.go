package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A flag wins over the environment, which wins over the .env file.
func TestEnvironment(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	text := "DIGEST_DB=" + path("file.db") + "\nDIGEST_ZONE=Europe/Paris\nDIGEST_REDIS=redis://127.0.0.1:1\n"
	if err := os.WriteFile(path("e"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	environ := []string{"DIGEST_DB=" + path("environment.db"), "DIGEST_ZONE=Europe/Rome"}
	do := func(status int, environ []string, args ...string) string {
		t.Helper()
		var out, errs output
		if got := run(t.Context(), nil, append(args, "--env-file", path("e")), environ, &out, &errs); got != status {
			t.Errorf("%v: status %d, want %d: %s", args, got, status, &errs)
		}
		return out.String() + errs.String()
	}
	if said := do(0, environ, "verify", "--db", path("flag.db"), "--zone", "Asia/Tokyo"); !strings.Contains(said, "all stored") {
		t.Errorf("verify printed %s", said)
	}
	do(0, environ, "verify")
	do(0, nil, "verify")
	for name, zone := range map[string]string{"flag.db": "Asia/Tokyo", "environment.db": "Europe/Rome", "file.db": "Europe/Paris"} {
		said := do(1, nil, "verify", "--db", path(name), "--zone", "UTC")
		if !strings.Contains(said, "use "+zone+", not UTC") || !strings.Contains(said, "begin another database") {
			t.Errorf("%s: %s, want the zone %s and what to do", name, said, zone)
		}
	}
	// The zone of the database is enough.
	if said := do(0, []string{"DIGEST_ZONE="}, "generate", "--db", path("flag.db")); !strings.Contains(said, `"users": 0`) {
		t.Errorf("generate printed %s", said)
	}
	for name, want := range map[string]string{
		"DIGEST_ZONE=Nowhere/Land": "Nowhere/Land", "DIGEST_REDIS=http://user:hidden@host": "redis://",
		"OPENAI_TRIES=x": "OPENAI_TRIES", "OPENAI_TIMEOUT=1m": "OPENAI_TIMEOUT", "DIGEST_DB=" + path("none/d.db"): "none/d.db",
	} {
		if said := do(1, []string{"DIGEST_DB=" + path("bad.db"), name}, "verify"); !strings.Contains(said, want) || strings.Contains(said, "hidden") {
			t.Errorf("%s: %s, want %q", name, said, want)
		}
	}
}
