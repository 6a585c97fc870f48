package script_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/internal/testkit/script"
)

// toy is a key-value store whose entries expire and whose loads are merged.
type toy struct {
	env *script.Env

	mu      sync.Mutex // protects the maps
	values  map[string]entry
	loading map[string]chan struct{}
}

type entry struct {
	value   string
	expires time.Time
}

func newToy(_ *testing.T, env *script.Env) map[string]script.Command {
	s := &toy{env: env, values: map[string]entry{}, loading: map[string]chan struct{}{}}
	return map[string]script.Command{
		"set":  {Args: "key value", Options: []string{"ttl"}, Run: s.set},
		"get":  {Args: "key", Run: s.get},
		"load": {Args: "key", Options: []string{"slow"}, Run: s.load},
		"fan":  {Args: "count", Unordered: true, Run: s.fan},
	}
}

func (s *toy) set(c *script.Call) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values[c.Arg(0)] = entry{c.Arg(1), time.Now().Add(c.Duration("ttl", time.Hour))}
	return nil
}

func (s *toy) get(c *script.Call) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.values[c.Arg(0)]
	if !ok || !time.Now().Before(e.expires) {
		c.Printf("%s is not there at %v", c.Arg(0), s.env.Elapsed())
		return nil
	}
	c.Printf("%s = %s", c.Arg(0), e.value)
	return nil
}

// load works like a cache: the first caller loads, the others wait.
func (s *toy) load(c *script.Call) error {
	key := c.Arg(0)
	s.mu.Lock()
	done, waiting := s.loading[key]
	if !waiting {
		done = make(chan struct{})
		s.loading[key] = done
		s.env.Printf("load %s", key)
		time.AfterFunc(c.Duration("slow", 2*time.Second), func() { close(done) })
	}
	s.mu.Unlock()
	select {
	case <-done:
		c.Printf("%s is loaded", key)
	case <-c.Context().Done():
		c.Printf("%s: %v", key, context.Cause(c.Context()))
		<-done
	}
	return nil
}

func (s *toy) fan(c *script.Call) error {
	var wg sync.WaitGroup
	n, err := strconv.Atoi(c.Arg(0))
	if err != nil {
		return err
	}
	for i := range n {
		wg.Go(func() { s.env.Printf("event %d", i) })
	}
	wg.Wait()
	c.Printf("done\nwith two lines")
	return nil
}

func TestStories(t *testing.T) {
	script.Run(t, "testdata/*.txt", newToy)
}

func TestCheckNamesTheLine(t *testing.T) {
	commands := newToy(t, nil)
	for _, tc := range []struct{ name, script, want string }{
		{"unknown command", "set a 1\nput a 1", `s.txt:2: unknown command "put"`},
		{"unknown option", "set a 1 tll=5s", `s.txt:1: unknown option "tll"; usage: set key value [ttl=…]`},
		{"too few arguments", "# c\n\nset a", "s.txt:3: 1 arguments; usage: set key value [ttl=…]"},
		{"too many arguments", "get a b", "s.txt:1: 2 arguments; usage: get key"},
		{"option twice", "set a 1 ttl=1s ttl=2s", `s.txt:1: option "ttl" is given twice`},
		{"unclosed quote", `set a "1`, `s.txt:1: unclosed quote in "1`},
		{"glued quote", `set a "1"b`, `s.txt:1: no blank after "1"`},
		{"option first", "ttl=5s set a", "s.txt:1: ttl=5s where a command should be"},
		{"go without a command", "go a", "s.txt:1: usage: go NAME COMMAND"},
		{"go with a bad count", "go a*0 get a", `s.txt:1: "a*0" is not NAME or NAME*COUNT`},
		{"go with an unknown command", "go a put a", `s.txt:1: unknown command "put"`},
		{"go of a wait", "go a wait", "s.txt:1: wait cannot run in the background"},
		{"all lines at once", "put a\nget", "s.txt:1: unknown command \"put\"\ns.txt:2: 0 arguments; usage: get key"},
	} {
		err := script.Check("s.txt", tc.script+"\n----\n", commands)
		if err == nil || err.Error() != tc.want {
			t.Errorf("%s: error = %v, want %s", tc.name, err, tc.want)
		}
	}
	if err := script.Check("s.txt", "set `a=b` \"ttl=5s\" ttl=5s\r\nset X=y \"\"", commands); err != nil {
		t.Errorf("error = %v, want quoted words and X=y to be arguments", err)
	}
}

func TestOptions(t *testing.T) {
	var got []string
	commands := func(_ *testing.T, env *script.Env) map[string]script.Command {
		return map[string]script.Command{"try": {
			Args: "[words...]", Options: []string{"i", "b", "d", "s"},
			Run: func(c *script.Call) error {
				got = append(got, fmt.Sprintln(c.Args(), c.Int("i", 1), c.Bool("b", true), c.Duration("d", time.Second),
					c.String("s", "-"), c.Has("s"), c.Arg(9) == ""))
				return nil
			},
		}}
	}
	script.Run(t, "testdata/options/*.txt", commands)
	want := []string{"[] 1 true 1s - false true\n", "[x Y=2 a b] 7 false 1m0s s t true true\n"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
}

func TestCompare(t *testing.T) {
	expected := []string{"# a note", "> one", "  1", "", "> two", "  2 ", "  3", "  4", "  5", "  6"}
	same := []string{"> one", "  1", "> two", "  2", "  3", "  4", "  5", "  6"}
	if diff := script.Compare(expected, same); diff != "" {
		t.Errorf("notes and trailing blanks must not count:\n%s", diff)
	}
	for _, wrong := range [][]string{nil, {"> one", "  x"}, same[:7], append(same[:7:7], "  7"), {same[1], same[0]}} {
		if script.Compare(expected, wrong) == "" {
			t.Errorf("Compare(%q) found no difference", wrong)
		}
	}
}

func TestMergeKeepsNotes(t *testing.T) {
	expected := []string{"# top", "> one", "  1", "", "# why two", "> two", "  2", "# end"}
	got := []string{"> one", "  1", "  new", "> two", "  changed"}
	want := []string{"# top", "> one", "  1", "  new", "", "# why two", "> two", "  changed", "# end"}
	if diff := cmp.Diff(want, script.Merge(expected, got)); diff != "" {
		t.Errorf("merge (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(got, script.Merge(nil, got)); diff != "" {
		t.Errorf("merge into nothing (-want +got):\n%s", diff)
	}
}

var errNever = errors.New("never")

func TestCleanupRunsInTheBubble(t *testing.T) {
	script.Run(t, "testdata/options/*.txt", func(t *testing.T, _ *script.Env) map[string]script.Command {
		stop := make(chan struct{})
		go func() { <-stop }() // would fail the bubble if it leaked
		t.Cleanup(func() { close(stop) })
		return map[string]script.Command{"try": {
			Args: "[words...]", Options: []string{"i", "b", "d", "s"},
			Run: func(c *script.Call) error {
				if c.Context().Err() != nil {
					return errNever
				}
				return nil
			},
		}}
	})
}
