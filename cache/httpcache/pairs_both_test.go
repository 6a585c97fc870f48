package httpcache_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/internal/testkit/race"
	"github.com/twofold-go/twofold/policy"
)

// terms are what a cache was told about responses that do not say how long they live: a Fallback, or, with Pages, a
// Policy.
type terms struct {
	name                     string
	ttl, stale, staleIfError time.Duration
	heuristic                float64
	max                      time.Duration
}

var (
	fallbacks = []terms{
		{name: "nothing"},
		{name: "TTL", ttl: 30 * time.Second},
		{name: "Stale", stale: time.Minute},
		{name: "StaleIfError", staleIfError: time.Minute},
		{name: "Heuristic", heuristic: 0.1},
		{name: "MaxHeuristic", heuristic: 0.1, max: 20 * time.Second},
		{name: "all", ttl: 30 * time.Second, stale: 10 * time.Second, staleIfError: time.Hour, heuristic: 0.1, max: 20 * time.Second},
	}
	pageTerms = []terms{
		{name: "nothing"},
		{name: "TTL", ttl: 30 * time.Second},
		{name: "Stale", ttl: 30 * time.Second, stale: time.Minute},
		{name: "StaleIfError", ttl: 30 * time.Second, staleIfError: time.Minute},
		{name: "all", ttl: 30 * time.Second, stale: 10 * time.Second, staleIfError: time.Hour},
	}
)

// What a first response is, when the second request comes, and what its origin then answers.
var (
	pairStatuses = []int{200, 203, 204, 301, 302, 401, 403, 404, 405, 410, 429, 500, 501, 503}
	pairWords    = []string{"", "public", "private", "no-store", "no-cache", "max-age=10", "max-age=10, must-revalidate"}
	pairAges     = []time.Duration{5 * time.Second, 25 * time.Second, 50 * time.Second, 200 * time.Second}
	pairThen     = []string{"another", "the same", "a failure"}
)

// unchangedFor is for how long a page with a validator had not changed.
const unchangedFor = 1000 * time.Second

// pair is one row of the table: a response, and the next request for it.
type pair struct {
	side   string
	terms  terms
	status int
	words  string // of Cache-Control
	valid  bool   // it has an ETag and Last-Modified
	age    time.Duration
	then   string
}

func (p *pair) path() string {
	return fmt.Sprintf("/%d/%s/%v/%v/%s", p.status, strings.NewReplacer(" ", "", ",", "+").Replace(p.words+"-"), p.valid, p.age, strings.ReplaceAll(p.then, " ", "-"))
}

func (p *pair) says(directive string) bool { return strings.Contains(p.words, directive) }

func (p *pair) shared() bool { return p.side != privateSide.name }

// RFC 9111 §3: which responses a cache may store. By the last condition it may store one that is public, names a
// lifetime, or has a status that is heuristically cacheable (RFC 9110 §15.1). Private would do, too, for a private
// cache; but frameworks send it with every failure, so it does not count here.
func (p *pair) mayStore() bool {
	switch {
	case p.says("no-store"), p.shared() && p.says("private"): // §5.2.2.5, §5.2.2.7
		return false
	}
	return p.says("public") || p.says("max-age") || p.heuristically()
}

func (p *pair) heuristically() bool {
	switch p.status {
	case 200, 203, 204, 300, 301, 308, 404, 405, 410, 414: // and 501, which this package takes for a failure
		return true
	}
	return false
}

// RFC 9111 §4.2.1 and §4.2.2: how long it is fresh. What it says wins. Without a word the cache chooses, if the status
// is heuristically cacheable or the response is public.
func (p *pair) lifetime() time.Duration {
	switch f := p.terms; {
	case p.says("max-age=10"):
		return 10 * time.Second
	case !p.heuristically() && !p.says("public"):
		return 0
	case p.valid && f.heuristic > 0:
		limit := f.max
		if limit == 0 {
			limit = httpcache.DefaultMaxHeuristic
		}
		return min(time.Duration(f.heuristic*float64(unchangedFor)), limit)
	default:
		return f.ttl
	}
}

// RFC 9111 §4.2.4 and RFC 5861: how much longer it is served, while it is refreshed and in place of a failure. Not
// after must-revalidate (§5.2.2.2).
func (p *pair) staleFor() (refreshed, instead time.Duration) {
	if p.says("must-revalidate") {
		return 0, 0
	}
	return p.terms.stale, max(p.terms.stale, p.terms.staleIfError)
}

// RFC 9111 §4: what the second request gets. A cache stores what it may if that is ever of use.
func (p *pair) want() string {
	fresh := p.lifetime()
	refreshed, instead := p.staleFor()
	stored := p.mayStore() && (fresh > 0 || instead > 0 || p.valid)
	asIs := stored && !p.says("no-cache") // §5.2.2.4: not without revalidation
	switch {
	case asIs && p.age < fresh:
		return "hit"
	case asIs && p.age < fresh+refreshed:
		return "stale"
	case asIs && p.age < fresh+instead && p.then == "a failure":
		return "in place of a failure"
	case stored && p.valid && p.then == "the same": // §4.3
		return "confirmed"
	case p.then == "a failure":
		return p.then
	}
	return "another"
}

