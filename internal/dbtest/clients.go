package dbtest

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
)

// Run runs a client program of the server's version, such as pg_dump, and waits for its end. It runs
// in the server's folder, as the server's user. It needs the argument of [PostgresServer.DSN].
func (s *PostgresServer) Run(program string, args ...string) error {
	return run(s.proc.as, s.proc.dir, filepath.Join(s.bin, program), args...)
}

// Run runs a client program, such as mariadb-dump, and waits for its end. It runs in the server's
// folder, as the server's user. Run adds the arguments to connect. The error wraps
// [ErrNotInstalled] if the program is missing.
func (s *MariaDBServer) Run(program string, args ...string) error {
	path, err := exec.LookPath(program)
	if err != nil {
		return fmt.Errorf("dbtest: %s is %w: install the clients of MariaDB", program, ErrNotInstalled)
	}
	connect := []string{"--no-defaults", "--host=127.0.0.1", "--port=" + strconv.Itoa(s.proc.Port), "--user=root"}
	return run(s.proc.as, s.proc.dir, path, append(connect, args...)...)
}
