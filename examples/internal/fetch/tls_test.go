package fetch_test

import (
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/examples/internal/fetch"
)

// An untrusted certificate is not a valid answer, but the host is not dead.
func TestUnknownCertificate(t *testing.T) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	c := local(t)
	for range 2 {
		if _, err := c.Get(t.Context(), fetch.Request{URL: s.URL}); !errors.Is(err, fetch.ErrProtocol) {
			t.Errorf("Get = %v, want %v", err, fetch.ErrProtocol)
		}
	}
}

// The same for a server that does not speak TLS.
func TestNoTLS(t *testing.T) {
	o := newOrigin(t, func(http.ResponseWriter, *http.Request) {})
	_, err := local(t).Get(t.Context(), fetch.Request{URL: strings.Replace(o.URL, "http:", "https:", 1)})
	if !errors.Is(err, fetch.ErrProtocol) {
		t.Errorf("Get = %v, want %v", err, fetch.ErrProtocol)
	}
}
