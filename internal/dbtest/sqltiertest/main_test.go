package sqltiertest_test

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/twofold-go/twofold/internal/dbtest"
)

// One server is enough for all tests except those that stop it. It starts with the first test that
// needs it.
var (
	server     *dbtest.PostgresServer
	serverErr  error
	serverOnce sync.Once
)

func TestMain(m *testing.M) {
	code := m.Run()
	if server != nil {
		if err := server.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func postgres(t testing.TB) *dbtest.PostgresServer {
	t.Helper()
	serverOnce.Do(func() { server, serverErr = dbtest.StartPostgres("") })
	if errors.Is(serverErr, dbtest.ErrNotInstalled) && os.Getenv("CI") == "" {
		t.Skip(serverErr)
	}
	if serverErr != nil {
		t.Fatal(serverErr)
	}
	return server
}
