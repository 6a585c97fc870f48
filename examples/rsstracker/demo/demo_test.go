package demo_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/twofold-go/twofold/examples/rsstracker/demo"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestDemo plays all ten runs, which check themselves, and looks at what is printed.
func TestDemo(t *testing.T) {
	dir, out := t.TempDir(), &strings.Builder{}
	if err := demo.Run(t.Context(), demo.Options{Dir: dir, Out: out}); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		`(?m)^run +new +changed +pending +skipped +failed +fetches +saved +published$`,
		`(?m)^3   nothing new +0 +0 +0 +505 +0 +1 +55 +0$`,
		`(?m)^7 .* killed before it published$`,
		`(?m)^10  1 % new +5 +0 +0 +518 +0 +7 +49 +5$`,
		`(?m)^fetches +171 +23 +87%$`,
		`(?m)^bytes +\d+ +\d+ +(7|8)\d%$`,
		`(?m)^The feed: ` + regexp.QuoteMeta(filepath.Join(dir, "demo", "rss.xml")) + `$`,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("no line like %s in\n%s", want, out)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "demo", "feed.json")); err != nil {
		t.Error(err)
	}
}

// TestPromise: a figure that is missed is an error, and so ends the program with one.
func TestPromise(t *testing.T) {
	for incremental, ok := range map[int]bool{10: true, 30: true, 31: false, 100: false, 200: false} {
		if err := demo.Compare(io.Discard, 100, incremental); errors.Is(err, demo.ErrPromise) == ok {
			t.Errorf("%d instead of 100: %v", incremental, err)
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := demo.Run(ctx, demo.Options{Dir: t.TempDir(), Out: io.Discard}); !errors.Is(err, context.Canceled) {
		t.Errorf("Run = %v", err)
	}
}
