package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The commands for sources and users, in sequence.
func TestManageCommands(t *testing.T) {
	args, key := imported(t)
	call := func(status int, want string, first ...string) string {
		t.Helper()
		out, errs := execute(t, status, append(first, args...)...)
		if !strings.Contains(out+errs, want) {
			t.Errorf("%s printed %s%s, want %s", strings.Join(first, " "), out, errs, want)
		}
		return out
	}
	call(0, `"name": "New"`, "source", "add", "New", "--type", "rss", "--url", "https://new.example/?token=hidden")
	call(0, `"id": 3`, "source", "add", "HN", "--type", "hackernews", "--config", `{"filter":"top"}`)
	call(0, `"name": "Renamed"`, "source", "edit", "2", "--name", "Renamed")
	call(0, `"name": "Renamed"`, "source", "edit", "2", "--url", "https://other.example/")
	call(0, `"is_deleted": true`, "source", "delete", "1")
	call(0, "all stored hashes match the subscriptions", "verify")
	call(0, `"no_sources": 1`, "generate")
	call(0, `"is_deleted": false`, "source", "restore", "1")
	if out := call(0, `"name": "Renamed"`, "source", "list"); strings.Contains(out, "hidden") || strings.Count(out, `"id"`) != 3 {
		t.Errorf("source list printed %s", out)
	}
	call(0, `"slug": "anne"`, "user", "edit", "1", "--slug", "anne", "--options", `{"language":"zh"}`)
	if out := call(0, `"email": "ann@example.com"`, "user", "list"); strings.Contains(out, key) {
		t.Errorf("user list printed %s", out)
	}
	call(0, "user 1 removed", "user", "remove", "1")
	call(0, "all stored hashes match the subscriptions", "verify")

	// Errors name the fault.
	call(1, "not found", "user", "remove", "1")
	call(1, "not found", "source", "edit", "9", "--name", "x")
	call(1, "not found", "source", "restore", "9")
	call(1, "config", "source", "add", "x", "--type", "rss")
	call(1, "unknown type", "source", "add", "x", "--type", "rrs", "--url", "https://x.example")
	call(1, "http or https", "source", "add", "x", "--type", "rss", "--url", "x.example")
	call(2, "--config", "source", "add", "x", "--type", "rss", "--url", "https://x.example", "--config", "{}")
	call(1, "JSON object", "source", "edit", "2", "--config", "{")
	call(1, "options", "user", "edit", "1", "--options", `{"language":"klingon"}`)
}

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
		if !strings.Contains(said, "use "+zone+", not UTC") || !strings.Contains(said, "'zone UTC'") {
			t.Errorf("%s: %s, want the zone %s and what to do", name, said, zone)
		}
	}
	// The zone of the database is enough.
	if said := do(0, []string{"DIGEST_ZONE="}, "generate", "--db", path("flag.db")); !strings.Contains(said, `"users": 0`) {
		t.Errorf("generate printed %s", said)
	}
	if said := do(0, nil, "zone", "UTC", "--db", path("flag.db")); !strings.Contains(said, "Asia/Tokyo") {
		t.Errorf("zone printed %s", said)
	}
	do(0, nil, "verify", "--db", path("flag.db"), "--zone", "UTC")
	do(1, nil, "zone", "Nowhere/Land", "--db", path("flag.db"))
	for name, want := range map[string]string{
		"DIGEST_ZONE=Nowhere/Land": "Nowhere/Land", "DIGEST_REDIS=http://user:hidden@host": "redis://", "DIGEST_CALLS_PER_HOUR=-1": "whole number",
		"OPENAI_TRIES=x": "OPENAI_TRIES", "OPENAI_TIMEOUT=1m": "OPENAI_TIMEOUT", "DIGEST_DB=" + path("none/d.db"): "none/d.db",
	} {
		if said := do(1, []string{"DIGEST_DB=" + path("bad.db"), name}, "verify"); !strings.Contains(said, want) || strings.Contains(said, "hidden") {
			t.Errorf("%s: %s, want %q", name, said, want)
		}
	}
}
