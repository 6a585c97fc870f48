package fetch_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/internal/fetch"
)

// Files that people write.
func TestRobotsRules(t *testing.T) {
	for _, tt := range []struct {
		name, file  string
		allow, deny string
	}{
		{"empty", "", "/ /x", ""},
		{"only rubbish", "<html>not found</html>\n:\nfoo: bar\n", "/ /x", ""},
		{"everything", "User-agent: *\nDisallow: /", "/robots.txt", "/ /x /robots.txtx"},
		{"everything, by a star", "User-agent: *\nDisallow: *", "/robots.txt", "/ /x"},
		{"a prefix", "User-agent: *\nDisallow: /fish", "/ /Fish /catfish", "/fish /fish.html /fish/salmon /fishheads?id=1"},
		{"the longest rule", "User-agent: *\nDisallow: /a/\nAllow: /a/b/\nDisallow: /a/b/c", "/a /a/b/ /a/b/d", "/a/ /a/x /a/b/c"},
		{"a star", "User-agent: *\nDisallow: /*.php", "/ /index.html", "/x.php /a/b.php?c /index.php.txt"},
		{"a dollar", "User-agent: *\nDisallow: /*.php$", "/x.php5 /x.php?y", "/x.php"},
		{"no slash", "User-agent: *\nDisallow: private", "/x", "/private/x"},
		{"encodings", "User-agent: *\nDisallow: /caf%c3%a9\nDisallow: /tö\nDisallow: /%7Euser", "/cafe", "/caf%C3%A9 /café /t%C3%B6x /tö /~user /%7euser"},
		{"queries", "User-agent: *\nDisallow: /*?print=", "/x?p /print=", "/x?print=1"},
		{"us", "User-agent: TestBot\nDisallow: /us\n\nUser-agent: *\nDisallow: /", "/ /x", "/us"},
		{"us among others", "User-agent: a\nUser-agent: testbot\nUser-agent: b\nDisallow: /us\n\nUser-agent: *\nDisallow: /", "/x", "/us"},
		{"us twice", "User-agent: testbot\nDisallow: /1\n\nUser-agent: *\nDisallow: /\n\nUser-agent: TESTBOT\nDisallow: /2", "/x", "/1 /2"},
		{"us, with nothing forbidden", "User-agent: testbot\nDisallow:\n\nUser-agent: *\nDisallow: /", "/ /x", ""},
		{"others", "User-agent: other\nDisallow: /\nUser-agent: me\nDisallow: /", "/ /x", ""},
		{"whose name begins with ours", "User-agent: TestBotX\nDisallow: /", "/ /x", ""},
		{"rules of nobody", "Disallow: /\nCrawl-delay: 5\nUser-agent: *\nDisallow: /x", "/", "/x"},
		{"one bad line", "User-agent: *\nCrawl-delay: ten\nDisallow: /x\nCrawl-delay: -1", "/", "/x"},
		{"blanks, comments, other line ends", "\ufeff  user-agent :\t* # all\r\rDISALLOW\t:  /x   # y\r\n# Disallow: /z", "/ /z", "/x"},
		{"sitemaps are outside groups", "User-agent: testbot\nSitemap: https://a.example/s.xml\nDisallow: /x", "/", "/x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := fetch.ReadRobots([]byte(tt.file), "TestBot")
			for p := range strings.FieldsSeq(tt.allow) {
				if !r.Allowed("https://a.example" + p) {
					t.Errorf("%s is not allowed", p)
				}
			}
			for p := range strings.FieldsSeq(tt.deny) {
				if r.Allowed("https://a.example" + p) {
					t.Errorf("%s is allowed", p)
				}
			}
		})
	}
}

func TestRobotsExtras(t *testing.T) {
	r := fetch.ReadRobots([]byte("Sitemap: https://a.example/1.xml\nUser-agent: testbot\nCrawl-delay: 2.5\nsitemap:https://b.example/2.xml#x\nSitemap:\n"), "testbot")
	if d := cmp.Diff([]string{"https://a.example/1.xml", "https://b.example/2.xml"}, r.Sitemaps); d != "" || r.CrawlDelay != 2500*time.Millisecond {
		t.Errorf("CrawlDelay %v, sitemaps (-want +got):\n%s", r.CrawlDelay, d)
	}
	for file, want := range map[string]time.Duration{"1e300": time.Minute, "NaN": 0, "-1": 0, "10s": 0, "0": 0} {
		if r := fetch.ReadRobots([]byte("User-agent: *\nCrawl-delay: "+file), "testbot"); r.CrawlDelay != want {
			t.Errorf("Crawl-delay: %s = %v; want %v", file, r.CrawlDelay, want)
		}
	}
	var none fetch.Robots
	if none.Allowed("https://a.example/x") || r.Allowed("https://a.example/%zz") {
		t.Error("an unknown URL, or one that does not parse, is allowed")
	}
}

// The meaning of the answer to /robots.txt: RFC 9309, section 2.3.1.
func TestRobotsStatus(t *testing.T) {
	for _, tt := range []struct {
		status int
		allow  bool
	}{{200, false}, {204, true}, {401, true}, {403, true}, {404, true}, {410, true}, {429, true}, {500, false}, {503, false}, {302, true}} {
		t.Run(fmt.Sprint(tt.status), func(t *testing.T) {
			o := newOrigin(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/robots.txt" {
					return
				}
				w.WriteHeader(tt.status)
				if tt.status == 200 {
					fmt.Fprint(w, "User-agent: *\nDisallow: /page")
				}
			})
			c := local(t)
			_, err := c.Get(t.Context(), fetch.Request{URL: o.URL + "/page", Robots: true})
			if (err == nil) != tt.allow || (err != nil && !errors.Is(err, fetch.ErrRobots)) {
				t.Errorf("Get = %v, allowed %v", err, tt.allow)
			}
			r, rerr := c.Robots(t.Context(), o.URL+"/other")
			if r.Allowed(o.URL+"/page") != tt.allow || (rerr != nil) != (tt.status >= 500) {
				t.Errorf("Robots = %v, %v; want allowed %v", r, rerr, tt.allow)
			}
			if status, ok := errors.AsType[*fetch.StatusError](err); ok != (tt.status >= 500) || (ok && status.Code != tt.status) {
				t.Errorf("the reason of %v is not there", err)
			}
			get(t, c, fetch.Request{URL: o.URL + "/page"}) // a request without Robots
		})
	}
}

// An answer to a request without Robots is not served to one with Robots before robots.txt
// is checked.
func TestRobotsAreNotBypassedByTheCache(t *testing.T) {
	o := newOrigin(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "User-agent: *\nDisallow: /page") })
	c := local(t)
	get(t, c, fetch.Request{URL: o.URL + "/page", MaxAge: time.Hour})
	if _, err := c.Get(t.Context(), fetch.Request{URL: o.URL + "/page", MaxAge: time.Hour, Robots: true}); !errors.Is(err, fetch.ErrRobots) {
		t.Errorf("Get = %v, want %v", err, fetch.ErrRobots)
	}
}
