package cachez

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
)

// maxValue is the longest value of a field, in bytes.
const maxValue = 2048

// target says which entries a look-up or a purge covers.
type target struct {
	By     string `json:"by"` // the field that names it
	Value  string `json:"value"`
	Tenant string `json:"tenant,omitempty"` // of a tag

	scopes []invalidate.Scope // of url and path: none
	client *http.Request      // of url: the request of a client
	path   string             // of path
}

// The fields that name a target.
var (
	lookups = []string{"key", "tag", "prefix", "url", "under", "all"}
	purges  = []string{"key", "tag", "prefix", "url", "under", "path", "all"}
)

// queryOf returns the fields of the query without format, which it checks.
func queryOf(r *http.Request) (url.Values, error) {
	v, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, faultf(http.StatusBadRequest, "the query of %d bytes cannot be read: escape it like a form", len(r.URL.RawQuery))
	}
	formats := v["format"]
	delete(v, "format")
	for _, f := range formats {
		if len(formats) > 1 || f != "json" && f != "html" {
			return nil, faultf(http.StatusBadRequest, "field format: send json or html, once")
		}
	}
	return v, nil
}

// targetOf reads the target of a form: one of fields, and tenant if that field is tag.
func (h *handler) targetOf(r *http.Request, v url.Values, fields []string) (*target, error) {
	t := &target{}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		switch known := slices.Contains(fields, name); {
		case !known && name != "tenant":
			return nil, faultf(http.StatusBadRequest, "field %.40q is not known: send one of %s", name, strings.Join(fields, ", "))
		case len(v[name]) != 1:
			return nil, faultf(http.StatusBadRequest, "field %s occurs %d times: send it once", name, len(v[name]))
		case known && t.By != "":
			return nil, faultf(http.StatusBadRequest, "fields %s and %s exclude each other: send one of them", t.By, name)
		case known:
			t.By, t.Value = name, v.Get(name)
		}
	}
	switch {
	case t.By == "":
		return nil, faultf(http.StatusBadRequest, "the request has no target: send one of %s", strings.Join(fields, ", "))
	case len(t.Value) > maxValue || t.Value == "":
		return nil, t.faultf("send 1 to %d bytes", maxValue)
	case !utf8.ValidString(t.Value):
		return nil, t.faultf("it is not UTF-8")
	case v.Has("tenant") && t.By != "tag":
		return nil, faultf(http.StatusBadRequest, "field tenant: send it only with tag; keys and prefixes begin with their tenant")
	}
	if t.By == "tag" {
		t.Tenant = v.Get("tenant")
		if !v.Has("tenant") {
			t.Tenant = cache.DefaultTenant
		}
	}
	if err := h.cover(r, t); err != nil {
		return nil, err
	}
	for _, s := range t.scopes {
		if err := s.Validate(); err != nil {
			return nil, t.faultf("%s", strings.TrimPrefix(err.Error(), invalidate.ErrScope.Error()+": "))
		}
	}
	return t, nil
}

// cover sets the scopes of the target.
func (h *handler) cover(r *http.Request, t *target) error {
	switch t.By {
	case "key":
		k, err := key.Parse(t.Value)
		if err != nil {
			return t.faultf("send tenant:namespace:id, spelled as in the lists (%v)", err)
		}
		t.scopes = []invalidate.Scope{invalidate.Key(k)}
	case "tag":
		t.scopes = []invalidate.Scope{invalidate.Tag(t.Tenant, t.Value)}
	case "prefix":
		tenant, rest, ok := strings.Cut(t.Value, ":")
		switch {
		case !ok:
			return t.faultf("it has no colon: send tenant:start, or tenant: for all of a tenant")
		case rest == "":
			t.scopes = []invalidate.Scope{invalidate.Tenant(tenant)}
		default:
			t.scopes = []invalidate.Scope{invalidate.Prefix(tenant, rest)}
		}
	case "all":
		if t.Value != "yes" {
			return t.faultf("send yes")
		}
		t.scopes = []invalidate.Scope{invalidate.All()}
	default:
		return h.coverPages(r, t)
	}
	return nil
}

// faultf returns a fault of the field that names the target.
func (t *target) faultf(format string, args ...any) error {
	return faultf(http.StatusBadRequest, "field %s of %d bytes: "+format, append([]any{t.By, len(t.Value)}, args...)...)
}
