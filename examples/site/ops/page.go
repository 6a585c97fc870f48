package ops

import (
	"bytes"
	"embed"
	"errors"
	"html/template"
	"net/http"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"
)

//go:embed templates/*.html static/ops.css
var files embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"bytes":   func(n int64) string { return humanize.IBytes(uint64(max(n, 0))) }, //nolint:gosec // not negative
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

// page is what the templates are given.
type page struct {
	Overview *overview
	Done     *outcome // of the purge that led here
	Found    *finding
	Bad      string // what was wrong with the question
}

func (h *Handler) overviewPage(w http.ResponseWriter, r *http.Request) {
	p := page{Overview: h.overview()}
	if name := r.URL.Query().Get("done"); name != "" {
		p.Done = h.done.get(name, h.cfg.Now())
	}
	h.render(w, r, http.StatusOK, "overview", &p)
}

func (h *Handler) lookupPage(w http.ResponseWriter, r *http.Request) {
	if r.URL.RawQuery == "" { // nothing was asked yet
		h.render(w, r, http.StatusOK, "lookup", &page{})
		return
	}
	f, err := h.find(r)
	if err != nil {
		status, text := h.explain(r, err)
		h.render(w, r, status, "lookup", &page{Bad: text})
		return
	}
	h.render(w, r, http.StatusOK, "lookup", &page{Found: f})
}

// purgeForm purges and sends the browser back to the page, so that going back or
// loading it again purges nothing.
func (h *Handler) purgeForm(w http.ResponseWriter, r *http.Request) {
	o, err := h.purge(w, r)
	if err != nil {
		_, text := h.explain(r, err)
		o = &outcome{Failed: text, At: h.cfg.Now().UTC()}
	}
	http.Redirect(w, r, "/_cache?done="+h.done.add(o), http.StatusSeeOther)
}

// render writes a page.
func (h *Handler) render(w http.ResponseWriter, r *http.Request, status int, name string, p *page) {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, p); err != nil {
		h.cfg.Logger.ErrorContext(r.Context(), "operator's page failed", "page", name, "err", err)
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	send(w, status, "text/html; charset=utf-8", b.Bytes())
}

func (h *Handler) css(w http.ResponseWriter, r *http.Request) {
	b, err := files.ReadFile("static/ops.css")
	if err != nil {
		h.cfg.Logger.ErrorContext(r.Context(), "operator's page failed", "page", "css", "err", err)
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	send(w, http.StatusOK, "text/css; charset=utf-8", b)
}

func send(w http.ResponseWriter, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // who does not read it any more needs no telling
}

// explain returns what to tell of an error. Only the log is told of failures.
func (h *Handler) explain(r *http.Request, err error) (status int, text string) {
	if b, ok := errors.AsType[*badInput](err); ok {
		return http.StatusBadRequest, b.text
	}
	if errors.Is(err, errOff) {
		return http.StatusConflict, err.Error()
	}
	h.cfg.Logger.ErrorContext(r.Context(), "operator's request failed", "path", r.URL.Path, "err", err)
	return http.StatusServiceUnavailable, "it is not done: the log says why. What goes through the pipeline is kept, and tried again"
}
