package ops

import (
	"bytes"
	"embed"
	"encoding/json"
	"html/template"
	"net/http"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"
)

//go:embed templates/*.html static/ops.css
var files embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"count":   func(n int64) string { return humanize.Comma(n) },
	"percent": percentOf,
	"clock":   func(t time.Time) string { return t.Format("15:04:05") },
	"millis":  func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) + " ms" },
	"seconds": func(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) },
}).ParseFS(files, "templates/*.html"))

// percentOf writes a ratio that may not be known.
func percentOf(v *float64) string {
	if v == nil {
		return "–"
	}
	return percent(*v)
}

func (h *Handler) page(w http.ResponseWriter, r *http.Request) {
	var b bytes.Buffer
	err := templates.ExecuteTemplate(&b, "overview.html", h.overview())
	h.send(w, r, "text/html; charset=utf-8", b.Bytes(), err)
}

func (h *Handler) stats(w http.ResponseWriter, r *http.Request) {
	b, err := json.Marshal(h.overview())
	h.send(w, r, "application/json", append(b, '\n'), err)
}

func (h *Handler) css(w http.ResponseWriter, r *http.Request) {
	b, err := files.ReadFile("static/ops.css")
	h.send(w, r, "text/css; charset=utf-8", b, err)
}

// send answers with a body, unless making it failed.
func (h *Handler) send(w http.ResponseWriter, r *http.Request, contentType string, body []byte, err error) {
	if err != nil {
		h.cfg.Logger.ErrorContext(r.Context(), "operator's page failed", "path", r.URL.Path, "err", err)
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // a client that has gone needs no answer
}
