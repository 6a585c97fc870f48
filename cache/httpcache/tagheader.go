package httpcache

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
	"github.com/twofold-go/twofold/invalidate"
)

// tagHeaders makes the names in Config.TagHeaders canonical, and returns the faults.
func (c *Config) tagHeaders() (errs []error) {
	var usual []string
	for i, n := range c.TagHeaders {
		name := http.CanonicalHeaderKey(n)
		switch {
		case !rules.IsToken(n):
			errs = append(errs, fmt.Errorf("field TagHeaders: entry %d is not a header's name", i))
		case meaningful(name):
			errs = append(errs, fmt.Errorf("field TagHeaders: %s means something else to clients and caches; name a header of tags alone", name))
		case slices.Contains(usual, name):
			errs = append(errs, fmt.Errorf("field TagHeaders has %s twice", name))
		}
		usual = append(usual, name)
	}
	c.TagHeaders = usual
	return errs
}

// meaningful reports whether a response needs the header for something else.
func meaningful(name string) bool {
	switch name {
	case "Set-Cookie", "Vary", "Etag", "Last-Modified", "Expires", "Age", "Date", "Pragma", "Location", "Connection",
		"Trailer", "Transfer-Encoding", "Upgrade", "Cache-Status", "Www-Authenticate", "Surrogate-Control":
		return true
	}
	return strings.HasPrefix(name, "Content-") || strings.HasSuffix(name, "Cache-Control")
}

// takeTags removes the headers that name tags from a response, and returns the tags. It reports
// false if one tag is invalid. Then the tag could not invalidate the response, so the response
// must not be stored.
func (c *Cache) takeTags(h http.Header) (tags []string, ok bool) {
	ok = true
	for _, name := range c.cfg.TagHeaders {
		for _, line := range h[name] {
			for _, tag := range splitTags(name, line) {
				ok = ok && invalidate.Tag(c.cfg.Tenant, tag).Validate() == nil
				tags = append(tags, tag)
			}
		}
		delete(h, name)
	}
	return tags, ok
}

// splitTags returns the tags that one line of a header names.
func splitTags(name, line string) (tags []string) {
	if name == "Surrogate-Key" {
		return strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' })
	}
	for tag := range strings.SplitSeq(line, ",") {
		if tag = strings.Trim(tag, " \t"); tag != "" {
			tags = append(tags, tag)
		}
	}
	return tags
}

// dropHeaders removes headers in any spelling. The names in hide are canonical.
func dropHeaders(h http.Header, hide []string) {
	if len(hide) == 0 {
		return
	}
	for name := range h {
		if slices.Contains(hide, http.CanonicalHeaderKey(name)) {
			delete(h, name)
		}
	}
}

// PurgeTags invalidates all entries that depend on one of the tags. That includes tags from
// cache.Depend, tags from a header of Config.TagHeaders, and tags of the entries that a page was
// built from. It also invalidates everything else in the Tiers that depends on the tags.
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
