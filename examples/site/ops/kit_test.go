package ops_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/twofold-go/twofold/examples/site/ops"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const adminKey = "the key of the operator"

var quiet = slog.New(slog.DiscardHandler)

func handler(t *testing.T, cfg ops.Config) http.Handler {
	t.Helper()
	cfg.Key = adminKey
	if cfg.Metrics == nil {
		cfg.Metrics, cfg.Queries = prometheus.NewRegistry(), func() int64 { return 4321 }
	}
	if cfg.Logger == nil {
		cfg.Logger = quiet
	}
	h, err := ops.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

type answer struct {
	status int
	header http.Header
	body   string
}

// call makes a request such as "GET /_cache". form may be nil. header is pairs of names and values.
func call(t *testing.T, h http.Handler, method, target string, form url.Values, header ...string) answer {
	t.Helper()
	var body io.Reader = http.NoBody
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r := httptest.NewRequestWithContext(t.Context(), method, target, body)
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return answer{w.Code, w.Header(), w.Body.String()}
}
