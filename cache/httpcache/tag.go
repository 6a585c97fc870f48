package httpcache

import (
	"context"
	"errors"
	"fmt"

	"github.com/twofold-go/twofold/cache/httpcache/internal/exchange"
	"github.com/twofold-go/twofold/invalidate"
)

// pathTag returns the tag of all entries of a path, of every host.
func (c *Cache) pathTag(path string) string { return exchange.TagOf(c.cfg.Namespace + " path " + path) }

// PurgeTags invalidates all entries that depend on one of the tags. That includes tags from
// cache.Depend and tags of the entries that a page was built from. It also invalidates everything else in the Tiers that depends on the tags.
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
