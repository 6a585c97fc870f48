package track_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/rsstracker/state"
	"github.com/twofold-go/twofold/examples/rsstracker/track"
)

// scenario is a site whose next run has everything at once: new pages, a changed one, a
// failing one, one that is gone and one that is back.
func scenario(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	r.site.Baseline, r.site.Updates = 2, true
	for i := range 6 {
		r.web.add(fmt.Sprintf("/%d", i), epoch.Add(-time.Duration(i+1)*time.Hour))
	}
	r.listBoth("/b.xml", "/4", "/5")
	r.run()
	r.listBoth("/b.xml", "/4")
	r.run() // /5 is gone
	r.happen()
	return r
}

// listBoth lists the first posts in /a.xml, and the others in another sitemap.
func (r *rig) listBoth(at string, paths ...string) {
	r.web.index("/sitemap.xml", time.Time{}, "/a.xml", "/b.xml")
	r.web.list("/a.xml", "/0", "/1", "/2", "/3")
	r.web.list(at, paths...)
}

// happen makes the changes of the scenario.
func (r *rig) happen() {
	r.web.add("/new1", r.now)
	r.web.add("/new2", r.now.Add(time.Minute))
	r.web.add("/bad", r.now).fail = errDown
	p := r.web.posts["/0"]
	p.lastMod, p.text = r.now, "changed"
	r.listBoth("/b.xml", "/5", "/new1", "/new2", "/bad")
}

// settle runs until nothing more changes.
func (r *rig) settle() {
	r.t.Helper()
	r.now = r.now.Add(10 * time.Minute) // after the lease of a killed run
	r.run()
	r.web.posts["/bad"].fail = nil
	r.run()
}

// wantScenario checks the result of the scenario, however often its process was killed.
func wantScenario(t *testing.T, r *rig) {
	t.Helper()
	got := r.published()
	slices.Sort(got)
	wantList(t, "published", got, "/0", "/1", "/bad", "/new1", "/new2")
	for _, i := range r.window() {
		if i.GUID == home+"/0" && i.Description != "changed" {
			t.Errorf("the change is lost: %+v", i)
		}
	}
	p := r.stats().Pages
	want(t, "pages", p, state.PageCounts{Done: 8, Gone: 1})
	for _, f := range []string{"rss.xml"} {
		if r.file(f) == "" {
			t.Errorf("no %s", f)
		}
	}
}

// points returns the names of all points of the scenario's run.
func points(t *testing.T) (all []string) {
	t.Helper()
	r := scenario(t)
	r.at = func(at string) { all = append(all, at) }
	r.run()
	r.at = nil
	r.settle()
	wantScenario(t, r)
	return all
}

// TestCrashAnywhere ends the run at each of its points with a panic: open transactions are
// rolled back, and nothing else runs.
func TestCrashAnywhere(t *testing.T) {
	all := points(t)
	if len(all) < 25 {
		t.Fatalf("only %d points: %q", len(all), all)
	}
	first := closed(t)
	seen := map[string]int{}
	for _, at := range all {
		seen[at]++
		n := seen[at]
		t.Run(fmt.Sprintf("%s %d", at, n), func(t *testing.T) {
			t.Parallel()
			r := resume(t, copied(t, first))
			r.dieAt(at, n)
			r.settle()
			wantScenario(t, r)
		})
	}
}

// killed, if set, makes the test binary run the scenario in a folder and kill itself with
// SIGKILL at the n-th point.
var killed = struct {
	dir *string
	at  *int
}{flag.String("kill-dir", "", "internal: folder of a run that kills itself"), flag.Int("kill-at", 0, "internal: its point")}

// TestKilledChild is not a test, but the process that [TestKill] kills.
func TestKilledChild(t *testing.T) {
	if *killed.dir == "" {
		return
	}
	r := resume(t, *killed.dir)
	n := *killed.at
	r.at = func(string) {
		if n--; n < 0 {
			if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			select {} // the signal arrives soon, but not at this line
		}
	}
	r.run()
	t.Fatal("the run ended before it was killed")
}

// closed returns the folder of a closed scenario.
func closed(t *testing.T) string {
	t.Helper()
	r := scenario(t)
	if err := r.keeper.Close(); err != nil { // the WAL is empty then
		t.Fatal(err)
	}
	return r.dir
}

// copied returns a copy of a folder.
func copied(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// resume returns the rig of the scenario on the folder that another process left.
func resume(t *testing.T, dir string) *rig {
	t.Helper()
	r := newRig(t)
	r.moveTo(dir)
	r.site.Baseline, r.site.Updates = 2, true
	for i := range 6 {
		r.web.add(fmt.Sprintf("/%d", i), epoch.Add(-time.Duration(i+1)*time.Hour))
	}
	r.now = epoch.Add(2 * time.Hour) // after the two runs of the scenario
	r.happen()
	return r
}

// TestKill kills a process with SIGKILL at every point of a run, and then runs again in its folder.
func TestKill(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	first := closed(t)
	for n, at := range points(t) {
		t.Run(fmt.Sprintf("%d %s", n, at), func(t *testing.T) {
			t.Parallel()
			dir := copied(t, first)
			child := exec.CommandContext(t.Context(), exe, "-test.run=^TestKilledChild$", "-kill-dir="+dir, fmt.Sprintf("-kill-at=%d", n))
			child.Env = append(os.Environ(), "TMPDIR="+t.TempDir()) // a killed process leaves its temporary files
			out, err := child.CombinedOutput()
			exit, ok := errors.AsType[*exec.ExitError](err)
			if !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("the process was not killed: %v\n%s", err, out)
			}
			r := resume(t, dir)
			r.now = r.now.Add(r.every)
			if _, err := r.tracker().Run(t.Context(), r.site); at != "after" && !errors.Is(err, state.ErrLeased) {
				t.Errorf("a run while the dead one has the lease: %v", err)
			}
			r.settle()
			wantScenario(t, r)
		})
	}
}

// TestLeftovers: files that a killed run leaves are removed by a later run.
func TestLeftovers(t *testing.T) {
	r := busy(t)
	left := filepath.Join(track.Folder(r.dir, r.site.Name), "rss.xml.newX")
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	hours := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(left, hours, hours); err != nil {
		t.Fatal(err)
	}
	r.web.add("/more", r.now)
	r.listAll()
	r.run()
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}
