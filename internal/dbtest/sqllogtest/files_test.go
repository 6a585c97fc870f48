package sqllogtest_test

import (
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"modernc.org/sqlite"
)

// fileWays are the ways to put a SQLite database back. A name without "closed" means that the
// connections of the processes stay open.
var fileWays = map[string]keep{
	"the backup API, and back":                  viaAPI(true),
	"VACUUM INTO, and the backup API":           viaAPI(false),
	"a backup by rename, closed":                byFile(apiBackup, rename),
	"a backup copied over, closed":              byFile(apiBackup, over),
	"a backup by rm and cp, closed":             byFile(apiBackup, anew),
	"a plain copy by rename, closed":            byFile(plainCopy, rename),
	"a plain copy copied over, closed":          byFile(plainCopy, over),
	"the folder by rename, closed":              byFile(folderCopy, rename),
	"a backup, the file beside it lost, closed": byFile(apiBackup, withoutSidecar),
	"ATTACH, DELETE, INSERT":                    attached(false),
	"ATTACH, UPDATE":                            attached(true),
	"a copy in the database, INSERT":            copied(false),
	"a copy in the database, UPDATE":            copied(true),
}

// backups are what connections of the driver can do.
type backups interface {
	NewBackup(to string) (*sqlite.Backup, error)
	NewRestore(from string) (*sqlite.Backup, error)
}

// copyAPI runs the backup API on a connection of the writer.
func copyAPI(t *testing.T, r *rig, begin func(c backups) (*sqlite.Backup, error)) {
	t.Helper()
	conn, err := r.db.Conn(t.Context())
	must(t, err)
	defer func() { _ = conn.Close() }()
	must(t, conn.Raw(func(c any) error {
		b, err := begin(c.(backups)) //nolint:forcetypeassert // it is the driver's
		if err != nil {
			return err
		}
		if _, err := b.Step(-1); err != nil {
			return err
		}
		return b.Finish()
	}))
}

func apiBackup(t *testing.T, r *rig, to string) {
	t.Helper()
	copyAPI(t, r, func(c backups) (*sqlite.Backup, error) { return c.NewBackup(to) })
}

// viaAPI puts back by the backup API, as .restore does, while all connections stay open.
func viaAPI(backup bool) keep {
	return func(t *testing.T, r *rig) func() {
		t.Helper()
		to := filepath.Join(t.TempDir(), "backup.db")
		if backup {
			apiBackup(t, r, to)
		} else {
			r.exec(t, "VACUUM INTO ?", to)
		}
		return func() { copyAPI(t, r, func(c backups) (*sqlite.Backup, error) { return c.NewRestore(to) }) }
	}
}

// file returns the path of the database.
func (r *rig) file(t *testing.T) (path string) {
	t.Helper()
	must(t, r.db.QueryRowContext(t.Context(), "SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&path))
	return path
}

// close closes the connections of all processes. They connect again when they need to.
func (r *rig) close() {
	for _, db := range []*sql.DB{r.db, r.readers} {
		db.SetMaxIdleConns(0)
		db.SetMaxIdleConns(2)
	}
}

// plainCopy copies the file while no connection is open, so the file has everything.
func plainCopy(t *testing.T, r *rig, to string) {
	t.Helper()
	path := r.file(t)
	r.close()
	over(t, path, to)
}

// folderCopy copies the file and the one beside it.
func folderCopy(t *testing.T, r *rig, to string) {
	t.Helper()
	plainCopy(t, r, to)
	over(t, r.file(t)+"-twofold", to+"-twofold")
}

// byFile puts a copy back while no connection is open. A copy of
// the file beside the database is put back, too.
func byFile(save func(t *testing.T, r *rig, to string), put func(t *testing.T, from, to string)) keep {
	return func(t *testing.T, r *rig) func() {
		t.Helper()
		copied := filepath.Join(filepath.Dir(r.file(t)), "copy.db")
		save(t, r, copied)
		return func() {
			path := r.file(t)
			r.close()
			for _, beside := range []string{"-wal", "-shm"} {
				remove(t, path+beside)
			}
			put(t, copied, path)
			if _, err := os.Stat(copied + "-twofold"); err == nil {
				put(t, copied+"-twofold", path+"-twofold")
			}
		}
	}
}

// withoutSidecar puts a copy back, and loses the file beside the database.
func withoutSidecar(t *testing.T, from, to string) {
	t.Helper()
	rename(t, from, to)
	remove(t, to+"-twofold")
}

// remove removes a file, if there is one.
func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
}

// attached puts rows back out of a backup.
func attached(update bool) keep {
	return func(t *testing.T, r *rig) func() {
		t.Helper()
		backup := filepath.Join(t.TempDir(), "backup.db")
		apiBackup(t, r, backup)
		return func() {
			r.exec(t, "ATTACH ? AS b", backup)
			r.exec(t, "DELETE FROM main.twofold_outbox")
			r.exec(t, "DELETE FROM main.twofold_log")
			r.exec(t, "INSERT INTO main.twofold_log SELECT * FROM b.twofold_log")
			if update {
				r.exec(t, "UPDATE main.twofold_meta SET (identity, epoch, key_end, scope_end, key_id, scope_id) = (SELECT identity, epoch, key_end, scope_end, key_id, scope_id FROM b.twofold_meta)")
			} else {
				r.exec(t, "DELETE FROM main.twofold_meta")
				r.exec(t, "INSERT INTO main.twofold_meta SELECT * FROM b.twofold_meta")
			}
			r.exec(t, "DETACH b")
		}
	}
}

func rename(t *testing.T, from, to string) { t.Helper(); must(t, os.Rename(from, to)) }

// over writes a file's bytes over those of another one.
func over(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	must(t, err)
	must(t, os.WriteFile(to, b, 0o600))
}

// anew copies a file to a name that is free.
func anew(t *testing.T, from, to string) {
	t.Helper()
	must(t, os.Remove(to))
	over(t, from, to)
}
