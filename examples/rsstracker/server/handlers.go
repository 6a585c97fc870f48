package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/examples/rsstracker/feed"
	"github.com/twofold-go/twofold/examples/rsstracker/state"
)

// feed answers with a feed: 200, or 304 to a reader that has it.
func (s *Server) feed(w http.ResponseWriter, r *http.Request, f feed.Format) {
	site, ok := s.sites[r.PathValue("site")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	res, err := s.feeds.Fetch(r.Context(), site.key(f), nil)
	out := res.Value
	var status string
	switch {
	case err == nil && res.Stale: // served for want of a fresh one, for the policy allows no other
		status = fmt.Sprintf("rsstracker; hit; ttl=-%d; detail=database", int(res.Age.Seconds()))
	case err == nil && res.Source == cache.Load:
		status = "rsstracker; fwd=miss; stored"
	case err == nil:
		status = "rsstracker; hit"
	default:
		if out, err = s.lastResort(r, site, f, err); err != nil {
			w.Header().Set("Retry-After", "60")
			http.Error(w, "The feed is not ready yet.", http.StatusServiceUnavailable)
			return
		}
		status = "rsstracker; hit; ttl=-1; detail=file"
	}
	w.Header().Set("Cache-Status", status) // RFC 9211; a negative ttl says stale
	send(w, r, out)
}

// lastResort returns the last good feed when neither the database nor the cache has
// one.
func (s *Server) lastResort(r *http.Request, site Site, f feed.Format, cause error) (feed.Rendered, error) {
	out, err := s.lastFile(site, f)
	if err != nil {
		s.cfg.Log.ErrorContext(r.Context(), "no feed to serve", "site", site.Name, "err", errors.Join(cause, err))
	} else {
		s.cfg.Log.WarnContext(r.Context(), "serving the last good feed", "site", site.Name, "err", cause)
	}
	return out, err
}

// send writes a feed, compressed if the reader takes that. net/http does the
// conditions; ranges of a feed make no sense.
func send(w http.ResponseWriter, r *http.Request, out feed.Rendered) {
	h, body, tag := w.Header(), out.Body, out.ETag
	if acceptsGzip(r.Header.Values("Accept-Encoding")) {
		body, tag = out.Gzip, out.GzipETag
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Content-Type", out.Format.ContentType())
	h.Set("Cache-Control", "public, max-age=300")
	h.Set("Vary", "Accept-Encoding")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("ETag", tag)
	r = r.Clone(r.Context())
	r.Header.Del("Range")
	http.ServeContent(w, r, "", out.Modified, bytes.NewReader(body))
}

// acceptsGzip reports whether a reader takes gzip (RFC 9110, section 12.5.3).
func acceptsGzip(values []string) bool {
	others, named := false, -1.0
	for part := range strings.SplitSeq(strings.Join(values, ","), ",") {
		name, params, _ := strings.Cut(strings.ToLower(strings.TrimSpace(part)), ";")
		q := 1.0
		if v, ok := strings.CutPrefix(strings.TrimSpace(params), "q="); ok {
			q, _ = strconv.ParseFloat(strings.TrimSpace(v), 64)
		}
		switch strings.TrimSpace(name) {
		case "gzip", "x-gzip":
			named = q
		case "*":
			others = q > 0
		}
	}
	return named > 0 || named < 0 && others
}

// health is what /healthz says of a site.
type health struct {
	Site        string    `json:"site"`
	LastSuccess time.Time `json:"last_success,omitzero"`
	Age         int       `json:"age_seconds,omitempty"`
	Stale       bool      `json:"stale"`
}

// health answers 503 when a feed has not been brought up to date for long: a tracker
// that has stopped goes on serving what it had, and somebody has to notice.
func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	all, status := []health{}, http.StatusOK
	store, err := s.cfg.Keeper.Store(r.Context())
	if err != nil {
		reply(w, http.StatusServiceUnavailable, map[string]any{"error": "the database does not answer", "sites": all})
		return
	}
	for _, site := range s.cfg.Sites {
		h := health{Site: site.Name}
		known, err := store.Site(r.Context(), site.Name)
		switch {
		case errors.Is(err, state.ErrNoSite):
			h.Stale = site.MaxAge > 0
		case err != nil:
			reply(w, http.StatusServiceUnavailable, map[string]any{"error": "the database does not answer", "sites": all})
			return
		default:
			h.LastSuccess = known.LastSuccess
			age := s.cfg.Now().Sub(known.LastSuccess)
			h.Stale = site.MaxAge > 0 && (known.LastSuccess.IsZero() || age > site.MaxAge)
			if !known.LastSuccess.IsZero() {
				h.Age = int(age.Seconds())
			}
		}
		if h.Stale {
			status = http.StatusServiceUnavailable
		}
		all = append(all, h)
	}
	reply(w, status, map[string]any{"sites": all})
}

func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	store, err := s.cfg.Keeper.Store(r.Context())
	if err == nil {
		err = store.Ping(r.Context())
	}
	if err != nil {
		reply(w, http.StatusServiceUnavailable, map[string]any{"ready": false})
		return
	}
	reply(w, http.StatusOK, map[string]any{"ready": true})
}

// stats answers with the numbers of one site, or of all.
func (s *Server) stats(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("site")
	if _, ok := s.sites[name]; name != "" && !ok {
		http.NotFound(w, r)
		return
	}
	store, err := s.cfg.Keeper.Store(r.Context())
	if err != nil {
		reply(w, http.StatusServiceUnavailable, map[string]any{"error": "the database does not answer"})
		return
	}
	all := []state.Stats{}
	for _, site := range s.cfg.Sites {
		if name != "" && name != site.Name {
			continue
		}
		st, err := store.Stats(r.Context(), site.Name, s.cfg.Now())
		if err != nil && !errors.Is(err, state.ErrNoSite) {
			s.cfg.Log.ErrorContext(r.Context(), "no statistics", "site", site.Name, "err", err)
			reply(w, http.StatusServiceUnavailable, map[string]any{"error": "the database does not answer"})
			return
		}
		st.Site = site.Name
		all = append(all, st)
	}
	c := s.cfg.Tiers.Stats().Total
	reply(w, http.StatusOK, map[string]any{
		"sites": all,
		"cache": map[string]int64{"local_hits": c.LocalHits, "remote_hits": c.RemoteHits, "misses": c.Misses, "merged": c.Merged, "stale_on_error": c.StaleOnError, "negatives": c.Negatives},
	})
}

// index lists the feeds.
func (s *Server) index(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	for _, site := range s.cfg.Sites {
		for _, f := range feed.Formats {
			fmt.Fprintf(w, "/%s/%s\n", site.Name, f.File())
		}
	}
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(v) // who does not read it any more needs no telling
}
