package worker

import (
	"os"
	"path/filepath"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/bench/setup"
)

// tickets returns the options of a read that began before the call: what all processes know by then.
func (w *worker) tickets() (opts []cache.Option) {
	if !w.cfg.Tickets || w.cfg.Lacks(NoTickets) {
		return nil
	}
	files := setup.Must(filepath.Glob(filepath.Join(filepath.Dir(w.cfg.Events), "*.ticket")))
	for _, f := range files {
		opts = append(opts, cache.AtLeast(string(setup.Must(os.ReadFile(f))))) //nolint:gosec // a file of this run
	}
	return opts
}

// publish shows the others this process's ticket.
func (w *worker) publish() error {
	w.publishing.Lock()
	defer w.publishing.Unlock()
	to := w.cfg.Events + ".ticket"
	if err := os.WriteFile(to+".new", []byte(w.tiers.Ticket()), 0o600); err != nil {
		return err
	}
	return os.Rename(to+".new", to)
}
