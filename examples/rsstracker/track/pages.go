package track

import (
	"context"
	"errors"
	"hash/fnv"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/twofold-go/twofold/examples/internal/fetch"
	"github.com/twofold-go/twofold/examples/rsstracker/page"
	"github.com/twofold-go/twofold/examples/rsstracker/sitemap"
	"github.com/twofold-go/twofold/examples/rsstracker/state"
)

// How failed pages are tried again (S-E11).
const (
	firstRetry  = 10 * time.Minute // and twice as long each time
	lastRetry   = 24 * time.Hour
	maxAttempts = 10 // of what nobody knows the meaning of
	deadAfter   = 3  // of what looks final
	forever     = 0  // what is the site's fault passes: its pages are never given up
)

// giveUpRun is after how many failures in a row, of the kind that a site has when it
// is down, the rest of the pages wait for the next run.
const giveUpRun = 3

// process fetches the pages that are due. The doc's three kinds come from one query:
// new ones, pending ones of a run that died, and failed ones whose time has come.
func (r *run) process(ctx context.Context) error {
	if err := r.count(ctx); err != nil {
		return err
	}
	due, total, err := r.store.Due(ctx, r.lease.Site.ID, r.Now(), orDefault(r.site.MaxPages, defaultPages), !r.site.NoRetry)
	if err != nil {
		return err
	}
	r.rep.Pending = max(0, total-r.rep.New-r.rep.Changed)
	r.rep.Waiting = total
	down := 0
	for _, u := range due {
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

// count notes what the run does not have to look at.
func (r *run) count(ctx context.Context) error {
	c, err := r.store.Pages(ctx, r.lease.Site.ID)
	if err != nil {
		return err
	}
	r.rep.Skipped = c.Done
	r.rep.full = r.rep.Sitemaps + min(r.site.Items(), c.Done+c.Pending+c.Ready+c.Failed)
	return nil
}

// one fetches one page and keeps what came of it. It reports whether the page failed
// in a way that others will, too.
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
	switch verdict {
	case state.Unchanged:
		r.rep.Unchanged++
	case state.Learned:
		r.rep.Learned++
	case state.Ready:
	}
	return false, err
}

// meta gets what a page says of itself, unless the site is tracked without its pages. What is no HTML,
// a PDF perhaps, is published by what the sitemap says of it.
func (r *run) meta(ctx context.Context, u state.URL) (page.Meta, error) {
	byDate := page.Meta{Hash: "lastmod:" + strconv.FormatInt(u.LastMod.Unix(), 10)}
	if r.site.NoPages {
		return byDate, nil
	}
	p, err := r.Source.Page(ctx, PageRequest{URL: u.URL, Selector: r.site.Selector, LastMod: u.LastMod, Fresh: u.Changed})
	if !p.Cached {
		r.rep.PageFetches++
	}
	r.rep.Bytes += p.Wire
	if errors.Is(err, page.ErrNotHTML) {
		return byDate, nil
	}
	return p.Meta, err
}

// describe says what the feed will say of a page. Its date is the page's own, else
// the sitemap's, else that of its first sight; never a later one than now.
func (r *run) describe(u state.URL, m page.Meta) state.Page {
	p := state.Page{Title: m.Title, Description: m.Description, Hash: m.Hash}
	for _, title := range []string{u.Title, slug(u.URL)} {
		if p.Title == "" {
			p.Title = title
		}
	}
	for _, d := range []time.Time{m.Published, u.Published, u.LastMod, u.FirstSeen} {
		if p.Date.IsZero() {
			p.Date = d
		}
	}
	p.Date = sitemap.Clamp(p.Date, r.Now())
	return p
}

// slug makes a title of a URL.
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

// failure is what an error means for a page.
type failure struct {
	code      string
	transient bool          // the site is to blame, not the page
	attempts  int           // after which it is given up, or forever
	wait      time.Duration // that the site asked for
}

// classify says what an error means. Codes go to the database and to the statistics,
// so they are short and the program's own.
func classify(err error) failure {
	if e, ok := errors.AsType[*fetch.StatusError](err); ok {
		f := failure{code: "status " + strconv.Itoa(e.Code), attempts: deadAfter, wait: e.RetryAfter}
		switch {
		case e.Code == http.StatusGone:
			f.attempts = 1
		case e.Code >= http.StatusInternalServerError, e.Code == http.StatusTooManyRequests, e.Code == http.StatusRequestTimeout:
			f.attempts, f.transient = forever, true
		}
		return f
	}
	for _, f := range []struct {
		is error
		failure
	}{
		{page.ErrContent, failure{code: "no content", attempts: deadAfter}},
		{fetch.ErrTooLarge, failure{code: "too large", attempts: deadAfter}},
		{fetch.ErrTooManyRedirects, failure{code: "redirects", attempts: deadAfter}},
		{fetch.ErrRedirectLoop, failure{code: "redirects", attempts: deadAfter}},
		{fetch.ErrPrivateAddress, failure{code: "private address", attempts: 1}},
		{fetch.ErrURL, failure{code: "bad URL", attempts: 1}},
		{fetch.ErrScheme, failure{code: "bad URL", attempts: 1}},
		{fetch.ErrPort, failure{code: "bad URL", attempts: 1}},
		{fetch.ErrTimeout, failure{code: "timeout", attempts: forever, transient: true}},
		{fetch.ErrConnect, failure{code: "no connection", attempts: forever, transient: true}},
		{fetch.ErrDeadHost, failure{code: "no connection", attempts: forever, transient: true}},
		{fetch.ErrBusy, failure{code: "busy", attempts: forever, transient: true}},
		{fetch.ErrRobots, failure{code: "robots.txt", attempts: deadAfter, wait: lastRetry}},
	} {
		if errors.Is(err, f.is) {
			return f.failure
		}
	}
	return failure{code: "other", attempts: maxAttempts}
}

// retryAt returns when to try a page again that has failed once more; zero: never. A
// site that asks for more time gets it, within reason. The spread keeps pages that
// failed together from coming back together; it is the page's own, so that a run that
// is repeated does the same.
func (f failure) retryAt(u state.URL, now time.Time) time.Time {
	n := u.Attempts + 1
	if f.attempts != forever && n >= f.attempts {
		return time.Time{}
	}
	wait := min(firstRetry<<min(n-1, 10), lastRetry)
	h := fnv.New32a()
	_, _ = h.Write([]byte(u.URL))
	wait += wait * time.Duration(h.Sum32()%256) / 1024
	return now.Add(max(wait, min(f.wait, 7*24*time.Hour)))
}
