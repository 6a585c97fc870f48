package dbtest

import (
	"context"
	"fmt"
	"path/filepath"
	"time"
)

// Standby starts a second server that follows this one by streaming replication and accepts reads.
// It shows each commit after delay at the earliest; 0 means as soon as possible. It ends with this
// server.
func (s *PostgresServer) Standby(delay time.Duration) (*PostgresServer, error) {
	settings := append([]string{fmt.Sprintf("recovery_min_apply_delay=%dms", delay.Milliseconds())}, s.settings...)
	b, err := newPostgres("", settings)
	if err != nil {
		return nil, err
	}
	s.standbys = append(s.standbys, b)
	err = run(b.proc.as, b.proc.dir, filepath.Join(s.bin, "pg_basebackup"), "-D", b.data(), "-d", s.DSN(""),
		"--checkpoint=fast", "--wal-method=stream", "--write-recovery-conf", "--no-sync")
	if err != nil {
		return nil, err
	}
	return b, b.firstUp()
}

// Cut ends the standby's connection to its primary permanently. It keeps what it has received. A
// promotion then loses what the primary commits from now on.
func (s *PostgresServer) Cut(ctx context.Context) error {
	if err := s.Exec(ctx, "", "ALTER SYSTEM SET primary_conninfo = ''"); err != nil {
		return err
	}
	if err := s.Exec(ctx, "", "SELECT pg_reload_conf()"); err != nil {
		return err
	}
	return s.until(ctx, "SELECT count(*) = 0 FROM pg_stat_wal_receiver")
}

// Promote makes a standby an independent primary, on a new timeline, and waits until it accepts
// commits. It first applies all that it has received, without its delay. The old primary keeps
// running, so stop it first.
func (s *PostgresServer) Promote(ctx context.Context) error {
	if err := s.Exec(ctx, "", "SELECT pg_promote(false)"); err != nil {
		return err
	}
	return s.until(ctx, "SELECT NOT pg_is_in_recovery()")
}

// until repeats a query until its result is true.
func (s *PostgresServer) until(ctx context.Context, query string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	db, err := s.Open("")
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	for {
		var yes bool
		if err := db.QueryRowContext(ctx, query).Scan(&yes); err != nil {
			return fmt.Errorf("dbtest: %w", err)
		}
		if yes {
			return nil
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("dbtest: %q stays false: %w", query, ctx.Err())
		}
	}
}
