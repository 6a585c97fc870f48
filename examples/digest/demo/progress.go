package demo

import (
	"io"
	"os"

	"github.com/schollz/progressbar/v3"
)

// What a bar is divided into, beside the steps of the day: users that subscribe, and
// digests of a period.
const (
	settling   = 10
	generating = 12
)

// length is how long the bar of a demonstration is.
func length(cfg Config) int { return settling + steps(cfg) + (cfg.windows+1)*generating }

// bar is a progress bar, or none. The zero value is none.
type bar struct {
	shown *progressbar.ProgressBar
	extra int // what was added beside the steps
}

// newBar returns a bar on a terminal, and none on anything else: what is written to a
// file should not be full of attempts.
func newBar(w io.Writer, length int) bar {
	f, ok := w.(*os.File)
	if !ok {
		return bar{}
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return bar{}
	}
	return bar{shown: progressbar.NewOptions(length, progressbar.OptionSetWriter(f),
		progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(30), progressbar.OptionSetPredictTime(false))}
}

// at shows that so many steps are over. A bar that cannot be drawn is no reason to stop.
func (b *bar) at(n int, what string) {
	if b.shown == nil {
		return
	}
	b.shown.Describe(what)
	_ = b.shown.Set(n + b.extra)
}

// add shows that something beside the steps is over.
func (b *bar) add(n int) {
	b.extra += n
	if b.shown != nil {
		_ = b.shown.Add(n)
	}
}

// say shows what is going on.
func (b *bar) say(what string) {
	if b.shown != nil {
		b.shown.Describe(what)
	}
}

// finish removes the bar.
func (b *bar) finish() {
	if b.shown != nil {
		_ = b.shown.Finish()
	}
}
