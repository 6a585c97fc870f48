package rig

import (
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/twofold-go/twofold/internal/bench/setup"
)

// oldFolder puts an old data folder back under MariaDB. Every second time the server starts again
// within two seconds of its last start: its start is part of the log's identity, to two seconds.
func oldFolder(r *Rig) loss {
	saved := filepath.Join(r.t.TempDir(), "data")
	soon := r.losses%2 == 0
	l := loss{what: "MariaDB put back to an old data folder", brief: soon}
	l.fork = func() {
		if soon {
			r.my.Kill()
			setup.Check(r.my.Start())
			time.Sleep(max(r.cfg.Bound/2, short)) // until a worker has noticed
		}
		setup.Check(r.my.Freeze())
		r.copyFolder(r.data, saved)
		setup.Check(r.my.Continue())
	}
	l.swap = func() {
		r.unseen(func() {
			r.my.Kill()
			setup.Check(os.RemoveAll(r.data))
			r.copyFolder(saved, r.data)
			setup.Check(r.my.Start())
		})
	}
	return l
}

// copyFolder copies a folder with its owners.
func (r *Rig) copyFolder(from, to string) {
	out, err := exec.Command("cp", "-a", from, to).CombinedOutput()
	if err != nil {
		r.t.Fatalf("rig: cp: %v\n%s", err, out)
	}
}
