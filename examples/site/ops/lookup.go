package ops

import (
	"net/http"
	"strings"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/index"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
)

// maxListed is how many names one list shows.
const maxListed = 200

// list is names, cut short.
type list struct {
	Names []string `json:"names"`
	More  int      `json:"more"` // that are not shown
}

func listOf(names []string) list {
	n := min(len(names), maxListed)
	return list{Names: names[:n:n], More: len(names) - n}
}

// layerList is names of one layer.
type layerList struct {
	Layer string `json:"layer"`
	list
}

// finding is what there is to say to a question.
type finding struct {
	Asked string `json:"asked"` // by what: url, key, tag or prefix
	Value string `json:"value"`

	// Of one entry.
	Key     string `json:"key,omitempty"`
	Past    bool   `json:"bypass,omitempty"` // requests for it go past the cache
	Cached  bool   `json:"cached"`
	Entry   *entry `json:"entry,omitempty"`
	Depends *list  `json:"depends,omitempty"` // the tags that it depends on

	// Of several.
	Keys []layerList `json:"keys,omitempty"`
}

// entry is what a client is told of a response that is cached.
type entry struct {
	Status       int    `json:"status"`
	Age          int64  `json:"age_seconds"` // -1: not told
	Bytes        int64  `json:"bytes"`       // of the body; -1: not told
	Type         string `json:"type"`
	ETag         string `json:"etag"`
	LastModified string `json:"last_modified"`
	CacheStatus  string `json:"cache_status"`
}

// find answers a question in the query of r.
func (h *Handler) find(r *http.Request) (*finding, error) {
	name, value, err := single(r.URL.Query(), "url", "key", "tag", "prefix")
	if err != nil {
		return nil, err
	}
	c := h.cfg.Caches
	if c == nil {
		return nil, errOff
	}
	f := &finding{Asked: name, Value: value}
	switch name {
	case "url":
		return f, h.findURL(f, r)
	case "key":
		return f, f.findKey(c)
	case "tag":
		scope, err := tagScope(value)
		if err == nil {
			f.Keys = c.covered(scope)
		}
		return f, err
	default:
		scopes, err := c.prefixScopes(r, value)
		if err == nil {
			f.Keys = c.covered(scopes...)[:1] // the prefix is one of responses
		}
		return f, err
	}
}

func (h *Handler) findURL(f *finding, r *http.Request) error {
	q, err := request(r, f.Value)
	if err != nil {
		return err
	}
	c := h.cfg.Caches
	full, ok := c.Responses.KeyOf(q)
	if f.Key, f.Past = full, !ok; !ok {
		return nil
	}
	f.describe(c.Index)
	if f.Cached {
		f.Entry = h.ask(q)
	}
	return nil
}

func (f *finding) findKey(c *Caches) error {
	if _, err := key.Parse(f.Value); err != nil {
		return bad("value of %d bytes is no key: want tenant:namespace:id", len(f.Value))
	}
	f.Key = f.Value
	for _, l := range c.layers() {
		if f.describe(l.index); f.Cached {
			break
		}
	}
	return nil
}

// describe says whether the key is in an index, and what it depends on.
func (f *finding) describe(in *index.Index) {
	if f.Cached = has(in, f.Key); !f.Cached {
		return
	}
	tags := in.TagsOf(f.Key)
	for i := range tags {
		tags[i] = tagOf(tags[i])
	}
	l := listOf(tags)
	f.Depends = &l
}

// tagOf returns a tag of the index without its tenant. All of the site belongs to one.
func tagOf(full string) string { return strings.TrimPrefix(full, cache.DefaultTenant+":") }

// has reports whether an index has a key.
func has(in *index.Index, full string) bool {
	k, err := key.Parse(full)
	return err == nil && len(in.KeysOf(invalidate.Key(k))) > 0
}

// layer is an index with its name.
type layer struct {
	name  string
	index *index.Index
}

func (c *Caches) layers() []layer {
	return []layer{{"responses", c.Index}, {"objects", c.Objects.Index()}}
}

// covered returns the keys that invalidations of the scopes would reach.
func (c *Caches) covered(scopes ...invalidate.Scope) []layerList {
	var all []layerList
	for _, l := range c.layers() {
		var keys []string
		for _, s := range scopes {
			keys = append(keys, l.index.KeysOf(s)...)
		}
		all = append(all, layerList{l.name, listOf(keys)})
	}
	return all
}

// tagScope returns the scope of a tag. One that nothing could ever be invalidated
// by must not get into the pipeline: it would be tried again for ever, and hold up
// what comes behind it.
func tagScope(tag string) (invalidate.Scope, error) {
	s := invalidate.Tag(cache.DefaultTenant, tag)
	if s.Validate() != nil {
		return s, bad("value of %d bytes is no tag: want 1 to %d bytes of UTF-8", len(tag), invalidate.MaxTagLen)
	}
	return s, nil
}

// prefixScopes returns the scopes of the responses of one host, by http and https,
// whose path begins with a prefix.
func (c *Caches) prefixScopes(r *http.Request, value string) ([]invalidate.Scope, error) {
	host, path, err := parsePrefix(r, value)
	if err != nil {
		return nil, err
	}
	var scopes []invalidate.Scope
	for _, secure := range []bool{false, true} {
		s := c.Responses.Under(secure, host, path)
		if s.Validate() != nil {
			return nil, bad("value of %d bytes is longer than a key can be", len(value))
		}
		scopes = append(scopes, s)
	}
	return scopes, nil
}
