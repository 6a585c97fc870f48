package httpcache

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/twofold-go/twofold/cache/httpcache/internal/address"
	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
	"github.com/twofold-go/twofold/invalidate"
)

// Key returns the scope of the entry that answers r. Its Text is the full key, as the library spells
// it. Key reports false for a request that bypasses the cache. Purge also covers the entry's variants.
func (c *Cache) Key(r *http.Request) (s invalidate.Scope, ok bool) {
	t, why := c.target(r)
	if why != reason.None {
		return invalidate.Invalid(fmt.Errorf("the request bypasses the cache: %v", why)), false
	}
	s = c.k.Pages.Key(t.Key)
	return s, s.Validate() == nil
}

// Prefix returns the scope of all entries of an origin, such as "https://example.com:8443", for paths
// that begin with path. The host is in lower case; path is not escaped. Prefix covers the spelling that
// browsers use. It does not cover a path whose client escaped more than was needed; PurgePath does. A
// call refuses the scope of an origin without http:// or https://.
func (c *Cache) Prefix(origin, path string) invalidate.Scope {
	scheme, host, _ := strings.Cut(origin, "://")
	if scheme != "http" && scheme != "https" || host == "" || strings.Contains(host, "/") {
		return invalidate.Invalid(fmt.Errorf("httpcache: prefix: origin %.100q: want a scheme and a host, such as https://example.com", origin))
	}
	return c.k.Pages.Prefix(address.Readable(address.Scheme(scheme == "https") + host + address.EscapedPath(path)))
}

// Purge invalidates the entry that answers r. For a request that bypasses the cache it does
// nothing.
func (c *Cache) Purge(ctx context.Context, r *http.Request) error {
	return c.end(r, func(entries ...invalidate.Scope) error { return c.cfg.Tiers.Invalidate(ctx, entries...) })
}

// PurgePath invalidates all entries of a path: of every host, scheme, query and variant. The path
// is not escaped.
func (c *Cache) PurgePath(ctx context.Context, path string) error {
	if c.cfg.Off {
		return nil
	}
	return c.cfg.Tiers.Invalidate(ctx, invalidate.Tag(c.cfg.Tenant, c.k.PathTag(path)))
}

// PurgeAll invalidates every entry. The time it takes does not depend on their number.
func (c *Cache) PurgeAll(ctx context.Context) error {
	if c.cfg.Off {
		return nil
	}
	return c.k.Pages.DeleteAll(ctx)
}

// Expire makes the entry that answers r stale. Within the policy's Stale and StaleIfError it is
// still served while it is refreshed.
func (c *Cache) Expire(ctx context.Context, r *http.Request) error {
	return c.end(r, func(entries ...invalidate.Scope) error { return c.cfg.Tiers.Expire(ctx, entries...) })
}

// end calls do with the entry that answers r, and with its variants and encodings.
func (c *Cache) end(r *http.Request, do func(entries ...invalidate.Scope) error) error {
	t, why := c.target(r)
	switch {
	case why != reason.None, c.cfg.Off:
		return nil
	case c.cfg.pages() && len(c.cfg.Encodings) == 0: // no variants or encodings
		return do(c.k.Pages.Key(t.Key))
	}
	return do(c.k.Pages.Key(t.Key), c.k.Pages.Prefix(t.Key+"|"))
}

// PurgeTags invalidates all entries that depend on one of the tags. That includes tags from
// cache.Depend and tags of the entries that a page was built from. It also invalidates
// everything else in the Tiers that depends on the tags.
//
// A tag that is empty, too long or not UTF-8 is refused before anything is invalidated. PurgeTags
// without tags does nothing.
//
// Its errors are those of Tiers.Invalidate.
func (c *Cache) PurgeTags(ctx context.Context, tags ...string) error {
	scopes := make([]invalidate.Scope, len(tags))
	var errs []error
	for i, tag := range tags {
		scopes[i] = invalidate.Tag(c.cfg.Tenant, tag)
		if err := scopes[i].Validate(); err != nil {
			errs = append(errs, fmt.Errorf("httpcache: purge tags: tag %d of %d: %w", i+1, len(tags), err))
		}
	}
	if len(errs) > 0 || len(tags) == 0 || c.cfg.Off {
		return errors.Join(errs...)
	}
	return c.cfg.Tiers.Invalidate(ctx, scopes...)
}
