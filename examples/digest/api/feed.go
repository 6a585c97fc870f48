package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/digest/summary"
)

// feedSize is how many digests a feed has.
const feedSize = 20

// stream is what all formats of a user's feed are made from. Nothing in it depends on
// when it is read, so that the same digests give the same bytes.
type stream struct {
	Title   string
	URL     string // of the page
	Entries []entry
	updated time.Time // the newest of theirs: a feed has no time of its own
}

// entry is a digest in a feed.
type entry struct {
	ID      string // where it is on the page
	Title   string
	Period  string
	HTML    template.HTML
	Created time.Time
}

// period is what a digest's metadata say of its period and its sources.
type period struct {
	Start   int64   `json:"period_start"` // unix ms
	End     int64   `json:"period_end"`
	Hash    string  `json:"subscription_hash"`
	Sources []int64 `json:"source_ids"` // none: nobody knows
}

// feed serves /feed/{slug}, and the same with .rss and .json at its end: a slug of that
// form would be another user's feed, and has none of its own.
func (a *api) feed(w http.ResponseWriter, r *http.Request) {
	write := formats[""]
	slug := r.PathValue("slug")
	if name, ext, ok := cutExt(slug); ok {
		slug, write = name, formats[ext]
	}
	who, err := a.identify(r)
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	s, err := a.stream(r.Context(), who, slug)
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	body, err := write.body(s)
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	serve(w, r, write.contentType, body)
}

// cutExt splits a format off a slug.
func cutExt(slug string) (name, ext string, ok bool) {
	for ext := range formats {
		if name, ok := strings.CutSuffix(slug, ext); ok && ext != "" {
			return name, ext, true
		}
	}
	return slug, "", false
}

// serve answers with the body, or that it has not changed. There is no Last-Modified: a
// source that becomes private takes digests away, and nothing is newer for it.
func serve(w http.ResponseWriter, r *http.Request, contentType string, body []byte) {
	sum := sha256.Sum256(body)
	h := w.Header()
	h.Set("ETag", `"`+hex.EncodeToString(sum[:16])+`"`)
	h.Set("Content-Type", contentType)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Vary", "Authorization")
	h.Set("Cache-Control", "no-cache")
	if r.Header.Get("Authorization") != "" {
		h.Set("Cache-Control", "private, no-cache")
	}
	h.Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

// stream reads a user's digests, the newest first. Whoever is not the user gets those
// alone that are made of public sources.
func (a *api) stream(ctx context.Context, who caller, slug string) (s stream, err error) {
	err = a.Store.Read(ctx, func(db *store.Snapshot) error {
		user, err := db.UserBySlug(ctx, slug)
		if err != nil {
			return err
		}
		s = stream{Title: "Digests of " + user.Name, URL: a.BaseURL + "/feed/" + url.PathEscape(user.Slug)}
		list, err := db.Digests(ctx, user.ID, "", feedSize)
		if err != nil {
			return err
		}
		public := map[string]bool{}
		for _, d := range list {
			var p period
			if err := json.Unmarshal(d.Metadata, &p); err != nil {
				return fmt.Errorf("api: metadata of digest %d: %w", d.ID, err)
			}
			if who.user.ID != user.ID {
				if ok, err := isPublic(ctx, db, p, public); err != nil || !ok {
					if err != nil {
						return err
					}
					continue
				}
			}
			if err := s.add(a, d, p); err != nil {
				return err
			}
		}
		return nil
	})
	return s, err
}

// isPublic reports whether all sources that a digest was made of are public now. A digest
// says itself which these were, so that feeds stay what they are when the cache is cleaned
// or deleted. Of one that does not say nobody can tell, so it is not.
func isPublic(ctx context.Context, db *store.Snapshot, p period, known map[string]bool) (bool, error) {
	if public, ok := known[p.Hash]; ok {
		return public, nil // the same sources, of one moment
	}
	if len(p.Sources) == 0 {
		return false, nil
	}
	sources, err := db.Sources(ctx, p.Sources)
	if err != nil {
		return false, err
	}
	private := func(s store.Source) bool { return !s.Public }
	known[p.Hash] = len(sources) == len(p.Sources) && !slices.ContainsFunc(sources, private)
	return known[p.Hash], nil
}

func (s *stream) add(a *api, d store.Digest, p period) error {
	body, err := summary.HTML(d.Content)
	if err != nil {
		return err
	}
	start, end := time.UnixMilli(p.Start).In(a.Location), time.UnixMilli(p.End).In(a.Location)
	const minutes = "2 Jan 2006 15:04"
	s.Entries = append(s.Entries, entry{
		ID: fmt.Sprint("digest-", d.ID), Title: title(digest.Kind(d.Type), start), HTML: template.HTML(printable(string(body))), //nolint:gosec // made safe by summary.HTML
		Period: start.Format(minutes) + " to " + end.Format(minutes), Created: d.CreatedAt.UTC(),
	})
	if d.CreatedAt.After(s.updated) {
		s.updated = d.CreatedAt.UTC()
	}
	return nil
}

func title(k digest.Kind, start time.Time) string {
	switch k {
	case digest.FourHours:
		return "Four hours from " + start.Format("2 Jan 2006 15:04")
	case digest.Weekly:
		return "Week of " + start.Format("2 Jan 2006")
	case digest.Monthly:
		return start.Format("January 2006")
	case digest.Daily:
	}
	return start.Format("Monday, 2 Jan 2006")
}

// printable drops the characters that XML 1.0 has no way to write, section 2.2: one of
// them, and no reader takes the whole feed.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' && r != '\r' || r == 0xFFFE || r == 0xFFFF {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}
