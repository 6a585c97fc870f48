package cachez_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/cachetest"
	"github.com/twofold-go/twofold/cache/cachez"
	"github.com/twofold-go/twofold/cache/index"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/policy"
)

// more makes a cache of strings on the program's tiers.
func (p *program) more(namespace string, load func(context.Context, int) (string, error), change policy.Patch) cache.Cache[int, string] {
	p.t.Helper()
	c, err := cache.New(p.tiers, cache.Config[int, string]{Namespace: namespace, Load: load, Policy: change})
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

func constant(context.Context, int) (string, error) { return secret, nil }

// big is a program with twelve namespaces of thirty tenants. The later ones have more load.
func big(t *testing.T) *program {
	t.Helper()
	p := newProgram(t)
	for n := range 12 {
		c := p.more(fmt.Sprintf("space-%02d:v1", n), constant, policy.Patch{TTL: new(time.Hour)})
		for tenant := range 30 {
			mine := c.Tenant(fmt.Sprintf("tenant-%02d", tenant))
			for i := range 1 + n + tenant/3 {
				_, _ = mine.Get(t.Context(), i%5)
			}
		}
	}
	return p
}

// With many namespaces and tenants the page has a row for each namespace, those with the most load
// first. What is wrong comes first, then the forms. The tenants are folded.
func TestOrderOfThePage(t *testing.T) { synctest.Test(t, testOrderOfThePage) }

func testOrderOfThePage(t *testing.T) {
	p := big(t)
	body := p.get("").Body.String()
	if len(body) > 90_000 {
		t.Errorf("the page has %d bytes", len(body))
	}
	all, _ := elements(t, body)
	var ids []string
	rows, tenants := 0, 0
	for _, e := range all {
		if id := e.attrs["id"]; id != "" && e.name != "input" {
			ids = append(ids, id)
		}
		if e.attrs["class"] == "row" {
			rows++
			if _, open := e.attrs["open"]; open {
				t.Error("the tenants are not folded")
			}
		}
		if strings.HasPrefix(e.attrs["href"], "?prefix=tenant-") {
			tenants++
		}
	}
	want := []string{"problems", "now", "ratio", "full", "breaker", "lease", "span", "lookup", "purge", "spaces", "responses", "policies"}
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Errorf("the parts of the page (-want +got):\n%s", diff)
	}
	if rows != 14 || tenants != 360 {
		t.Errorf("%d rows with %d tenants, want 14 with 360", rows, tenants)
	}
	names := regexp.MustCompile(`<summary><b>(space-\d\d:v1)</b>`).FindAllStringSubmatch(body, -1)
	for i, m := range names {
		if want := fmt.Sprintf("space-%02d:v1", 11-i); m[1] != want {
			t.Errorf("row %d is %s, want %s", i, m[1], want)
		}
	}
	links := regexp.MustCompile(`\?prefix=tenant-(\d\d)%3aspace-11`).FindAllStringSubmatch(body, -1)
	if links[0][1] != "27" || links[29][1] != "02" { // those with the same load stay in order
		t.Errorf("the first tenant is %s, the last one %s, want 27 and 02", links[0][1], links[29][1])
	}
	if _, text := elements(t, body); !strings.Contains(text, "30 tenants") {
		t.Error("a row does not say how many tenants it has")
	}
}

// On a narrow screen each row of a table is a block, and each number in it has a label.
func TestNarrowPage(t *testing.T) { synctest.Test(t, testNarrowPage) }

func testNarrowPage(t *testing.T) {
	p := big(t)
	var changed atomic.Bool
	audited := p.more("audited", func(context.Context, int) (string, error) { return strconv.FormatBool(changed.Load()), nil }, policy.Patch{Audit: new(1.0)})
	for range 2 {
		_, _ = audited.Get(t.Context(), 1)
		changed.Store(true)
	}
	<-time.After(10 * time.Second)
	synctest.Wait()
	body := p.get("").Body.String()
	_, style, _ := strings.Cut(body, "@media (max-width: 45rem)")
	if _, wide, _ := strings.Cut(style, "table, tbody { display: block; }"); wide == "" {
		t.Error("tables stay tables on a narrow screen")
	}
	tables, cells := 0, regexp.MustCompile(`<t[dh][^>]*>`)
	for _, table := range regexp.MustCompile(`(?s)<table.*?</table>`).FindAllString(body, -1) {
		tables++
		_, rows, _ := strings.Cut(table, "<tbody>")
		for row := range strings.SplitSeq(strings.TrimSpace(rows), "\n") {
			labels := 0
			for i := range cells.FindAllString(row, -1) {
				if strings.Contains(style, ".tenants td:nth-child("+strconv.Itoa(i+1)+")") {
					labels++
				}
			}
			if !strings.Contains(table, `class="tenants"`) {
				labels = strings.Count(row, "data-l=")
			}
			if n := len(cells.FindAllString(row, -1)); n > labels+2 { // the name, and one that needs no label
				t.Errorf("%d of %d cells have a label: %s", labels, n, row)
			}
		}
	}
	if tables != 15 { // one for each of twelve namespaces, and fresh hits, stale hits and policies
		t.Errorf("the page has %d tables", tables)
	}
}

