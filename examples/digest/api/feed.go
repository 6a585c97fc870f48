package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/feeds"

	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/digest/summary"
	"github.com/twofold-go/twofold/examples/internal/xmltext"
)

const feedSize = 20

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"anchor": func(href string) string { return href[strings.LastIndexByte(href, '#')+1:] },
	"safe":   func(html string) template.HTML { return template.HTML(html) }, //nolint:gosec // summary.HTML has sanitised it
}).Parse(pageText))

// feed serves /feed/{slug} as HTML and /feed/{slug}.rss as RSS. No slug ends in .rss.
func (a *api) feed(w http.ResponseWriter, r *http.Request) {
	slug, rss := strings.CutSuffix(r.PathValue("slug"), ".rss")
	who, err := a.identify(r)
	var f *feeds.Feed
	if err == nil {
		f, err = a.stream(r.Context(), who, slug)
	}
	var b bytes.Buffer
	kind := "text/html; charset=utf-8"
	switch {
	case err != nil:
	case rss:
		kind = "application/rss+xml; charset=utf-8"
		err = f.WriteRss(&b)
	default:
		err = page.Execute(&b, f)
	}
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	serve(w, r, kind, b.Bytes())
}

// serve sends no Last-Modified: a source that becomes private removes digests, but no date changes.
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

// stream returns a user's digests, newest first. Others get only those whose sources are all
// public, and those that an operator stored for all.
func (a *api) stream(ctx context.Context, who caller, slug string) (f *feeds.Feed, err error) {
	err = a.Store.Read(ctx, func(db *store.Snapshot) error {
		user, err := db.UserBySlug(ctx, slug)
		if err != nil {
			return err
		}
		f = &feeds.Feed{
			Title: xmltext.Text("Digests of " + user.Name), Description: "The latest digests",
			Link: &feeds.Link{Href: a.BaseURL + "/feed/" + url.PathEscape(user.Slug)},
		}
		all, err := db.Digests(ctx, user.ID, "", feedSize)
		for _, d := range all {
			var p digest.Metadata
			if err := json.Unmarshal(d.Metadata, &p); err != nil {
				return fmt.Errorf("api: metadata of digest %d: %w", d.ID, err)
			}
			if who.user.ID != user.ID && !p.Public {
				if public, err := isPublic(ctx, db, p.Sources); err != nil {
					return err
				} else if !public {
					continue
				}
			}
			if err := a.add(f, d, p); err != nil {
				return err
			}
		}
		return err
	})
	return f, err
}

// isPublic reports whether all sources of a digest are public now. Without sources it is not.
func isPublic(ctx context.Context, db *store.Snapshot, ids []int64) (bool, error) {
	sources, err := db.Sources(ctx, ids)
	private := slices.ContainsFunc(sources, func(s store.Source) bool { return !s.Public })
	return len(ids) > 0 && len(sources) == len(ids) && !private, err
}

func (a *api) add(f *feeds.Feed, d store.Digest, p digest.Metadata) error {
	body, err := summary.HTML(d.Content)
	if err != nil {
		return err
	}
	zone := a.Digests.Location()
	start, end := time.UnixMilli(p.Start).In(zone), time.UnixMilli(p.End).In(zone)
	if p.End == 0 { // an operator stored it
		start, end = d.CreatedAt.In(zone), d.CreatedAt.In(zone)
	}
	const minutes = "2 Jan 2006 15:04"
	where := fmt.Sprintf("%s#digest-%d", f.Link.Href, d.ID)
	f.Items = append(f.Items, &feeds.Item{
		Id: where, IsPermaLink: "true", Title: title(digest.Kind(d.Type), start), Link: &feeds.Link{Href: where},
		Description: start.Format(minutes) + " to " + end.Format(minutes), Content: xmltext.Text(string(body)), Created: d.CreatedAt.UTC(),
	})
	if d.CreatedAt.After(f.Updated) {
		f.Updated = d.CreatedAt.UTC()
	}
	return nil
}

func title(k digest.Kind, start time.Time) string {
	return start.Format(map[digest.Kind]string{
		digest.FourHours: "Four hours from 2 Jan 2006 15:04", digest.Daily: "Monday, 2 Jan 2006",
		digest.Weekly: "Week of 2 Jan 2006", digest.Monthly: "January 2006",
	}[k])
}
