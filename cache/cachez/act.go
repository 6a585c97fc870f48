package cachez

import (
	"errors"
	"mime"
	"net/http"
	"net/url"

	"github.com/twofold-go/twofold/invalidate"
)

// maxBody is the longest form, in bytes: a value whose bytes are all escaped, and the other
// fields.
const maxBody = 4 * maxValue

// outcome is the result of a purge or an expiry.
type outcome struct {
	Do string `json:"do"` // purge or expire
	target

	// Entries is how many entries of this process it covered just before; nil means unknown.
	// Entries that were being loaded are not counted, and not stored.
	Entries *int `json:"entries,omitempty"`

	// Pending is how many scopes wait for a log or a remote tier that is out of reach. They hold
	// in this process, and the Tiers keep trying.
	Pending int `json:"pending"`
}

// act does the action of a form.
func (h *handler) act(w http.ResponseWriter, r *http.Request) (*outcome, error) {
	form, err := formOf(w, r)
	if err != nil {
		return nil, err
	}
	do, fields := form["do"], purges
	delete(form, "do")
	if len(do) != 1 || do[0] != "purge" && do[0] != "expire" {
		return nil, faultf(http.StatusBadRequest, "field do: send it once, as purge or expire")
	}
	if do[0] == "expire" {
		fields = lookups // only a purge takes a path
	}
	t, err := h.targetOf(r, form, fields)
	if err != nil {
		return nil, err
	}
	o := &outcome{Do: do[0], target: *t}
	if t.By == "url" {
		if _, ok := h.Pages.Key(t.client); !ok {
			return nil, t.faultf("requests for it bypass the cache, so there is nothing to %s", o.Do)
		}
	}
	if o.Entries, err = h.count(r.Context(), t); err != nil {
		return nil, err
	}
	err = h.do(r, o)
	if pending, ok := errors.AsType[*invalidate.PendingError](err); ok {
		h.Logger.WarnContext(r.Context(), "cachez: the log is out of reach", "error", pending)
		o.Pending, err = max(pending.Pending, 1), nil
	}
	if err != nil {
		return nil, err
	}
	h.Logger.InfoContext(r.Context(), "cachez: operator's request done", "do", o.Do, "by", o.By, "pending", o.Pending, "from", r.RemoteAddr)
	return o, nil
}

func (h *handler) do(r *http.Request, o *outcome) error {
	ctx, purge := r.Context(), o.Do == "purge"
	switch {
	case o.By == "path":
		return h.Pages.PurgePath(ctx, o.path)
	case o.By == "url" && purge:
		return h.Pages.Purge(ctx, o.client)
	case o.By == "url":
		return h.Pages.Expire(ctx, o.client)
	case purge:
		return h.Invalidate(ctx, o.scopes...)
	}
	return h.tiers.Expire(ctx, o.scopes...)
}

// formOf reads the form in the body of a request.
func formOf(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	const wanted = "application/x-www-form-urlencoded"
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != wanted {
		return nil, faultf(http.StatusUnsupportedMediaType, "header Content-Type is not %s: send the body as that type", wanted)
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	if err := r.ParseForm(); err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return nil, faultf(http.StatusRequestEntityTooLarge, "the body has over %d bytes: send one field of at most %d", maxBody, maxValue)
		}
		return nil, faultf(http.StatusBadRequest, "the body cannot be read as a form: escape its fields")
	}
	return r.PostForm, nil
}
