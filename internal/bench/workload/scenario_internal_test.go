package workload

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/internal/bench/setup"
)

func TestCompareNamesWhatFailed(t *testing.T) {
	e := &Env{Rounds: 1, t: setup.New(t.Context()), ctx: t.Context()}
	defer e.Close()
	broken := errors.New("broken")
	err := setup.Try(func() {
		e.compare(&scenario{setting: "all"}, []contender{{name: "x", op: func(context.Context, int) error { return broken }}})
	})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "all, x: ") {
		t.Errorf("compare = %v, want x's %v", err, broken)
	}
}
