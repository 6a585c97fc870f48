package upgrade_test

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/digest/store/storetest"
	"github.com/twofold-go/twofold/examples/internal/sqlite"
)

// The files of testdata were made by these commits: an import, a fetch of a feed with three
// items, a digest of Ann, and in 41b6d4d also rows of digest_cache in three states.
func TestDigest(t *testing.T) {
	start, end := time.UnixMilli(1795363200000), time.UnixMilli(1795449600000)
	clock := storetest.NewClock(end.Add(time.Hour))
	for version, ready := range map[string]bool{"41b6d4d": true, "f4a1850": false} {
		t.Run(version, func(t *testing.T) {
			ctx := t.Context()
			path := restore(t, filepath.Join("../../../digest/store/testdata", version+".sql"))
			orphan(t, path)
			s, err := store.Open(ctx, path, store.Options{Now: clock.Now})
			if err != nil {
				t.Fatal(err)
			}
			if all, err := s.AllSources(ctx); err != nil || !all[len(all)-1].Deleted || all[0].Deleted {
				t.Errorf("AllSources = %+v, %v; want only the last deleted, whose owner was deleted", all, err)
			}
			if ann, err := s.UserBySlug(ctx, "ann"); err != nil || len(ann.APIKeyHash) != 32 {
				t.Errorf("UserBySlug = %+v, %v", ann, err)
			}
			if wrong, err := s.Verify(ctx, false); err != nil || len(wrong) > 0 {
				t.Errorf("Verify = %+v, %v", wrong, err)
			}
			items, err := s.Items(ctx, []int64{1}, start, clock.Now().AddDate(1, 0, 0), 10)
			if err != nil || len(items) != 3 || items[0].Title != "News 0" {
				t.Errorf("Items = %+v, %v", items, err)
			}
			err = s.Write(ctx, func(tx *store.Tx) error {
				added, err := tx.AddItems(ctx, 2, []store.Item{{GUID: "x", URL: "https://e.com/2"}, {GUID: "https://e.com/3"}, {URL: "https://e.com/4"}})
				if added.New > 0 {
					t.Errorf("known items count as new: %+v", added)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
			mine, err := s.DigestOf(ctx, 1, "daily", start, end)
			if err != nil || mine.Content != "# Of "+version {
				t.Errorf("DigestOf = %+v, %v", mine, err)
			}
			if row, err := s.CacheRow(ctx, "h1", "daily", start, end); (err == nil) != ready || ready && (row.Content != "# Of 41b6d4d" || row.Tokens != 7) {
				t.Errorf("CacheRow(ready) = %+v, %v", row, err)
			}
			err = s.Write(ctx, func(tx *store.Tx) error {
				row := store.CacheRow{
					Hash: "h3", SourcesHash: "s3", Type: "daily", PeriodStart: start, PeriodEnd: end,
					State: store.StateReady, Content: "new", CreatedAt: end, ExpiresAt: end.AddDate(1, 0, 0),
				}
				if _, err := tx.PutCacheRow(ctx, row, 0); err != nil {
					return err
				}
				_, err := tx.DeleteCache(ctx, store.CacheSelection{Hash: "h3"})
				return err
			})
			if err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			upgraded, fresh := schema(t, path), schema(t, storetest.Path(t))
			slices.Sort(upgraded)
			slices.Sort(fresh)
			if diff := cmp.Diff(fresh, upgraded); diff != "" {
				t.Errorf("schema (-new +upgraded)\n%s", diff)
			}
		})
	}
}

// orphan adds what remained of a deleted user: a private source without an owner, with items whose
// keys had another form.
func orphan(t *testing.T, path string) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Writer.ExecContext(t.Context(), `INSERT INTO sources (name, type, is_public, created_at, updated_at) VALUES ('hers', 'rss', 0, 1, 1);
		INSERT INTO raw_items (source_id, item_key, guid, url, content_hash, fetched_at, last_seen_at) VALUES
			(2, 'guid:x https://e.com/1', 'x https://e.com/1', 'https://e.com/1', '', 1, 1), (2, 'guid:x https://e.com/2', 'x https://e.com/2', 'https://e.com/2', '', 1, 1),
			(2, 'guid:https://e.com/3', 'https://e.com/3', '', '', 1, 1), (2, 'url:https://e.com/4', '', 'https://e.com/4', '', 1, 1)`)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}
