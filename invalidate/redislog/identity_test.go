package redislog_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/internal/testkit/redistest"
	"github.com/twofold-go/twofold/invalidate"
)

// debug allows DEBUG to the tests' own server.
var debug = redistest.Args("--enable-debug-command", "yes", "--dbfilename", "dump.rdb")

// history is a way in which a log loses its last records. before runs when both processes know
// the log to its end. after runs when one of them has appended a record that the other has not
// read; it restores the log to what it was.
type history struct {
	name   string
	before func(t *testing.T, r *rig) (after func())
}

// histories keep what the server reports about itself, as far as they can. Only the process that
// appended could know that a record is missing.
var histories = []history{
	{"DEBUG RELOAD NOSAVE", func(_ *testing.T, r *rig) func() {
		r.do("SAVE")
		return func() { r.do("DEBUG", "RELOAD", "NOSAVE") }
	}},
	{"RESTORE of all three keys", func(_ *testing.T, r *rig) func() {
		dumps := map[string]any{}
		for _, k := range []string{r.m, r.k, r.s} {
			dumps[k] = r.do("DUMP", k)
		}
		return func() {
			for k, d := range dumps {
				r.do("RESTORE", k, 0, d, "REPLACE")
			}
		}
	}},
	{"REPLICAOF a lagging replica and back", func(t *testing.T, r *rig) func() {
		replica := redistest.Start(t)
		replicate(t, replica, r.server)
		replica.Do(t, "REPLICAOF", "NO", "ONE") // gets no more updates
		return func() {
			replicate(t, r.server, replica)
			r.do("REPLICAOF", "NO", "ONE")
		}
	}},
	{"a restart with an old dump", func(t *testing.T, r *rig) func() {
		r.do("SAVE")
		return func() { r.server.Restart(t) }
	}},
	{"a promoted replica that lagged", func(t *testing.T, r *rig) func() {
		replica := redistest.Start(t)
		replicate(t, replica, r.server)
		replica.Do(t, "REPLICAOF", "NO", "ONE")
		return func() { r.server = replica }
	}},
	{"a copied dump under a new server", func(t *testing.T, r *rig) func() {
		r.do("SAVE")
		config, err := r.server.Client().ConfigGet(t.Context(), "dir").Result()
		if err != nil {
			t.Fatal(err)
		}
		dump, err := os.ReadFile(filepath.Join(config["dir"], "dump.rdb"))
		if err != nil {
			t.Fatal(err)
		}
		return func() {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "dump.rdb"), dump, 0o600); err != nil {
				t.Fatal(err)
			}
			r.server = redistest.Start(t, redistest.Args("--dir", dir, "--dbfilename", "dump.rdb"))
		}
	}},
}

// replicate makes a server the replica of another and waits until it is.
func replicate(t *testing.T, replica, primary *redistest.Server) {
	t.Helper()
	replica.Do(t, "REPLICAOF", "127.0.0.1", primary.Port())
	redistest.Eventually(t, "the replica does not connect", func(context.Context) error {
		info, _ := replica.Do(t, "INFO", "replication").(string)
		if !strings.Contains(info, "master_link_status:up") {
			return errors.New(info)
		}
		return nil
	})
}

// A log that lost its end is never taken for the old one, whichever process syncs first: one that
// knows nothing of the lost records, or one that starts afterwards. (Finding V1.)
func TestLostEndStartsAnEpoch(t *testing.T) {
	t.Parallel()
	for _, h := range histories {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, debug)
			r.t = t
			knows, behind := r.started(3), r.process()
			behind.sync(invalidate.Append{})
			after := h.before(t, r)
			knows.sync(both(4))
			lost := knows.at
			after()
			behind, knows = behind.movedTo(r), knows.movedTo(r)
			behind.wantBump()
			for range 2 { // as many records as were lost, plus one
				if page := behind.sync(both(5)); page.End.Epoch == lost.Epoch || page.End.KeyID == lost.KeyID {
					t.Errorf("the records after %+v are of an earlier epoch: %+v", lost, page.End)
				}
			}
			knows.sync(invalidate.Append{})
			if gap(knows.keys) == nil || gap(knows.scopes) == nil {
				t.Error("the process that knew the lost record sees no gap")
			}
			fresh := r.process()
			fresh.sync(invalidate.Append{})
			behind.sync(invalidate.Append{})
			if fresh.at != knows.at || fresh.at != behind.at {
				t.Errorf("three processes end at %v, %v and %v", fresh.at, knows.at, behind.at)
			}
		})
	}
}

