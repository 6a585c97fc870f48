package sqllog_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/twofold-go/twofold/internal/sqltext"
	"github.com/twofold-go/twofold/invalidate/sqllog"
)

// state is an error like those of the PostgreSQL drivers.
type state string

func (s state) Error() string    { return "ERROR: something" }
func (s state) SQLState() string { return string(s) }

// The log recognizes the errors of all drivers, and imports none of them.
func TestErrorsAreExplained(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		err, want error
	}{
		{state("42P01"), sqllog.ErrSchema},
		{state("42703"), sqllog.ErrSchema},
		{errors.New("SQL logic error: no such table: twofold_meta (1)"), sqllog.ErrSchema},
		{errors.New("Error 1146 (42S02): Table 'a.twofold_meta' doesn't exist"), sqllog.ErrSchema},
		{state("25006"), sqllog.ErrStandby},
		{errors.New("attempt to write a readonly database (8)"), sqllog.ErrStandby},
		{errors.New("Error 1290 (HY000): The MariaDB server is running with the --read-only option"), sqllog.ErrStandby},
		{state("42501"), sqllog.ErrRights},
		{errors.New("Error 1142 (42000): INSERT command denied"), sqllog.ErrRights},
		{state("42P05"), sqltext.ErrPooled},
		{state("26000"), sqltext.ErrPooled},
	} {
		got := sqllog.Explain(fmt.Errorf("wrapped: %w", tc.err))
		if !errors.Is(got, tc.want) || !errors.Is(got, tc.err) {
			t.Errorf("%v is %v, want %v that wraps it", tc.err, got, tc.want)
		}
		if again := sqllog.Explain(got); again.Error() != got.Error() {
			t.Errorf("explained twice: %v", again)
		}
	}
	other := errors.New("connection refused")
	if got := sqllog.Explain(other); !errors.Is(got, other) || got.Error() != other.Error() {
		t.Errorf("another error = %v, want it as it was", got)
	}
	for _, tc := range []struct {
		a, b string
		same bool
	}{
		{"uuid/100", "uuid/100", true}, {"uuid/100", "uuid/102", true}, {"uuid/100", "uuid/98", true}, {"", "", true},
		{"uuid/100", "uuid/103", false}, {"uuid/100", "other/100", false}, {"uuid/100", "", false}, {"uuid/x", "uuid/100", false},
	} {
		if got := sqllog.SameServer(tc.a, tc.b); got != tc.same {
			t.Errorf("servers %q and %q: same = %v, want %v", tc.a, tc.b, got, tc.same)
		}
	}
}
