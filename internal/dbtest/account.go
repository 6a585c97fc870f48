package dbtest

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
)

// account is the user that a server runs as. Nil means the user of this process.
type account struct{ uid, gid int }

// unprivileged returns nil. For root it returns the first of the named users that exists.
func unprivileged(names ...string) (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range append(names, "nobody") {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.Atoi(u.Uid)
		gid, err2 := strconv.Atoi(u.Gid)
		if err1 == nil && err2 == nil {
			return &account{uid: uid, gid: gid}, nil
		}
	}
	return nil, fmt.Errorf("dbtest: databases refuse to run as root, and no user named %q exists; run the tests as another user", append(names, "nobody"))
}

// newDir makes dir, or a new temporary folder if dir is empty. It gives the folder to the account.
func (a *account) newDir(dir string) (string, error) {
	var err error
	if dir == "" {
		dir, err = makeTemp()
	} else {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = a.own(dir)
	}
	if err != nil {
		return "", fmt.Errorf("dbtest: %w", err)
	}
	return dir, nil
}

// own gives a folder and its contents to the account.
func (a *account) own(dir string) error {
	if a == nil {
		return nil
	}
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, a.uid, a.gid)
	})
}

// copyTree writes the files of from into the new folder dir, which belongs to the account. Servers
// require that their data folder is closed to other users.
func (a *account) copyTree(dir string, from fs.FS) error {
	err := os.CopyFS(dir, from)
	if err == nil {
		err = os.Chmod(dir, 0o700)
	}
	if err == nil {
		err = a.own(dir)
	}
	if err != nil {
		return fmt.Errorf("dbtest: %w", err)
	}
	return nil
}
