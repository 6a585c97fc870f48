package cachez_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/cachetest"
	"github.com/twofold-go/twofold/cache/cachez"
	"github.com/twofold-go/twofold/invalidate"
)

// Each purge covers what it names and nothing else, and reports how many entries that was. An
// expiry leaves the entries, stale.
func TestPurgeAndExpire(t *testing.T) {
	const pages = "default:http:v1:http"
	everything := []string{
		"acme:users:v1:ada", pages + "//other.example/a", pages + "//shop.example/a?x=1", pages + "//shop.example/ab", pages + "s//shop.example/a",
		"default:users:v1:ada", "default:users:v1:bob",
	}
	for form, want := range map[string][]string{
		"key=default:users:v1:ada":      {everything[5]},
		"key=default:users:v1:eve":      nil,
		"tag=users":                     {everything[5], everything[6]},
		"tag=users&tenant=acme":         {everything[0]},
		"tag=shop":                      everything[1:5],
		"prefix=default:users:v1:b":     {everything[6]},
		"prefix=acme:":                  {everything[0]},
		"url=/a?x=1":                    {everything[2]},
		"url=https://shop.example/a":    {everything[4]},
		"path=/a":                       {everything[1], everything[2], everything[4]},
		"under=/a":                      everything[2:5],
		"under=http://other.example/":   {everything[1]},
		"all=yes":                       everything,
		"key=default:users:v1:a%5Eb%00": nil, // refused
	} {
		for _, do := range []string{"purge", "expire"} {
			t.Run(do+" "+form, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := newProgram(t)
					p.read("ada", "bob", "acme/ada")
					p.visit("/a?x=1", "/ab", "http://other.example/a", "https://"+host+"/a")
					if diff := cmp.Diff(everything, p.keys()); diff != "" {
						t.Fatalf("before (-want +got):\n%s", diff)
					}
					w := p.post("do=" + do + "&" + form)
					if by, _, _ := strings.Cut(form, "="); strings.Contains(form, "%") || do == "expire" && by == "path" {
						if w.Code != http.StatusBadRequest || len(p.keys()) != len(everything) {
							t.Errorf("= %d %s, and %d entries are left", w.Code, w.Body, len(p.keys()))
						}
						return
					}
					done := read(t, w).Done
					if w.Code != http.StatusOK || done == nil || done.Do != do {
						t.Fatalf("= %d %s", w.Code, w.Body)
					}
					if counted := !strings.HasPrefix(form, "path="); counted != (done.Entries != nil) || counted && *done.Entries != len(want) {
						t.Errorf("the answer says %v entries, want %d", done.Entries, len(want))
					}
					left := p.keys()
					for _, k := range everything {
						state := p.ask("key", k).Entry.State
						switch covered := slices.Contains(want, k); {
						case !covered && state != "fresh", covered && do == "expire" && state != "stale", covered && do == "purge" && (state != "absent" || slices.Contains(left, k)):
							t.Errorf("%s is %s, covered: %t", k, state, covered)
						}
					}
				})
			})
		}
	}
}

// An invalid request does nothing. The error names the field.
func TestRefusals(t *testing.T) { synctest.Test(t, testRefusals) }

func testRefusals(t *testing.T) {
	p := newProgram(t)
	p.read("ada")
	long := strings.Repeat("x", 2049)
	type refusal struct {
		fields string
		status int
		text   string
	}
	both := []refusal{
		{"", 400, "one of key, tag"},
		{"tga=a", 400, `field "tga" is not known`},
		{"tag=a&tag=b", 400, "field tag occurs 2 times"},
		{"tag=a&key=b", 400, "fields key and tag exclude each other"},
		{"tag=", 400, "field tag of 0 bytes: send 1 to 2048"},
		{"tag=" + long, 400, "field tag of 2049 bytes: send 1 to 2048"},
		{"tag=" + long[:300], 400, "tag has 300 bytes, at most 256"},
		{"tag=%ff", 400, "field tag of 1 bytes: it is not UTF-8"},
		{"tag=a&tenant=", 400, "tenant of a tag is empty"},
		{"tag=a&tenant=b:c", 400, "tenant of a tag has a colon"},
		{"key=a:b:c&tenant=a", 400, "field tenant: send it only with tag"},
		{"key=ada", 400, "field key of 3 bytes: send tenant:namespace:id"},
		{"prefix=ada", 400, "field prefix of 3 bytes: it has no colon"},
		{"prefix=:a", 400, "tenant of a prefix is empty"},
		{"prefix=a:" + long[:1100], 400, "at most 1024"},
		{"url=ftp://a/b", 400, "send a path that begins with /"},
		{"url=a", 400, "send a path that begins with /"},
		{"url=//a/b", 400, "send a path that begins with /"},
		{"url=http://u:p@a/b", 400, "send a path that begins with /"},
		{"under=/a?b", 400, "it has a query"},
		{"under=/" + long[:1100], 400, "under of 1101 bytes"},
		{"all=no", 400, "field all of 2 bytes: send yes"},
	}
	check := func(method, query, body string, want refusal, header ...string) {
		t.Helper()
		w := p.call(method, query, body, append([]string{"Accept", "application/json"}, header...)...)
		if got := read(t, w).Error; w.Code != want.status || !strings.Contains(got, want.text) {
			t.Errorf("%s %.60s %.60s = %d %q, want %d %q", method, query, body, w.Code, got, want.status, want.text)
		}
	}
	for _, r := range both {
		if r.fields != "" { // without fields it is the overview
			check(http.MethodGet, "?"+r.fields, "", r)
		}
		check(http.MethodPost, "", "do=purge&"+r.fields, r)
	}
	check(http.MethodGet, "?path=/a", "", refusal{"", 400, `field "path" is not known`})
	check(http.MethodGet, "?do=purge&tag=a", "", refusal{"", 400, `field "do" is not known`})
	check(http.MethodGet, "?tag=%zz", "", refusal{"", 400, "query of 7 bytes cannot be read"})
	check(http.MethodGet, "?format=xml", "", refusal{"", 400, "field format"})
	check(http.MethodPost, "", "tag=users", refusal{"", 400, "field do"})
	check(http.MethodPost, "", "do=delete&tag=users", refusal{"", 400, "field do"})
	check(http.MethodPost, "", "do=purge&path=http://a/b", refusal{"", 400, "it has a host"})
	check(http.MethodPost, "", "do=expire&path=/a", refusal{"", 400, `field "path" is not known`})
	check(http.MethodPost, "", "do=purge&url=/a//b", refusal{"", 400, "bypass the cache"})
	check(http.MethodPost, "?tag=users", "do=purge&all=yes", refusal{"", 400, "send them in the body"})
	check(http.MethodPost, "", "do=purge&tag=%zz", refusal{"", 400, "cannot be read as a form"})
	check(http.MethodPost, "", "do=purge&tag="+strings.Repeat("x", 9000), refusal{"", 413, "over 8192 bytes"})
	check(http.MethodPost, "", `{"do":"purge"}`, refusal{"", 415, "header Content-Type"}, "Content-Type", "application/json")
	check(http.MethodDelete, "", "", refusal{"", 405, "send GET to look"})
	if n := p.tiers.Stats().Kinds; n != (cache.InvalidationStats{}) {
		t.Errorf("something was invalidated: %+v", n)
	}
	if len(p.keys()) != 1 {
		t.Error("the entry is gone")
	}
}

