package sqllogtest_test

import (
	"context"
	"database/sql/driver"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/stdlib"
)

// moving connects to a primary whose address changes.
type moving struct {
	primary string
	to      atomic.Pointer[string]
}

func (m *moving) connector(t *testing.T) driver.Connector {
	t.Helper()
	return m
}

// Connect connects to the current primary.
func (m *moving) Connect(ctx context.Context) (driver.Conn, error) {
	dsn := m.primary
	if to := m.to.Load(); to != nil {
		dsn = *to
	}
	c, err := stdlib.GetDefaultDriver().(driver.DriverContext).OpenConnector(dsn) //nolint:forcetypeassert // it is one
	if err != nil {
		return nil, err
	}
	return c.Connect(ctx)
}

// Driver returns the driver of pgx.
func (m *moving) Driver() driver.Driver { return stdlib.GetDefaultDriver() }
