package digest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/gowebpki/jcs"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/digest/summary"
	"github.com/twofold-go/twofold/examples/internal/call"
)

// DigestKey is the cache key of a digest: hash/type/start/end, with the times in unix ms.
type DigestKey string

func keyOf(hash string, w Window) DigestKey {
	return DigestKey(fmt.Sprintf("%s/%s/%d/%d", hash, w.Kind, w.Start.UnixMilli(), w.End.UnixMilli()))
}

func hashTag(hash string) string { return "hash:" + hash }

// Digest is the cached value: a row of digest_cache. Callers share it and must not change it.
type Digest = store.CacheRow

// load returns a digest from its row or by a call. The cache remembers failures that have a code.
func (s *Service) load(ctx context.Context, user reader, w Window) (d Digest, origin Origin, err error) {
	deletion, err := s.store.LastDeletion(ctx) // a row that is deleted after this must not be written
	if err == nil {
		d, err = s.store.CacheRow(ctx, user.Hash, string(w.Kind), w.Start, w.End)
		origin = FromDatabase
	}
	if errors.Is(err, store.ErrNotFound) {
		d, origin, err = s.make(ctx, user, w)
		if err == nil {
			err = s.store.Write(ctx, func(tx *store.Tx) error {
				d, err = tx.PutCacheRow(ctx, d, deletion) // of two processes, the slower one returns the text of the first
				return err
			})
		}
	}
	if _, ok := errors.AsType[cache.Coder](err); err != nil && !ok {
		cache.Filling(ctx).NoStore()
	}
	return d, origin, err
}

func (s *Service) make(ctx context.Context, user reader, w Window) (Digest, Origin, error) {
	items, err := s.items(ctx, user, w, maxItems)
	if err != nil {
		return Digest{}, FromCall, err
	}
	now := s.store.Now()
	d := Digest{
		Hash: user.Hash, SourcesHash: user.SourcesHash, Type: string(w.Kind), PeriodStart: w.Start.UTC(), PeriodEnd: w.End.UTC(),
		State: store.StateEmpty, SourceIDs: user.SourceIDs, RawItemCount: len(items),
		CreatedAt: now.UTC(), ExpiresAt: now.Add(w.Kind.Retention()).UTC(),
	}
	meta := Metadata{Start: w.Start.UnixMilli(), End: w.End.UnixMilli(), Sources: d.SourceIDs, Options: user.Options}
	origin := FromItems
	if len(items) > 0 {
		origin = FromCall
		request, err := s.request(ctx, items, user.Options, w)
		if err != nil {
			return d, origin, err
		}
		got, err := s.call(ctx, request)
		if err != nil {
			return d, origin, err
		}
		d.State, d.Content, d.Model, d.Tokens = store.StateReady, got.Markdown, got.Model, got.Tokens
		meta.Dropped = got.Dropped
	}
	d.Metadata, err = json.Marshal(meta)
	return d, origin, err
}

const maxItems = 500

func (s *Service) items(ctx context.Context, user reader, w Window, limit int) ([]store.Item, error) {
	return s.store.Items(ctx, user.SourceIDs, w.Start, w.End, min(limit, maxItems))
}

func (s *Service) request(ctx context.Context, items []store.Item, o Options, w Window) (r summary.Request, err error) {
	r = summary.Request{
		Kind: string(w.Kind), Start: w.Start.In(s.calendar.zone), End: w.End.In(s.calendar.zone), Language: o.Language, Style: o.Style,
	}
	ids := make([]int64, len(items))
	for i, it := range items {
		ids[i] = it.SourceID
	}
	sources, err := s.store.Sources(ctx, ids)
	if err != nil {
		return r, err
	}
	names := make(map[int64]string, len(sources))
	for _, source := range sources {
		names[source.ID] = source.Name
	}
	for _, it := range items {
		r.Items = append(r.Items, summary.Item{
			Source: names[it.SourceID], Title: it.Title, URL: it.URL, Text: it.Content, Published: it.PublishedAt,
		})
	}
	return r, nil
}

type reader struct {
	SourceIDs   []int64
	SourcesHash string
	Hash        string // including the options
	Options     Options
}

func (s *Service) reader(ctx context.Context, req Request) (r reader, w Window, err error) {
	if _, err := ParseKind(string(req.Kind)); err != nil {
		return r, w, err
	}
	err = s.store.Read(ctx, func(db *store.Snapshot) error {
		subscribed, err := db.Subscriptions(ctx, req.UserID)
		if err != nil {
			return err
		}
		u, err := db.User(ctx, req.UserID)
		if err != nil {
			return err
		}
		r.SourceIDs, r.SourcesHash = subscribed.SourceIDs, subscribed.Hash
		r.Options, err = ParseOptions(u.Options)
		return err
	})
	if err != nil {
		return r, w, fmt.Errorf("digest: user %d: %w", req.UserID, err)
	}
	v := s.cfg.Summariser.Variant()
	r.Options.Model, r.Options.Prompt = v.Model, v.Prompt
	r.Hash, err = Hash(r.SourceIDs, r.Options)
	return r, s.calendar.LastClosed(req.Kind, s.store.Now()), err
}

// ErrOptions is wrapped by errors about invalid options.
var ErrOptions = errors.New("digest: bad options")

// Options are everything that the text depends on, except the items. If one were missing
// from the key, a user could get the text of another.
type Options struct {
	Language string `json:"language,omitempty"`       // summary.Chinese; empty means English
	Style    string `json:"style,omitempty"`          // summary.Brief or summary.Full
	Model    string `json:"model,omitempty"`          // of the summariser's variant
	Prompt   string `json:"prompt_version,omitempty"` // of the summariser's variant
}

// Hash returns the SHA-256 of the sorted ids, a bar, and the options in canonical JSON (RFC 8785).
func Hash(ids []int64, o Options) (string, error) {
	if o == (Options{}) {
		return store.Hash(ids), nil
	}
	data, err := json.Marshal(o)
	if err == nil {
		data, err = jcs.Transform(data)
	}
	sum := sha256.Sum256(slices.Concat(store.JoinIDs(ids), []byte{'|'}, data))
	return hex.EncodeToString(sum[:]), err
}

// ParseOptions parses the options of a user: a language and a style, and no other field.
func ParseOptions(data []byte) (o Options, err error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return o, nil
	}
	var user struct {
		Language string `json:"language"`
		Style    string `json:"style"`
	}
	if err := call.Strict(bytes.NewReader(data), &user); err != nil {
		return o, fmt.Errorf("%w: %w; the fields are language and style", ErrOptions, err)
	}
	if err := summary.CheckWishes(user.Language, user.Style); err != nil {
		return o, fmt.Errorf("%w: %w", ErrOptions, err)
	}
	if user.Language == summary.English {
		user.Language = ""
	}
	return Options{Language: user.Language, Style: user.Style}, nil
}