// A purge while the log is out of reach holds in this process, and reports what is pending.
func TestLogOutOfReach(t *testing.T) { synctest.Test(t, testLogOutOfReach) }

func testLogOutOfReach(t *testing.T) {
	p := newProgram(t)
	p.read("ada")
	p.fleet.Log[0].Fail(cachetest.ErrCutOff)
	w := p.post("do=purge&tag=users")
	if done := read(t, w).Done; w.Code != http.StatusAccepted || done.Pending != 1 || len(p.keys()) != 0 {
		t.Errorf("= %d %s, and %v is left", w.Code, w.Body, p.keys())
	}
	if w := p.call(http.MethodPost, "", "do=purge&tag=users"); w.Code != http.StatusAccepted || !strings.Contains(w.Body.String(), "keep trying") {
		t.Errorf("the page = %d %s", w.Code, w.Body)
	}
	p.post("do=purge&key=users:v1:ada")
	if logged := p.log.String(); strings.Count(logged, "out of reach") != 3 || strings.Contains(logged, "ada") {
		t.Errorf("the log has a key, or not three failures:\n%s", logged)
	}
}

// The page calls the program's Invalidate. Only the log names its failure, and the log records
// the purge.
func TestInvalidate(t *testing.T) { synctest.Test(t, testInvalidate) }

func testInvalidate(t *testing.T) {
	var got []invalidate.Scope
	var down error
	p := newProgram(t, func(c *cachez.Config) {
		c.Invalidate = func(_ context.Context, scopes ...invalidate.Scope) error {
			got = append(got, scopes...)
			return down
		}
	})
	p.post("do=purge&tag=users&tenant=acme")
	p.post("do=purge&all=yes")
	if want := []invalidate.Scope{invalidate.Tag("acme", "users"), invalidate.All()}; !slices.Equal(got, want) {
		t.Errorf("Invalidate of %v, want %v", got, want)
	}
	if want := "do=purge by=tag pending=0 from="; !strings.Contains(p.log.String(), want) {
		t.Errorf("there is no %q in the log:\n%s", want, &p.log)
	}
	down = errors.New("detail of a stage")
	if w := p.post("do=purge&all=yes"); w.Code != http.StatusServiceUnavailable || strings.Contains(w.Body.String(), "detail") || !strings.Contains(w.Body.String(), "log says why") {
		t.Errorf("= %d %s", w.Code, w.Body)
	}
	if !strings.Contains(p.log.String(), down.Error()) {
		t.Errorf("the log does not say why:\n%s", &p.log)
	}
}

// The forms of the pages do what their buttons say.
func TestForms(t *testing.T) { synctest.Test(t, testForms) }

func testForms(t *testing.T) {
	p := newProgram(t)
	p.read("ada", "acme/ada")
	all, text := elements(t, p.get("?tag=users&tenant=acme").Body.String())
	form, sent := url.Values{}, 0
	for _, e := range all {
		if e.name == "input" && e.attrs["type"] == "hidden" {
			form.Set(e.attrs["name"], e.attrs["value"])
		}
		if e.name == "button" && e.attrs["value"] == "purge" && sent == 0 {
			form.Set("do", "purge")
			sent++
			if w := p.call(http.MethodPost, "", form.Encode()); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `<b id="entries">1</b>`) {
				t.Errorf("%v = %d %s", form, w.Code, w.Body)
			}
		}
	}
	if want := []string{"default:users:v1:ada"}; !slices.Equal(p.keys(), want) || !strings.Contains(text, "Purge it: it is not served any more") {
		t.Errorf("left is %v, want %v", p.keys(), want)
	}
}