// wantOfPages is want with Pages. The page stays for Policy.TTL whatever it says of its lifetime, if its status is one
// of the default Statuses and it does not refuse. It is not revalidated.
func (p *pair) wantOfPages() string {
	fresh := p.terms.ttl
	if fresh == 0 {
		fresh = policy.Forever
	}
	refreshed, instead := p.staleFor()
	stored := !p.says("no-store") && !p.says("private") && !p.says("no-cache")
	switch p.status {
	case 200, 301, 404, 410:
	default:
		stored = false
	}
	switch {
	case stored && p.age < fresh:
		return "hit"
	case stored && p.age < fresh+refreshed:
		return "stale"
	case stored && p.age < fresh+instead && p.then == "a failure":
		return "in place of a failure"
	case p.then == "a failure":
		return p.then
	}
	return "another"
}

// first sends the response of the row.
func (p *pair) first(w http.ResponseWriter) {
	h := w.Header()
	if p.words != "" {
		h.Set("Cache-Control", p.words)
	}
	if p.valid {
		h.Set("Etag", `"first"`)
		h.Set("Last-Modified", time.Now().Add(-unchangedFor).UTC().Format(http.TimeFormat))
	}
	h.Set("X-Is", "first")
	w.WriteHeader(p.status)
}

// later answers the second request.
func (p *pair) later(w http.ResponseWriter, r *http.Request) {
	switch {
	case p.then == "a failure":
		w.Header().Set("X-Is", "a failure")
		w.WriteHeader(http.StatusServiceUnavailable)
	case p.then == "the same" && r.Header.Get("If-None-Match") == `"first"`:
		w.WriteHeader(http.StatusNotModified)
	default:
		w.Header().Set("X-Is", "another")
	}
}

// got says which response the second request got, and how.
func got(a answer) string {
	is, how := a.header.Get("X-Is"), a.how()
	switch {
	case is != "first":
		return is
	case strings.HasPrefix(how, "hit;detail=stale"):
		return "stale"
	case strings.HasPrefix(how, "hit"):
		return "hit"
	case strings.HasSuffix(how, "detail=stale-if-error"):
		return "in place of a failure"
	case strings.Contains(how, "fwd-status=304"):
		return "confirmed"
	}
	return a.String()
}

// What a response and the settings of a cache say about its life is decided by RFC 9111, sections 3 and 4, for each
// pair of them: Handler and Transport, every preset, every field of Fallback, fourteen statuses, with a validator and
// without. A fallback gives no life to a response that may not be stored.
func TestPairs(t *testing.T) {
	for _, s := range []struct {
		side
		all  []terms
		want func(*pair) string
	}{
		{handlerSide, fallbacks, (*pair).want}, {sharedSide, fallbacks, (*pair).want}, {privateSide, fallbacks, (*pair).want},
		{pagesSide, pageTerms, (*pair).wantOfPages},
	} {
		for _, f := range s.all {
			t.Run(s.name+", "+f.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { tryPairs(t, s.side, f, s.want) })
			})
		}
	}
}

func tryPairs(t *testing.T, s side, f terms, want func(*pair) string) {
	cfg := httpcache.Config{Fallback: httpcache.Fallback{TTL: f.ttl, Stale: f.stale, StaleIfError: f.staleIfError, Heuristic: f.heuristic, MaxHeuristic: f.max}}
	if s.name == pagesSide.name {
		cfg.Fallback, cfg.Policy = httpcache.Fallback{}, policy.Patch{Stale: &f.stale, StaleIfError: &f.staleIfError}
		if f.ttl > 0 {
			cfg.Policy.TTL = &f.ttl
		}
	}
	ages := pairAges
	if race.Enabled { // it takes ten times as long
		ages = ages[1:2]
	}
	pairs := map[string]*pair{}
	byAge := map[time.Duration][]*pair{}
	for _, status := range pairStatuses {
		for _, words := range pairWords {
			for _, valid := range []bool{false, true} {
				for _, age := range ages {
					for _, then := range pairThen {
						if then == "the same" && !valid {
							continue // no request can ask for it
						}
						p := &pair{s.name, f, status, words, valid, age, then}
						pairs[p.path()] = p
						byAge[age] = append(byAge[age], p)
					}
				}
			}
		}
	}
	asked := map[string]bool{}
	do := sender(t, s.open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := pairs[r.URL.Path]
		if !asked[r.URL.Path] {
			asked[r.URL.Path] = true
			p.first(w)
			return
		}
		p.later(w, r)
	}), cfg))
	for path := range pairs {
		do(http.MethodGet, path)
	}
	synctest.Wait()
	begun := time.Now()
	for _, age := range ages {
		<-time.After(time.Until(begun.Add(age)))
		for _, p := range byAge[age] {
			if got, want := got(do(http.MethodGet, p.path())), want(p); got != want {
				t.Errorf("%d, %q, validator %v, after %v %s: got %s, want %s", p.status, p.words, p.valid, p.age, p.then, got, want)
			}
			synctest.Wait() // a refresh may run
		}
	}
}
