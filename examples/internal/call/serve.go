package call

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Grace is how long requests may continue after a stop.
const Grace = 10 * time.Second

// URL returns a URL of a listener without a path. It names localhost if the listener has all addresses.
func URL(l net.Listener) string {
	addr, ok := l.Addr().(*net.TCPAddr)
	if ok && addr.IP.IsUnspecified() {
		return fmt.Sprintf("http://localhost:%d", addr.Port)
	}
	return "http://" + l.Addr().String()
}

// IsBase reports whether s is only a scheme, http or https, and a host, so that paths can follow.
func IsBase(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.Scheme+"://"+u.Host == s
}

// Serve serves requests until ctx ends. Then it waits for the running ones until kill is closed, at
// most [Grace]. longest limits the time of a request. kill may be nil.
func Serve(ctx context.Context, kill <-chan struct{}, l net.Listener, h http.Handler, longest time.Duration, log *slog.Logger) error {
	srv := &http.Server{
		Handler: h, MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: longest, IdleTimeout: 2 * time.Minute,
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), Grace)
	defer cancel()
	go func() {
		select {
		case <-kill:
			cancel()
		case <-end.Done():
		}
	}()
	err := srv.Shutdown(end)
	if end.Err() != nil {
		return srv.Close()
	}
	return err
}
