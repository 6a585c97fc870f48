package track

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"time"

	"github.com/twofold-go/twofold/examples/rsstracker/feed"
	"github.com/twofold-go/twofold/examples/rsstracker/sitemap"
	"github.com/twofold-go/twofold/examples/rsstracker/state"
)

// Site says what is tracked, and how. Name, Home or Sitemaps, and Channel are
// required; the zero value of every other field means what its comment says.
type Site struct {
	Name     string   // of the site's folder and rows: letters, digits, '-' and '_'
	Home     string   // where to look for sitemaps if none are given
	Sitemaps []string // roots; none: those that robots.txt names, else the usual ones
	Channel  feed.Channel

	Include []*regexp.Regexp // URLs that one of them matches are tracked; none: all
	Exclude []*regexp.Regexp // URLs that one of them matches are not

	NoPages  bool   // titles come from the sitemap and the URL, and pages are not fetched
	Selector string // of the content of pages, see page.Parse; "": looked for

	Window   int  // items in the feed. 0: 50
	MaxPages int  // fetched in one run, the newest; the others wait. 0: 100
	Baseline int  // items published at the first run. 0: 10; negative: none
	Updates  bool // pages whose lastmod moves are fetched again
	NoRetry  bool // failed pages are not tried again
	Limits   sitemap.Limits

	History    time.Duration // for which gone pages are remembered in full. 0: 30 days
	CleanEvery time.Duration // between two checks of the whole database. 0: at every run
}

// The document's numbers.
const (
	defaultWindow   = 50
	defaultPages    = 100
	defaultBaseline = 10
	defaultHistory  = 30 * 24 * time.Hour
	maxGone         = 1_000
)

// Tombstones are small, and one that was forgotten too early is a page published
// twice.
const tombstones = 3 * 365 * 24 * time.Hour

// keptRuns is how many runs are kept for the statistics.
const keptRuns = 200

// Items returns how many items the feed has at most.
func (s Site) Items() int { return orDefault(s.Window, defaultWindow) }

func orDefault(n, usual int) int {
	if n == 0 {
		return usual
	}
	return max(n, 0)
}

// rules are what detection goes by. The shares are not settings: nobody knows what to
// set them to before the day they are needed.
func (s Site) rules() state.Rules {
	return state.Rules{
		Baseline: orDefault(s.Baseline, defaultBaseline), Updates: s.Updates,
		ChurnShare: 0.2, ChurnMin: 20, // a lastmod that moves on a fifth of all pages is a build
		VanishShare: 0.5, VanishMin: 10, // half of a site does not go in an hour
	}
}

func (s Site) keep() state.Keep {
	history := s.History
	if history <= 0 {
		history = defaultHistory
	}
	return state.Keep{Gone: history, MaxGone: maxGone, Tombstones: tombstones, Items: 4 * max(s.Items(), defaultWindow), Runs: keptRuns}
}

// source is what is shown as the site's sitemap.
func (s Site) source() string {
	if len(s.Sitemaps) > 0 {
		return s.Sitemaps[0]
	}
	return s.Home
}

// scope is the fingerprint of what says which pages are tracked. When it changes,
// pages that come in by that are old.
func (s Site) scope() string {
	h := sha256.New()
	add := func(list string, texts ...string) {
		h.Write([]byte(list + "\x01"))
		for _, t := range texts {
			h.Write([]byte(t + "\x00"))
		}
	}
	add("sitemaps", s.Sitemaps...)
	if len(s.Sitemaps) == 0 {
		add("home", s.Home)
	}
	for _, re := range s.Include {
		add("include", re.String())
	}
	for _, re := range s.Exclude {
		add("exclude", re.String())
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// tracks reports whether a page belongs to the feed.
func (s Site) tracks(url string) bool {
	return (len(s.Include) == 0 || matches(s.Include, url)) && !matches(s.Exclude, url)
}

func matches(all []*regexp.Regexp, url string) bool {
	for _, re := range all {
		if re.MatchString(url) {
			return true
		}
	}
	return false
}

// newOwner returns a name for a run that no other run has.
func newOwner() string { return rand.Text() }
