package track

import (
	"cmp"
	"context"
	"errors"
	"hash/fnv"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twofold-go/twofold/examples/internal/fetch"
	"github.com/twofold-go/twofold/examples/rsstracker/page"
	"github.com/twofold-go/twofold/examples/rsstracker/sitemap"
	"github.com/twofold-go/twofold/examples/rsstracker/state"
)

const (
	firstRetry  = 10 * time.Minute // doubled at each failure
	lastRetry   = 24 * time.Hour
	maxAttempts = 10 // of an error without a rule here
	deadAfter   = 3  // of an error that looks permanent
)

// giveUpRun failures in a row mean that the site is down. The other pages wait for the next run.
const giveUpRun = 3

func (r *run) process(ctx context.Context) error {
	c, err := r.store.Pages(ctx, r.lease.Site.ID)
	if err != nil {
		return err
	}
	r.rep.Skipped = c.Done
	r.rep.full = r.rep.Sitemaps + min(r.site.Window, c.Done+c.Pending+c.Failed)
	due, total, err := r.store.Due(ctx, r.lease.Site.ID, r.Now(), r.site.MaxPages, r.site.RetryFailed)
	if err != nil {
		return err
	}
	r.rep.Pending = max(0, total-r.rep.New-r.rep.Changed)
	r.rep.Waiting = total
	down := 0
	for _, u := range slices.Backward(due) { // the newest becomes the last item
		r.At("page")
		transient, err := r.one(ctx, u)
		if err != nil {
			return err
		}
		r.rep.Waiting--
		if !transient {
			down = 0
		} else if down++; down == giveUpRun {
			break
		}
	}
	return nil
}

// one fetches a page. transient means that other pages will fail too.
func (r *run) one(ctx context.Context, u state.URL) (transient bool, err error) {
	p, err := r.meta(ctx, u)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	r.At("got")
	if err != nil {
		f := classify(err)
		r.rep.Failed++
		return f.transient, r.store.SaveFailure(ctx, r.lease, r.Now(), u, f.code, f.retryAt(u, r.Now()))
	}
	verdict, err := r.store.SavePage(ctx, r.lease, r.Now(), u, r.describe(u, p))
	if err != nil {
		return false, err
	}
	*map[state.Verdict]*int{
		state.Published: &r.rep.Published, state.Updated: &r.rep.Updated, state.Unchanged: &r.rep.Unchanged, state.Learned: &r.rep.Learned,
	}[verdict]++
	return false, nil
}

// meta gets the metadata of a page. If the page is not HTML, it uses the data of the sitemap.
func (r *run) meta(ctx context.Context, u state.URL) (page.Meta, error) {
	byDate := page.Meta{Hash: "lastmod:" + strconv.FormatInt(u.LastMod.Unix(), 10)}
	if !r.site.FetchTitles {
		return byDate, nil
	}
	p, err := r.Source.Page(ctx, PageRequest{URL: u.URL, LastMod: u.LastMod, Fresh: u.Changed})
	if !p.Cached {
		r.rep.PageFetches++
	}
	if errors.Is(err, page.ErrNotHTML) {
		return byDate, nil
	}
	return p.Meta, err
}

// describe fills in the title and the date. The date is never after now.
func (r *run) describe(u state.URL, m page.Meta) page.Meta {
	m.Title = cmp.Or(m.Title, u.Title, slug(u.URL))
	m.Published = cmp.Or(m.Published, u.Published, u.LastMod, u.FirstSeen)
	if now := r.Now(); m.Published.After(now) { // otherwise it would stay at the top for years
		m.Published = now
	}
	return m
}

func slug(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return rawURL
	}
	name := strings.Trim(path.Base(u.Path), "/.")
	name = strings.TrimSuffix(name, path.Ext(name))
	name = strings.Join(strings.FieldsFunc(name, func(c rune) bool { return c == '-' || c == '_' || c == '+' || c == ' ' }), " ")
	if name == "" {
		return u.Host
	}
	return name
}

type failure struct {
	code      string
	transient bool          // the fault of the site, not of the page
	attempts  int           // after so many failures the page is abandoned; 0 means never
	wait      time.Duration // requested by the site
	remedy    string        // what to change in the configuration if a whole run fails; "" means that a retry may help
}

// classify maps an error to its rule. Codes hold nothing that the site sent.
func classify(err error) failure {
	if e, ok := errors.AsType[*fetch.StatusError](err); ok {
		f := failure{code: "status " + strconv.Itoa(e.Code), attempts: deadAfter, wait: e.RetryAfter, remedy: check}
		switch {
		case e.Code == http.StatusGone:
			f.attempts = 1
		case e.Code >= http.StatusInternalServerError, e.Code == http.StatusTooManyRequests, e.Code == http.StatusRequestTimeout:
			f.attempts, f.transient, f.remedy = 0, true, ""
		}
		return f
	}
	for _, f := range failures {
		if errors.Is(err, f.is) {
			return f.failure
		}
	}
	return failure{code: "other", attempts: maxAttempts}
}

const check = "check the site's sitemap_url or home"

var failures = []struct {
	is error
	failure
}{
	{fetch.ErrTooLarge, failure{code: "too large", attempts: deadAfter}},
	{fetch.ErrTooManyRedirects, failure{code: "redirects", attempts: deadAfter}},
	{fetch.ErrRedirectLoop, failure{code: "redirects", attempts: deadAfter}},
	{fetch.ErrPrivateAddress, failure{code: "private address", attempts: 1, remedy: "allow_private: true permits loopback and private addresses"}},
	{fetch.ErrURL, failure{code: "bad URL", attempts: 1, remedy: check}},
	{fetch.ErrScheme, failure{code: "bad URL", attempts: 1, remedy: check}},
	{fetch.ErrPort, failure{code: "bad URL", attempts: 1, remedy: check}},
	{sitemap.ErrHTML, failure{remedy: check}},
	{sitemap.ErrFormat, failure{remedy: check}},
	{fetch.ErrTimeout, failure{code: "timeout", transient: true}},
	{fetch.ErrConnect, failure{code: "no connection", transient: true}},
	{fetch.ErrDeadHost, failure{code: "no connection", transient: true}},
	{fetch.ErrBusy, failure{code: "busy", transient: true}},
	{fetch.ErrRobots, failure{code: "robots.txt", attempts: deadAfter, wait: lastRetry}},
}

// retryAt returns the time of the next attempt, or the zero time for none. A site can ask for up to
// a week.
func (f failure) retryAt(u state.URL, now time.Time) time.Time {
	n := u.Attempts + 1
	if f.attempts > 0 && n >= f.attempts {
		return time.Time{}
	}
	wait := min(firstRetry<<min(n-1, 10), lastRetry)
	h := fnv.New32a()
	_, _ = h.Write([]byte(u.URL))
	wait += wait * time.Duration(h.Sum32()%256) / 1024
	return now.Add(max(wait, min(f.wait, 7*24*time.Hour)))
}
