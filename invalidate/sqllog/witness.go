package sqllog

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/twofold-go/twofold/internal/testkit/safeguard"
)

// The tables of SQLite do not show that they are an old copy: there is no server, and a copy of a
// file has every byte. Therefore the log writes where its sequences end into a file beside the
// database, the sidecar. A copy that is put back does not bring it, or has another inode than it
// names.
//
// A numbering writes the sidecar under the write lock, after its last statement and before COMMIT.
// A reader that comes between, or after a crash there, may find that the two differ. A look with a
// doubt is repeated under the write lock, where neither changes. If they still differ, an epoch
// starts: that is the price of a crash at that place, of a power cut, and of a lost sidecar. The
// sidecar is never flushed, because a wrong one is harmless.
//
// A sidecar has a record of 16 bytes for each log in the database: a hash of its name, and a hash
// of its state. A database without a file, such as :memory:, has its schema cookie in the identity:
// restoring a backup raises it, and so does every change of the schema.

// sidecarName is added to the name of the database's file.
const sidecarName = "-twofold"

// witness is the evidence from outside the tables. It is read before them. The zero witness, of the
// other dialects, contradicts nothing.
type witness struct {
	place   string      // the schema cookie of a database without a file
	sidecar string      // the path; empty if there is none
	owner   fs.FileInfo // the database's file
	state   uint64      // what the sidecar says of this log; 0 if nothing
}

// witness reads the evidence from outside the tables of a SQLite database.
func (l *Log) witness(ctx context.Context, on queryer) (w witness, err error) {
	if l.cfg.Dialect != SQLite || safeguard.Off(safeguard.Memory) {
		return w, nil
	}
	path := l.path.Load()
	if path == nil {
		if path, err = l.findFile(ctx, on); err != nil {
			return w, err
		}
		l.path.Store(path)
	}
	if *path != "" {
		w.owner, err = os.Stat(*path)
	}
	if *path == "" || errors.Is(err, fs.ErrNotExist) { // in memory, or in a file system of the driver
		err = on.QueryRowContext(ctx, "PRAGMA "+l.sql.schema+".schema_version").Scan(&w.place)
		return w, err
	}
	if err == nil {
		w.sidecar = *path + sidecarName
		err = w.read(l.sql.name)
	}
	return w, w.explain(err)
}

// findFile returns the path of the database that has the tables.
func (l *Log) findFile(ctx context.Context, on queryer) (*string, error) {
	rows, err := on.QueryContext(ctx, "PRAGMA database_list")
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
	found := new("")
	for rows.Next() {
		var name string
		var file *string
		if err := rows.Scan(new(int), &name, &file); err != nil {
			return nil, err
		}
		if strings.EqualFold(name, l.sql.schema) && file != nil {
			found = file
		}
	}
	return found, rows.Err()
}

// A record of a sidecar: the hash of a log's name, and the hash of its state.
const recordSize = 16

// read finds the record of a log in the sidecar.
func (w *witness) read(log string) error {
	b, err := slurp(w.sidecar)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if at, ok := findRecord(b, log); ok {
		w.state = binary.BigEndian.Uint64(b[at+8:])
	}
	return err
}

// findRecord returns where the record of a log is, or has its place.
func findRecord(b []byte, log string) (at int, ok bool) {
	name := xxhash.Sum64String(log)
	for at = 0; at+recordSize <= len(b); at += recordSize {
		if binary.BigEndian.Uint64(b[at:]) == name {
			return at, true
		}
	}
	return at, false
}

// contradicts reports whether the sidecar says that the tables are not as a log left them.
func (l *Log) contradicts(w *witness, e *ends) bool {
	return w.sidecar != "" && w.state != w.stateOf(e)
}

// stateOf returns the hash of a log's state and of the inode of its file, never 0.
func (w *witness) stateOf(e *ends) uint64 {
	var b []byte
	for _, n := range []int64{e.epoch, e.pos[keySeq], e.pos[scopeSeq], e.id[keySeq], e.id[scopeSeq]} {
		b = binary.BigEndian.AppendUint64(b, uint64(n)) //nolint:gosec // the bits count
	}
	if !safeguard.Off(safeguard.Place) {
		b = binary.BigEndian.AppendUint64(b, inode(w.owner))
	}
	return max(xxhash.Sum64(b), 1)
}

// writeSidecar writes into the sidecar where the sequences end. The caller holds the write lock, and
// commits next.
func (l *Log) writeSidecar(w *witness, e *ends) (err error) {
	if w.sidecar == "" {
		return nil
	}
	defer func() { err = w.explain(err) }()
	b, err := slurp(w.sidecar)
	fresh := errors.Is(err, fs.ErrNotExist)
	if err != nil && !fresh {
		return err
	}
	f, err := os.OpenFile(w.sidecar, os.O_WRONLY|os.O_CREATE, w.owner.Mode().Perm())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if fresh {
		share(f, w.owner)
	}
	at, _ := findRecord(b, l.sql.name)
	record := binary.BigEndian.AppendUint64(nil, xxhash.Sum64String(l.sql.name))
	record = binary.BigEndian.AppendUint64(record, w.stateOf(e))
	_, err = f.WriteAt(record, int64(at))
	return err
}

// explain says what to do about an error of a file.
func (w *witness) explain(err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("the log keeps a file beside the SQLite database, named like it and %s: let every process read and write the database's folder: %w", sidecarName, err)
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: %w", ErrRights, err)
	}
	return err
}
