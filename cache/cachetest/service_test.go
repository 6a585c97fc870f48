package cachetest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/cachetest"
	"github.com/twofold-go/twofold/policy"
)

var errDown = errors.New("the database is down")

// database is the source of the service under test.
type database struct {
	names map[int64]string
	down  bool
	loads int
}

// Service looks up users.
type Service struct{ users cache.Cache[int64, string] }

func NewService(tiers *cache.Tiers, db *database) (*Service, error) {
	users, err := cache.New(tiers, cache.Config[int64, string]{
		Namespace: "users",
		LoadMany: func(_ context.Context, ids []int64) (map[int64]string, error) {
			db.loads++
			if db.down {
				return nil, errDown
			}
			found, failed := map[int64]string{}, map[int64]error{}
			for _, id := range ids {
				switch name, ok := db.names[id]; {
				case id < 0:
					failed[id] = fmt.Errorf("no shard for %d", id)
				case ok:
					found[id] = name
				}
			}
			return found, cache.KeyErrors(failed)
		},
		Policy: policy.Patch{TTL: new(time.Minute), NegativeTTL: new(time.Second), StaleIfError: new(time.Hour)},
	})
	return &Service{users}, err
}

func (s *Service) Name(ctx context.Context, id int64) (string, error) { return s.users.Get(ctx, id) }

// start opens the service in several processes on one database.
func start(t *testing.T, processes int) (*cachetest.Fleet, []*Service, *database) {
	fleet, db := cachetest.OpenFleet(t, processes), &database{names: map[int64]string{1: "Ada"}}
	services := make([]*Service, processes)
	for i := range services {
		var err error
		if services[i], err = NewService(fleet.Tiers[i], db); err != nil {
			t.Fatal(err)
		}
	}
	return fleet, services, db
}

func wantName(t *testing.T, s *Service, id int64, want string, wantErr error) {
	t.Helper()
	if got, err := s.Name(t.Context(), id); got != want || !errors.Is(err, wantErr) {
		t.Errorf("Name(%d) = %q, %v; want %q, %v", id, got, err, want, wantErr)
	}
}

func TestTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, s, db := start(t, 1)
		wantName(t, s[0], 1, "Ada", nil)
		db.names[1] = "Ada L."
		time.Sleep(time.Minute - time.Second)
		wantName(t, s[0], 1, "Ada", nil)
		time.Sleep(time.Second)
		wantName(t, s[0], 1, "Ada L.", nil)
	})
}

func TestAbsence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, s, db := start(t, 1)
		wantName(t, s[0], 2, "", cache.ErrNotFound)
		wantName(t, s[0], 2, "", cache.ErrNotFound)
		if db.loads != 1 {
			t.Errorf("%d loads, want 1: the absence is remembered", db.loads)
		}
		db.names[2] = "Bob"
		time.Sleep(time.Second)
		wantName(t, s[0], 2, "Bob", nil)
	})
}

func TestFailingSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, s, db := start(t, 1)
		wantName(t, s[0], 1, "Ada", nil)
		db.down = true
		time.Sleep(2 * time.Minute)
		wantName(t, s[0], 1, "Ada", nil) // StaleIfError
		wantName(t, s[0], 2, "", errDown)
		time.Sleep(2 * time.Hour)
		wantName(t, s[0], 1, "", errDown)
	})
}

func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet, s, _ := start(t, 1)
		fleet.CutOff()
		wantName(t, s[0], 1, "Ada", nil) // from the source
		fleet.Restore()
	})
}

func TestOtherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet, s, db := start(t, 2)
		wantName(t, s[0], 1, "Ada", nil)
		wantName(t, s[1], 1, "Ada", nil)
		db.names[1] = "Ada L."
		if err := s[0].users.Delete(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if err := fleet.CatchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantName(t, s[1], 1, "Ada L.", nil)
	})
}

func TestFailedKey(t *testing.T) {
	_, s, _ := start(t, 1) // it also works outside a bubble
	names, err := s[0].users.GetMany(t.Context(), []int64{1, 2, -3})
	var failed *cache.BatchError[int64]
	if !errors.As(err, &failed) || len(failed.Errs) != 1 || failed.Errs[-3] == nil {
		t.Errorf("GetMany fails with %v, want an error for -3 alone", err)
	}
	if len(names) != 1 || names[1] != "Ada" {
		t.Errorf("GetMany = %v, want Ada", names)
	}
}
