package demo_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/twofold-go/twofold/examples/digest/app"
	"github.com/twofold-go/twofold/examples/digest/demo"
	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/digest/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// run runs a demonstration, and returns its output. It must leave no file.
func run(t *testing.T, ctx context.Context, cfg demo.Config) (string, error) { //nolint:revive // t first, as everywhere in tests
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	var out strings.Builder
	cfg.Out = &out
	err := demo.Run(ctx, cfg)
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) != 0 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
	return out.String(), err
}

// No promise is missed, each step names its call, and a named database stays.
func TestRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "digest.db")
	out, err := run(t, t.Context(), demo.Config{Users: 100, DB: path})
	if err != nil || strings.Contains(out, "MISSED") {
		t.Errorf("%v after\n%s", err, out)
	}
	for _, want := range []string{
		"single flight", "invalidate.Tag", "remote tier", "100 users subscribe to 10 sources", "$0.",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("there is no %q in\n%s", want, out)
		}
	}
	st := storetest.Open(t, path, nil)
	user, err := st.UserBySlug(t.Context(), "user0")
	if err != nil {
		t.Error(err)
	}
	rows, err := st.Digests(t.Context(), user.ID, string(digest.Daily), 5)
	if err != nil || len(rows) != 1 || !strings.HasPrefix(rows[0].Content, "# Daily digest") {
		t.Errorf("%d digests, %v, want one of the day", len(rows), err)
	}
	if _, err := run(t, t.Context(), demo.Config{DB: path}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("on an existing database: %v, want %v", err, fs.ErrExist)
	}
}

// A missed promise is reported, and the run fails.
func TestMissedPromises(t *testing.T) {
	meddle := func(ctx context.Context, step string, a *app.App) error {
		st := a.Store
		switch step {
		case "elsewhere": // the digests are deleted, so they are paid again
			_, err := a.Digests.Forget(ctx, store.CacheSelection{All: true}, "test")
			return err
		case "daily": // one of the readers is deleted
			user, err := st.UserBySlug(ctx, "user0")
			if err != nil {
				return err
			}
			return st.Write(ctx, func(tx *store.Tx) error { return tx.DeleteUser(ctx, user.ID) })
		}
		return nil
	}
	out, err := run(t, t.Context(), demo.Config{Users: 20, Meddle: meddle})
	if !errors.Is(err, demo.ErrMissed) || !strings.Contains(err.Error(), "2 steps") {
		t.Errorf("%v, want ErrMissed by 2 steps", err)
	}
	for _, want := range []string{"calls, want 0", "0 of 20 users have no digest"} {
		if !strings.Contains(out, want) {
			t.Errorf("there is no %q in\n%s", want, out)
		}
	}
	if out, err = run(t, t.Context(), demo.Config{Users: 20, Meddle: func(context.Context, string, *app.App) error { return fs.ErrInvalid }}); !errors.Is(err, fs.ErrInvalid) || errors.Is(err, demo.ErrMissed) {
		t.Errorf("%v after\n%s", err, out)
	}
}

// first calls told when the first line is printed.
type first struct{ told func() }

func (f first) Write(b []byte) (int, error) {
	f.told()
	return len(b), nil
}

// The first line is printed before the database is opened. A cancelled demonstration stops.
func TestFirstLineAndCancel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "digest.db")
	ctx, cancel := context.WithCancel(t.Context())
	lines := 0
	err := demo.Run(ctx, demo.Config{Users: 20, DB: path, Out: first{func() {
		if _, err := os.Stat(path); lines == 0 && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the first line comes after the database was opened: %v", err)
		}
		if lines++; lines == 2 {
			cancel()
		}
	}}})
	if !errors.Is(err, context.Canceled) || errors.Is(err, demo.ErrMissed) || lines != 2 {
		t.Errorf("%v after %d lines, want Canceled after 2", err, lines)
	}
}

func TestConfig(t *testing.T) {
	for _, users := range []int{-1, 9, 100_001} {
		if _, err := run(t, t.Context(), demo.Config{Users: users}); err == nil || !strings.Contains(err.Error(), fmt.Sprint("not ", users)) {
			t.Errorf("%d users: %v, want an error that names them", users, err)
		}
	}
	if _, err := run(t, t.Context(), demo.Config{DB: filepath.Join(t.TempDir(), "no", "where")}); err == nil || errors.Is(err, demo.ErrMissed) {
		t.Errorf("a database nowhere: %v, want that it cannot be opened", err)
	}
}
