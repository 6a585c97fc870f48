package httpcache

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/twofold-go/twofold/cache/httpcache/internal/address"
	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
)

// KeyOf returns the full key of the entry that answers r, as the library spells it. It reports
// false for a request that bypasses the cache.
func (c *Cache) KeyOf(r *http.Request) (full string, ok bool) {
	t, why := c.target(r)
	if why != reason.None {
		return "", false
	}
	k, err := c.k.Space.Key(key.Text(t.Key))
	return k.String(), err == nil
}

// Under returns the scope of all entries for the host, by http or https, and for paths that begin
// with path. Host is in lower case; path is not escaped. Under covers the spelling that browsers
// use. It does not cover a path whose client escaped more than was needed; PurgePath does.
func (c *Cache) Under(secure bool, host, path string) invalidate.Scope {
	return c.k.Pages.Prefix(address.Readable(address.Scheme(secure) + host + address.EscapedPath(path)))
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
