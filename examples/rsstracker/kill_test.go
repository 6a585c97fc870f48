package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mmcdole/gofeed"
)

// asProgram, if set, makes the test binary the program.
const asProgram = "RSSTRACKER_TEST_ARGS"

// process returns the program with arguments, as a separate process.
func process(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, os.Args[0])
	// The race detector sleeps for a second at exit. A kill during this second would show nothing.
	c.Env = append(os.Environ(), asProgram+"="+strings.Join(args, "\n"), "GORACE=atexit_sleep_ms=0")
	return c
}

// reader polls the feed. A seen item must neither change nor come back.
type reader struct {
	seen  map[string]string // the text of an item, by guid
	inNow map[string]bool   // in the feed at the last poll
}

// poll returns the faults of the feed; "" if there are none.
func (r *reader) poll(t *testing.T, file string) (faults string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) && len(r.seen) == 0 {
		return ""
	} else if err != nil {
		t.Fatal(err)
	}
	f, err := gofeed.NewParser().ParseString(string(b))
	if err != nil {
		return fmt.Sprintf("the feed is broken: %v\n%s", err, b)
	}
	now := map[string]bool{}
	for _, i := range f.Items {
		says := i.Link + " " + i.Published
		old, known := r.seen[i.GUID]
		if now[i.GUID] || known && (!r.inNow[i.GUID] || old != says) {
			faults += fmt.Sprintf("%s is there twice, is back, or has changed: %s, %s\n", i.GUID, old, says)
		}
		r.seen[i.GUID], now[i.GUID] = says, true
	}
	r.inNow = now
	return faults
}

// missing returns the posts that were never published. The first run published the newest of three.
func (r *reader) missing(b *blog) (all []string) {
	for n := 2; n < b.posts; n++ {
		if guid := fmt.Sprintf("%s/posts/%d", b.URL, n); r.seen[guid] == "" {
			all = append(all, guid)
		}
	}
	return all
}

// enoughTime limits TestKills.
const enoughTime = 45 * time.Second

// TestKills starts the program as a process and kills it with SIGKILL at random moments, 60
// times. The site grows all the time. In the end, each post was published once.
func TestKills(t *testing.T) {
	kills, begun := 60, time.Now()
	if testing.Short() {
		kills = 10
	}
	b := newBlog(t)
	file, dir := configured(t, b.URL)
	add(t, file, "lease: 20ms\n")
	feed, read := filepath.Join(dir, "feeds", "blog", "rss.xml"), &reader{seen: map[string]string{}}
	look := func() {
		t.Helper()
		if faults := read.poll(t, feed); faults != "" {
			t.Fatal(faults)
		}
	}
	whole := func() time.Duration {
		t.Helper()
		for {
			began := time.Now()
			out, err := process(t.Context(), "run", "--config", file).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			look()
			if !strings.Contains(string(out), "another run is in progress") { // the lease of a killed run
				return time.Since(began)
			}
		}
	}
	took, killed := whole(), 0
	// On a busy machine, up to two thirds of the kills are skipped if they take too long.
	for n := 0; killed < kills && n < 10*kills && (killed < kills/3 || time.Since(begun) < enoughTime); n++ {
		b.set(b.posts+1, false)
		c := process(t.Context(), "run", "--config", file)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		stop := time.AfterFunc(rand.N(took), func() { _ = c.Process.Signal(syscall.SIGKILL) })
		err := c.Wait()
		stop.Stop()
		if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
			killed++
		} else if err != nil {
			t.Fatalf("the program failed by itself: %v", err)
		}
		look()
		if n%10 == 9 {
			took = whole()
		}
	}
	whole()
	if killed < kills/3 {
		t.Errorf("killed %d times: too few to show anything", killed)
	}
	if lost := read.missing(b); len(lost) > 0 {
		t.Errorf("%v were never published", lost)
	}
	t.Logf("killed %d times, %d posts, the last run took %v", killed, b.posts, took)
}