// told is the part of the JSON that is about now.
type told struct {
	Overview struct {
		Problems []struct {
			Namespace, Text string
			Tenants         []string
		}
		Seconds    float64
		Since      string
		Reads      float64 `json:"reads_per_second"`
		Namespaces []struct {
			Name  string
			Reads float64 `json:"reads_per_second"`
		}
	}
}

func (p *program) now() told {
	p.t.Helper()
	var got told
	if err := json.Unmarshal(p.get("?format=json").Body.Bytes(), &got); err != nil {
		p.t.Fatal(err)
	}
	return got
}

// Rates are about one to two minutes, if the page was viewed then, and otherwise about the time since its
// last view. The page says which.
func TestRates(t *testing.T) { synctest.Test(t, testRates) }

func testRates(t *testing.T) {
	p := newProgram(t)
	read := func(n int) {
		for range n {
			p.read("ada")
		}
	}
	begin := time.Now()
	for _, step := range []struct {
		at      time.Duration // since the page was made
		reads   int           // before it
		since   string
		seconds float64
		rate    float64
	}{
		{0, 0, "start", 0, 0},
		{1820 * time.Millisecond, 0, "start", 1.82, 0},
		{10 * time.Second, 100, "start", 10, 10},
		{70 * time.Second, 600, "start", 70, 10},                       // kept
		{100 * time.Second, 0, "start", 100, 7},                        // the view at 70 s is younger than a minute
		{135 * time.Second, 65, "view", 65, 1},                         // since 70 s; kept
		{150 * time.Second, 15, "view", 80, 1},                         // since 70 s
		{2 * time.Hour, 14115, "view", 7065, 2},                        // since 135 s; kept
		{2*time.Hour + 2*time.Second, 0, "view", 7067, 14130.0 / 7067}, // too short a time since the last view
		{2*time.Hour + 20*time.Second, 100, "view", 20, 5},             // since 2 h
		{2*time.Hour + 80*time.Second, 60, "view", 80, 2},              // since 2 h; kept
	} {
		read(step.reads)
		<-time.After(time.Until(begin.Add(step.at)))
		got := p.now().Overview
		if got.Since != step.since || got.Seconds != step.seconds || got.Reads < step.rate*0.999 || got.Reads > step.rate*1.001 {
			t.Errorf("at %v: %v reads/s in %v s since a %s, want %v in %v since a %s", step.at, got.Reads, got.Seconds, got.Since, step.rate, step.seconds, step.since)
		}
		if step.reads > 0 && got.Namespaces[0].Reads != got.Reads {
			t.Errorf("at %v: the namespace has %v reads/s, all have %v", step.at, got.Namespaces[0].Reads, got.Reads)
		}
	}
	if _, text := elements(t, p.get("").Body.String()); !strings.Contains(text, "are about the 1m20s since a view of this page") {
		t.Errorf("the page does not say what its rates are about:\n%s", text)
	}
}

