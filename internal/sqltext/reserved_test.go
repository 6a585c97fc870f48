package sqltext_test

import (
	"testing"

	"github.com/twofold-go/twofold/internal/sqltext"
)

func TestReserved(t *testing.T) {
	for _, tt := range []struct {
		dialect, name string
		want          bool
	}{
		{"postgres", "order", true}, {"postgres", "User", true}, {"postgres", "order.cells", true}, {"postgres", "app.order", false},
		{"sqlite", "Index", true}, {"sqlite", "user", false}, {"mariadb", "keys", true}, {"postgres", "keys", false},
		{"postgres", "twofold_cells", false}, {"sqlite", "twofold_log", false}, {"mariadb", "twofold_outbox", false}, {"", "order", false},
	} {
		if got := sqltext.Reserved(tt.dialect, tt.name); got != tt.want {
			t.Errorf("Reserved(%s, %s) = %v, want %v", tt.dialect, tt.name, got, tt.want)
		}
	}
}