// A process that starts after the loss, and syncs first, finds a new epoch.
func TestLostEndIsNoticedByANewProcess(t *testing.T) {
	t.Parallel()
	for _, h := range histories {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, debug)
			r.t = t
			knows := r.started(3)
			after := h.before(t, r)
			knows.sync(both(4))
			before := knows.at
			after()
			fresh := r.process()
			fresh.sync(invalidate.Append{})
			if last := fresh.keys[len(fresh.keys)-1]; !last.Bump || fresh.at.Epoch == before.Epoch {
				t.Errorf("a new process finds %+v last, in epoch %x; want a new epoch", last, fresh.at.Epoch)
			}
		})
	}
}

// movedTo returns the process with its cursor, on the rig's current server.
func (p *process) movedTo(r *rig) *process {
	q := r.process()
	q.at, q.keys, q.scopes = p.at, p.keys, p.scopes
	return q
}

// Copies that are made and put back within the server leave no trace there. The ids of the
// records reveal them: a process whose last record differs from the log's at that position starts
// an epoch.
func TestPositionsUsedAgain(t *testing.T) {
	t.Parallel()
	for _, more := range []int{1, 3} {
		t.Run(fmt.Sprint(more, " records after the loss of one"), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.t = t
			knows, behind := r.started(3), r.process()
			behind.sync(invalidate.Append{})
			keys := []string{r.m, r.k, r.s}
			for _, k := range keys {
				r.do("COPY", k, k+":saved")
			}
			knows.sync(both(4))
			for _, k := range keys {
				r.do("COPY", k+":saved", k, "REPLACE")
			}
			for range more {
				behind.sync(both(5))
			}
			if more == 1 && behind.at.Key != knows.at.Key {
				t.Fatalf("the positions are %v and %v, want the same", behind.at, knows.at)
			}
			page := knows.sync(invalidate.Append{})
			if n := len(page.Keys); n == 0 || !page.Keys[n-1].Bump {
				t.Fatalf("the process that knows another record finds %+v, want a bump", page)
			}
			behind.wantBumped()
		})
	}
}

// wantBumped checks that an epoch was started since the last sync.
func (p *process) wantBumped() {
	p.t.Helper()
	if keys, scopes := p.news(); len(keys) != 1 || !keys[0].Bump || len(scopes) != 1 || !scopes[0].Bump {
		p.t.Errorf("read %v and %v, want a bump in both", keys, scopes)
	}
}

// Keys of other types, and contents that the log did not write, are refused or given up. They are
// never read as records.
func TestForeignKeys(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(r *rig, k string){
		"string": func(r *rig, k string) { r.do("SET", k, "x") },
		"list":   func(r *rig, k string) { r.do("RPUSH", k, "x") },
		"hash":   func(r *rig, k string) { r.do("HSET", k, "x", "y") },
		"stream": func(r *rig, k string) { r.do("XADD", k, "*", "x", "y") },
		"short record id": func(r *rig, k string) {
			if k != r.m {
				r.do("XADD", k, "1-1", "t", "1", "d", "\x01aaaaaaaa", "i", "short")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.t = t
			for _, k := range []string{r.m, r.k, r.s} {
				p := r.started(2)
				r.do("DEL", k)
				spoil(r, k)
				before := p.at
				if _, err := p.trySync(invalidate.Append{}); err == nil && p.at.Key.Epoch() <= before.Key.Epoch() {
					t.Errorf("%s is a %s: Sync = nil in the same epoch, want an error or a new epoch", k, name)
				} else if err != nil && !redis.HasErrorPrefix(err, "WRONGTYPE") {
					t.Errorf("Sync = %v, want WRONGTYPE", err)
				}
				r.do("DEL", r.m, r.k, r.s)
			}
		})
	}
}