// Each thing that is wrong is a sentence of its own, before everything else. It goes when it is over.
func TestProblems(t *testing.T) {
	down := errors.New("the source is down")
	get := func(p *program, c cache.Cache[int, string], keys ...int) {
		for _, k := range keys {
			_, _ = c.Get(p.t.Context(), k)
		}
	}
	for name, tt := range map[string]struct {
		do     func(*program)
		want   string // "namespace tenants text"
		row    string // what the row of the namespace says
		lasts  bool   // also when nothing happens for minutes
		change func(*cachez.Config)
	}{
		"a source that fails": {do: func(p *program) {
			c := p.more("news", func(_ context.Context, k int) (string, error) {
				if k < 5 {
					return "", down
				}
				return secret, nil
			}, policy.Patch{})
			get(p, c, 10, 11, 12)
			get(p, c.Tenant("acme"), 1, 2, 10, 11)
			get(p, c.Tenant("corp"), 3)
		}, want: `news \[acme corp\] its source fails: 3 of 5 loads failed`},
		"a loader that panics": {do: func(p *program) {
			c := p.more("news", func(context.Context, int) (string, error) { panic("in a test") }, policy.Patch{})
			func() {
				defer func() { _ = recover() }()
				get(p, c, 1)
			}()
		}, want: `news \[\] 1 load panicked`},
		"old values": {do: func(p *program) {
			var fails atomic.Bool
			c := p.more("news", func(context.Context, int) (string, error) {
				if fails.Load() {
					return "", down
				}
				return secret, nil
			}, policy.Patch{TTL: new(time.Second), StaleIfError: new(time.Hour)})
			get(p, c, 1)
			<-time.After(5 * time.Second)
			fails.Store(true)
			get(p, c, 1)
		}, want: `news \[\] 1 read got an old value, because loads fail`},
		"a stale audit": {do: func(p *program) {
			var changed atomic.Bool
			c := p.more("news", func(context.Context, int) (string, error) { return strconv.FormatBool(changed.Load()), nil }, policy.Patch{Audit: new(1.0)})
			get(p, c, 1)
			changed.Store(true)
			get(p, c, 1)
			<-time.After(10 * time.Second)
		}, want: `news \[\] 1 stale hit among 1 audited since the start, the last one \S+ ago: `, lasts: true},
		"values of another schema": {do: func(p *program) {
			other, err := cache.Open(cache.TiersConfig{Remote: p.fleet.Remote[0], Log: p.fleet.Log[0]})
			if err != nil {
				p.t.Fatal(err)
			}
			p.t.Cleanup(func() { _ = other.Close(context.WithoutCancel(p.t.Context())) })
			c, err := cache.New(other, cache.For("news", func(context.Context, int) (int, error) { return 1, nil }))
			if err != nil {
				p.t.Fatal(err)
			}
			_, _ = c.Get(p.t.Context(), 1)
			get(p, p.more("news", constant, policy.Patch{}), 1)
		}, want: `news \[\] values of the remote tier cannot be read, 1: foreign 1`, row: "cells refused since the start: 1: foreign 1<"},
		"values without a tag": {do: func(p *program) {
			_, _ = p.more("tagged", constant, policy.Patch{}).Get(p.t.Context(), 1)
			other, err := cache.Open(cache.TiersConfig{Remote: p.fleet.Remote[0], Log: p.fleet.Log[0]})
			if err != nil {
				p.t.Fatal(err)
			}
			p.t.Cleanup(func() { _ = other.Close(context.WithoutCancel(p.t.Context())) })
			bare, err := cache.New(other, cache.For("news", constant))
			if err != nil {
				p.t.Fatal(err)
			}
			_, _ = bare.Get(p.t.Context(), 1)
			cfg := cache.For("news", constant)
			cfg.Tags = func(int, string) []string { return []string{"news"} }
			c, err := cache.New(p.tiers, cfg)
			if err != nil {
				p.t.Fatal(err)
			}
			get(p, c, 1)
		}, want: `news \[\] values of the remote tier cannot be read, 1: untagged 1`, row: "cells refused since the start: 1: untagged 1<"},
		"values that are too large": {do: func(p *program) {
			get(p, p.more("news", constant, policy.Patch{MaxValueBytes: new(3)}), 1)
		}, want: `news \[\] loaded values are not stored: too large 1`},
		"no lease": {do: func(p *program) {
			p.fleet.Log[0].Fail(cachetest.ErrCutOff)
			<-time.After(time.Minute)
		}, want: ` \[\] There is no lease: the log has not answered for \S+, so`, lasts: true},
		"calls to the log": {do: func(p *program) {
			p.fleet.Log[0].Fail(cachetest.ErrCutOff)
			<-time.After(time.Minute)
		}, want: ` \[\] \S+ calls to the log failed`, lasts: true},
		"invalidations that wait": {do: func(p *program) {
			p.fleet.Log[0].Fail(cachetest.ErrCutOff)
			_ = p.tiers.Invalidate(p.t.Context(), invalidate.All(), invalidate.Tenant("acme"))
		}, want: ` \[\] Invalidations wait for the log or the remote tier, so other processes may not have them: \d scopes?, the oldest for \S+$`, lasts: true},
		"a remote tier that fails": {do: func(p *program) {
			p.fleet.Remote[0].Fail(cachetest.ErrCutOff)
			p.read("ada")
		}, want: ` \[\] 1 call to the remote tier failed: get errors 1`},
		"the breaker": {do: func(p *program) {
			p.fleet.Remote[0].Fail(cachetest.ErrCutOff)
			for i := range 50 {
				p.read("b" + strconv.Itoa(i))
			}
		}, want: ` \[\] The remote tier does not answer: its breaker is `, lasts: true},
		"a cache that is off": {do: func(p *program) {
			_ = p.tiers.SetPolicies(policy.Table{{Namespace: "users:v1", Patch: policy.Patch{Off: new(true)}}})
		}, want: `users:v1 \[\] the policy turns the cache off`, lasts: true},
		"a tenant that is off": {do: func(p *program) {
			_ = p.tiers.SetPolicies(policy.Table{{Tenant: "acme", Namespace: "users:v1", Patch: policy.Patch{Off: new(true)}}})
		}, want: `users:v1 \[acme\] the policy turns the cache off`, lasts: true},
		"an override that does nothing": {do: func(p *program) {
			_ = p.tiers.SetPolicies(policy.Table{{Namespace: "users", Patch: policy.Patch{Off: new(true)}}})
		}, want: ` \[\] Overrides of the policy do nothing, because no cache has the namespace: users`, lasts: true},
		"an index without room": {
			do:   func(p *program) { p.read("ada") },
			want: ` \[\] The index has no room for 1 key, so look-ups are not complete`, lasts: true,
			change: func(c *cachez.Config) {
				c.Index = index.New(index.Config{MaxEntries: 1})
				c.Index.Stored(slow{key: "a"})
				c.Index.Stored(slow{key: "b"})
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var changes []func(*cachez.Config)
				if tt.change != nil {
					changes = append(changes, tt.change)
				}
				p := newProgram(t, changes...)
				has := func() (found int, all string) {
					for _, x := range p.now().Overview.Problems {
						line := fmt.Sprintf("%s %v %s", x.Namespace, x.Tenants, x.Text)
						all += line + "\n"
						if regexp.MustCompile("^" + tt.want).MatchString(line) {
							found++
						}
					}
					return found, all
				}
				synctest.Wait()
				if _, all := has(); all != "" && tt.change == nil {
					t.Errorf("before anything is wrong:\n%s", all)
				}
				tt.do(p)
				synctest.Wait()
				if n, all := has(); n != 1 {
					t.Errorf("%d problems are %s, want 1:\n%s", n, tt.want, all)
				}
				w := p.get("")
				if body := w.Body.String(); w.Code != http.StatusOK || strings.Contains(body, "Nothing is wrong") || strings.Index(body, "What is wrong") > strings.Index(body, `id="spaces"`) {
					t.Errorf("the page does not begin with it:\n%s", body)
				} else if !strings.Contains(body, tt.row) {
					t.Errorf("the row of the namespace does not say %q", tt.row)
				}
				for range 4 {
					<-time.After(65 * time.Second)
					p.now()
				}
				if n, all := has(); n > 0 != tt.lasts {
					t.Errorf("minutes later, it lasts: %t, want %t:\n%s", n > 0, tt.lasts, all)
				}
			})
		})
	}
}

// The policies show what differs from the default.
func TestPoliciesInForce(t *testing.T) { synctest.Test(t, testPoliciesInForce) }

func testPoliciesInForce(t *testing.T) {
	p := newProgram(t)
	p.more("plain", constant, policy.Patch{Jitter: new(0.15)})
	if err := p.tiers.SetPolicies(policy.Table{{Tenant: "acme", Namespace: "plain", Patch: policy.Patch{Audit: new(0.5)}}}); err != nil {
		t.Fatal(err)
	}
	body := p.get("").Body.String()
	_, table, _ := strings.Cut(body, `<table id="policies">`)
	table, _, _ = strings.Cut(table, "</table>")
	_, rows, _ := strings.Cut(table, "<tbody>")
	var got []string
	for row := range strings.SplitSeq(strings.TrimSpace(strings.TrimSuffix(rows, "</tbody>")), "\n") {
		got = append(got, strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(row, " ")), " "))
	}
	want := []string{
		"http:v1 all others ttl forever, jitter 0, negative_ttl 0s, stale 1m, max_value_bytes 2228224",
		"plain all others the default", "plain acme audit 0.5", "users:v1 all others jitter 0, stale 1m",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("policies (-want +got):\n%s", diff)
	}
}
