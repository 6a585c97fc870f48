package dbtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/twofold-go/twofold/internal/testkit/testserver"
)

// Stop ends the server as pg_ctl -m immediate does. The next start recovers.
func (s *PostgresServer) Stop() error {
	if err := s.Continue(); err != nil {
		return err
	}
	s.proc.end(testserver.Quit)
	return nil
}

// Shutdown ends the server as its operator does. It closes connections and writes a checkpoint, so
// the next start has nothing to recover.
func (s *PostgresServer) Shutdown() error {
	if err := s.Continue(); err != nil {
		return err
	}
	s.proc.end(os.Interrupt)
	return nil
}

// Kill ends all processes of the server by SIGKILL and waits until they are gone.
func (s *PostgresServer) Kill() error {
	pids, err := s.freeze()
	if err != nil || len(pids) == 0 {
		return err
	}
	slices.Reverse(pids) // the server process last: it would start new ones
	for _, pid := range pids {
		if err := kill(pid); err != nil {
			return err
		}
	}
	<-s.proc.Done()
	freeSegment(s.data())
	return nil
}

// Freeze pauses all processes of the server (SIGSTOP): connections stay open, but the server does
// not answer.
func (s *PostgresServer) Freeze() error {
	_, err := s.freeze()
	return err
}

// freeze returns the process IDs, the server's first. It stops the server first, because the server
// must not start a process that the list lacks.
func (s *PostgresServer) freeze() ([]int, error) {
	if !s.proc.Running() {
		return nil, nil
	}
	pids := []int{s.proc.PID()}
	if err := pause(pids[0]); err != nil {
		return nil, err
	}
	more, err := children(pids[0])
	if err != nil {
		_ = resume(pids[0])
		return nil, err
	}
	for _, pid := range more {
		if err := pause(pid); err != nil {
			return nil, err
		}
	}
	return append(pids, more...), nil
}

// Continue resumes a frozen server.
func (s *PostgresServer) Continue() error {
	if !s.proc.Running() {
		return nil
	}
	pids, err := children(s.proc.PID())
	if err != nil && !errors.Is(err, errLinux) { // without Linux nothing was frozen
		return err
	}
	for _, pid := range append(pids, s.proc.PID()) {
		if err := resume(pid); err != nil {
			return err
		}
	}
	return nil
}

// FreezeBackend pauses the process that serves one connection. pg_backend_pid() returns its pid.
func (s *PostgresServer) FreezeBackend(pid int) error { return s.toBackend(pid, pause) }

// ContinueBackend resumes a frozen backend.
func (s *PostgresServer) ContinueBackend(pid int) error { return s.toBackend(pid, resume) }

// KillBackend ends one backend by SIGKILL. The server then ends every other connection as well, and
// recovers.
func (s *PostgresServer) KillBackend(pid int) error { return s.toBackend(pid, kill) }

func (s *PostgresServer) toBackend(pid int, do func(pid int) error) error {
	if s.proc.Running() {
		pids, err := children(s.proc.PID())
		if err != nil {
			return err
		}
		if slices.Contains(pids, pid) {
			return do(pid)
		}
	}
	return fmt.Errorf("dbtest: process %d is not a backend of the server on port %d", pid, s.proc.Port)
}

// A Copy is an old state of a server's data.
type Copy struct{ dir string }

// CopyData copies the data folder like a file-system snapshot: at one moment, while the server
// runs. The server is frozen during the copy.
func (s *PostgresServer) CopyData() (Copy, error) {
	s.copies++
	c := Copy{filepath.Join(s.proc.dir, "copy"+strconv.Itoa(s.copies))}
	if err := s.Freeze(); err != nil {
		return c, err
	}
	err := s.proc.as.copyTree(c.dir, os.DirFS(s.data()))
	return c, errors.Join(err, s.Continue())
}

// RestoreData puts an old copy back in place. It kills the server if it runs, and starts it again.
// A copy may be restored more than once.
func (s *PostgresServer) RestoreData(c Copy) error {
	if err := s.Kill(); err != nil {
		return err
	}
	if err := os.RemoveAll(s.data()); err != nil {
		return fmt.Errorf("dbtest: %w", err)
	}
	if err := s.proc.as.copyTree(s.data(), os.DirFS(c.dir)); err != nil {
		return err
	}
	// The pid file of a running server: that process has ended, or the pid belongs to another
	// program.
	if err := os.Remove(filepath.Join(s.data(), "postmaster.pid")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("dbtest: %w", err)
	}
	return s.Start()
}

// Close ends the server and its standbys and removes their folders.
func (s *PostgresServer) Close() error {
	var errs []error
	for _, b := range s.standbys {
		errs = append(errs, b.Close())
	}
	errs = append(errs, s.Stop(), removeDir(s.proc.dir))
	return errors.Join(errs...)
}
