package ops

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/invalidate"
)

// errOff is what purges and look-ups of a site without caches end with.
var errOff = errors.New("the site runs without caches")

// outcome is what a purge came to.
//
// What it counts are the entries that the index knew and that the purge covers, a
// moment before it. None of them is served again. It does not count that something
// is remembered not to exist, which ends too, nor what is being loaded at the moment,
// which is not kept.
type outcome struct {
	What      string        `json:"what"`
	Value     string        `json:"value,omitempty"`
	Objects   int           `json:"objects"`
	Responses int           `json:"responses"`
	Took      time.Duration `json:"-"`
	Millis    float64       `json:"took_ms"`
	Failed    string        `json:"error,omitempty"`
	At        time.Time     `json:"at"`
}

// purge does what the form of r asks for: a tag, a path, a prefix of paths, a URL,
// or all. Expire ends the freshness of a URL only, for a cache that serves what is
// stale while it renders anew.
func (h *Handler) purge(w http.ResponseWriter, r *http.Request) (*outcome, error) {
	name, value, err := h.purgeOf(w, r)
	if err != nil {
		return nil, err
	}
	c := h.cfg.Caches
	if c == nil {
		return nil, errOff
	}
	o := &outcome{What: name, Value: value, At: h.cfg.Now().UTC()}
	began := time.Now()
	switch name {
	case "tag":
		err = c.purgeTag(r.Context(), o)
	case "path":
		err = c.purgePath(r.Context(), o)
	case "prefix":
		err = c.purgePrefix(r, o)
	case "all":
		err = c.purgeAll(r.Context(), o)
	case "url":
		err = c.purgeURL(r, o, c.Responses.Purge)
	default:
		err = c.purgeURL(r, o, c.Responses.Expire)
	}
	o.Took = time.Since(began)
	o.Millis = float64(o.Took.Microseconds()) / 1000
	if err == nil {
		h.cfg.Logger.InfoContext(r.Context(), "operator purged", "what", name, "objects", o.Objects, "responses", o.Responses, "from", r.RemoteAddr)
	}
	return o, err
}

// purgeOf reads the form. Nothing but its body counts, and all of that has to make
// sense: no misspelled parameter may turn a small purge into a large one.
func (h *Handler) purgeOf(w http.ResponseWriter, r *http.Request) (name, value string, err error) {
	if r.URL.RawQuery != "" {
		return "", "", bad("the parameters belong into the body")
	}
	r.Body = http.MaxBytesReader(w, r.Body, 2*maxValue)
	if err := r.ParseForm(); err != nil {
		return "", "", bad("the body is no form of at most %d bytes", 2*maxValue)
	}
	name, value, err = single(r.PostForm, "tag", "path", "prefix", "url", "expire", "all")
	if err == nil && name == "all" && value != "yes" {
		return "", "", bad("all has %d bytes, want yes", len(value))
	}
	return name, value, err
}

// purgeTag goes through the pipeline, as a write does: the objects first, as
// responses that are rendered meanwhile would be made of them.
func (c *Caches) purgeTag(ctx context.Context, o *outcome) error {
	scope, err := tagScope(o.Value)
	if err != nil {
		return err
	}
	c.count(o, scope)
	return c.Changes.Entities(ctx, content.Entity(o.Value))
}

func (c *Caches) purgeAll(ctx context.Context, o *outcome) error {
	o.Value = ""
	c.count(o, invalidate.All())
	return c.Changes.Everything(ctx)
}

// count counts what the scope covers.
func (c *Caches) count(o *outcome, scope invalidate.Scope) {
	o.Objects = len(c.Objects.Index().KeysOf(scope))
	o.Responses = len(c.Index.KeysOf(scope))
}

// purgePath purges the responses of a path: of every host, scheme, query and
// variant. Which keys that are, only the cache knows; so it counts those that are
// gone.
func (c *Caches) purgePath(ctx context.Context, o *outcome) error {
	path, err := parsePath(o.Value)
	if err != nil {
		return err
	}
	before := c.Index.KeysOf(invalidate.All())
	if err := c.Responses.PurgePath(ctx, path); err != nil {
		return err
	}
	left := map[string]bool{}
	for _, k := range c.Index.KeysOf(invalidate.All()) {
		left[k] = true
	}
	for _, k := range before {
		if !left[k] {
			o.Responses++
		}
	}
	return nil
}

// purgePrefix purges the responses of one host, by http and https, whose path
// begins with the value: /posts/ is all that is below it, /p is /posts/ and /p/ too.
func (c *Caches) purgePrefix(r *http.Request, o *outcome) error {
	scopes, err := c.prefixScopes(r, o.Value)
	if err != nil {
		return err
	}
	for _, s := range scopes {
		o.Responses += len(c.Index.KeysOf(s))
	}
	return c.Tiers.Invalidate(r.Context(), scopes...)
}

// purgeURL purges or expires one response.
func (c *Caches) purgeURL(r *http.Request, o *outcome, purge func(context.Context, *http.Request) error) error {
	q, err := request(r, o.Value)
	if err != nil {
		return err
	}
	full, ok := c.Responses.KeyOf(q)
	if !ok {
		return bad("requests for that URL go past the cache: there is nothing to purge")
	}
	if has(c.Index, full) {
		o.Responses = 1
	}
	return purge(r.Context(), q)
}
