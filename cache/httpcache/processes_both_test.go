package httpcache_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// The first page of a URL leads to its variants, so it is kept. A variant leads nowhere: in front of a handler it
// goes when nobody can use it any more, unless it can be revalidated.
func TestVariantsAreNotKept(t *testing.T) {
	for _, etag := range []string{"", `"a"`} {
		synctest.Test(t, func(t *testing.T) {
			header := []string{"Cache-Control", "max-age=10", "Vary", "X-L"}
			if etag != "" {
				header = append(header, "Etag", etag)
			}
			remote := tiertest.NewMemory()
			do := sender(t, handlerSide.open(t, &origin{script: [][]string{header}}, httpcache.Config{
				Tiers: openTiers(t, cache.TiersConfig{Remote: remote}),
			}))
			for _, l := range []string{"a", "b", "c", "d"} {
				do(http.MethodGet, "/", "X-L", l)
			}
			sleep(t, "10m")
			want := 1
			if etag != "" {
				want = 4
			}
			if n := remote.Len(); n != want {
				t.Errorf("with Etag %q %d pages are kept, want %d", etag, n, want)
			}
		})
	}
}

// Processes share the responses of a remote tier for as long as each response allows, and no longer.
func TestSharedByProcesses(t *testing.T) {
	const etag = `"v"`
	cc := func(v string, more ...string) []string {
		return append([]string{"Cache-Control", v, "Etag", etag}, more...)
	}
	confirms, another, down := cc(minute, ":status", "304"), cc("max-age=1"), []string{":panic", ""}
	asks := []string{"If-None-Match", etag}
	for _, c := range []struct {
		name   string
		first  []string   // the answer to the first process
		then   [][]string // those to the second
		visits []visit    // of the second
		third  visit      // of a third process, after that
		on     []side     // nil: both
	}{
		{name: "fresh", first: cc(minute), then: [][]string{down}, visits: []visit{{after: "59s", how: "hit;ttl=1"}}},
		{name: "kept", first: cc(minute), then: [][]string{confirms}, visits: []visit{{after: "190h", asked: 1, how: "fwd=stale;fwd-status=304", sees: asks}}},
		{name: "kept no longer", first: cc(minute), then: [][]string{another}, visits: []visit{{after: "193h", asked: 1, how: "fwd=uri-miss", sees: []string{"If-None-Match", "-"}}}},
		{name: "no-cache", first: cc("no-cache"), then: [][]string{confirms}, visits: []visit{{after: "1s", asked: 1, how: "fwd=stale;fwd-status=304", sees: asks}}},
		{name: "stale", first: cc("max-age=60, stale-while-revalidate=60"), then: [][]string{confirms}, visits: []visit{{after: "90s", asked: 1, how: "hit;detail=stale"}}},
		{name: "too stale for a caller", on: []side{sharedSide, privateSide}, first: cc("max-age=60, stale-while-revalidate=60"), then: [][]string{another}, visits: []visit{{after: "90s", header: []string{"Cache-Control", "max-age=80"}, asked: anyNumber, how: "fwd="}}},
		{name: "not stale", first: cc("max-age=60, stale-while-revalidate=60, must-revalidate"), then: [][]string{another}, visits: []visit{{after: "90s", asked: 1, how: "fwd=stale;stored"}}},
		{name: "in place of an error", first: cc("max-age=60, stale-if-error=60"), then: [][]string{down}, visits: []visit{{after: "90s", asked: 1, how: "fwd=stale;detail=stale-if-error"}}},
		{name: "not in place of an error", first: cc(minute), then: [][]string{down}, visits: []visit{{after: "90s", asked: 1, status: broken}}},
		{name: "in turn", first: cc("max-age=10, stale-if-error=20"), then: [][]string{{":status", "500"}, cc("max-age=10, must-revalidate", ":status", "304")},
			visits: []visit{
				{how: "hit"}, {after: "11s", asked: 1, how: "fwd=stale;fwd-status=500"}, {after: "30s", asked: 2, how: "fwd=stale;fwd-status=304", sees: asks},
			},
			third: visit{how: "hit", with: []string{"Cache-Control", "max-age=10, must-revalidate"}}},
	} {
		if c.on == nil {
			c.on = []side{handlerSide, sharedSide}
		}
		for _, on := range c.on {
			t.Run(c.name+", "+on.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					remote := tiertest.NewMemory()
					process := func(script ...[]string) (get func(...string) answer, o *origin) {
						o = &origin{script: script}
						do := sender(t, on.open(t, o, httpcache.Config{
							Tiers: openTiers(t, cache.TiersConfig{Remote: remote}), Keep: 8 * 24 * time.Hour,
						}))
						return func(header ...string) answer { return do(http.MethodGet, "/", header...) }, o
					}
					first, _ := process(c.first)
					first()
					second, o := process(c.then...)
					for i, v := range c.visits {
						if v.after != "" {
							sleep(t, v.after)
						}
						a := second(v.header...)
						synctest.Wait()
						v.check(t, i, a, o)
					}
					if c.third.how != "" {
						third, o := process(down)
						c.third.check(t, len(c.visits), third(), o)
					}
				})
			})
		}
	}
}

// A page that another process has refreshed answers requests that may not ask the origin for everybody, although
// the process still has the stale one.
func TestFreshElsewhere(t *testing.T) {
	for _, s := range []side{handlerSide, sharedSide, privateSide} {
		for _, vary := range []string{"", "Accept-Language"} {
			for _, kind := range []string{"only-if-cached", "no-store", http.MethodHead, "Range"} {
				t.Run(s.name+" "+kind+" "+vary, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						o := &origin{script: [][]string{{"Cache-Control", "max-age=10, stale-while-revalidate=60", "Vary", vary}}}
						remote := tiertest.NewMemory()
						process := func() send {
							return sender(t, s.open(t, o, httpcache.Config{Tiers: openTiers(t, cache.TiersConfig{Remote: remote})}))
						}
						a, b := process(), process()
						for _, language := range []string{"en", "de"} {
							a(http.MethodGet, "/", "Accept-Language", language)
						}
						sleep(t, "11s")
						b(http.MethodGet, "/", "Accept-Language", "de") // it is served stale and refreshed
						synctest.Wait()
						method, header := http.MethodGet, []string{"Accept-Language", "de"}
						switch kind {
						case http.MethodHead:
							method = kind
						case "Range":
							header = append(header, kind, "bytes=0-0")
						default:
							header = append(header, "Cache-Control", kind)
						}
						asked := o.asked()
						if got := a(method, "/", header...); !got.hit() || o.asked() != asked {
							t.Errorf("%v: %s", got, got.how())
						}
					})
				})
			}
		}
	}
}
