package httpcache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/twofold-go/twofold/cache/httpcache/internal/address"
	"github.com/twofold-go/twofold/invalidate"
)

// pathTag returns the tag of all entries of a path, of every host.
func (c *Cache) pathTag(path string) string { return tagOf(c.cfg.Namespace + " path " + path) }

// siteTag returns the tag of all entries of a path of one host, by http and https.
func (k *core) siteTag(host, path string) string {
	return tagOf(k.space.Namespace + " site " + strings.ToLower(address.WithoutPort(host)) + path)
}

// tagOf returns tag, or its hash if it is too long or not UTF-8.
func tagOf(tag string) string {
	if len(tag) <= invalidate.MaxTagLen && utf8.ValidString(tag) {
		return tag
	}
	sum := sha256.Sum256([]byte(tag))
	return "httpcache path sha256 " + hex.EncodeToString(sum[:])
}

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
