package collector

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// Signals returns a context that ends at the first SIGTERM or SIGINT, and a channel that
// is closed at the second: what [Collector.Run] takes. Stop ends the context and
// gives the signals back.
func Signals(parent context.Context) (ctx context.Context, kill <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	got := make(chan os.Signal, 2)
	signal.Notify(got, syscall.SIGTERM, syscall.SIGINT)
	done, hurry, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for n := range 2 {
			select {
			case <-got:
			case <-done:
				return
			}
			if n == 0 {
				cancel()
			} else {
				close(hurry)
			}
		}
	}()
	return ctx, hurry, sync.OnceFunc(func() {
		signal.Stop(got)
		cancel()
		close(done)
		<-ended
	})
}
