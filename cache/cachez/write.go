package cachez

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the templates
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"reflect"
	"strconv"
	"strings"
)

// page is an answer. One of its parts is set.
type page struct {
	Title    string    `json:"title,omitempty"` // empty if the request is refused
	Error    string    `json:"error,omitempty"`
	Overview *overview `json:"overview,omitempty"`
	Found    *finding  `json:"found,omitempty"`
	Done     *outcome  `json:"done,omitempty"`

	Forms  *forms `json:"-"` // nil if the request is refused
	status int    // 0 means 200
}

// forms says which forms the page has.
type forms struct{ Index, Pages bool }

func (h *handler) forms() *forms { return &forms{h.Index != nil, h.Pages != nil} }

func (p *page) fail(status int, text string) { p.status, p.Error = status, text }

var (
	//go:embed page.html
	source string

	//go:embed style.css
	style string

	pages = template.Must(template.New("page").Funcs(template.FuncMap{
		"count": grouped,
		"rate": func(v float64) string {
			switch {
			case v == 0:
				return "0"
			case v < 0.1:
				return "<0.1"
			case v < 10:
				return strconv.FormatFloat(v, 'f', 1, 64)
			}
			return grouped(int64(math.Round(v)))
		},
		"plural": func(n any, one, many string) string {
			if fmt.Sprint(reflect.Indirect(reflect.ValueOf(n))) == "1" {
				return one
			}
			return many
		},
		"percent": func(v *float64) string {
			if v == nil {
				return "–"
			}
			return strconv.FormatFloat(*v*100, 'f', 1, 64) + " %"
		},
	}).Parse(strings.Replace(source, "STYLE", style, 1)))

	// security allows this style and forms to this page, and nothing else.
	security = "default-src 'none'; style-src 'sha256-" + hashOf(style) + "'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// setHeaders sets the headers that every answer has.
func setHeaders(header http.Header) {
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", security)
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("X-Content-Type-Options", "nosniff")
	// Not no-referrer: with that, browsers send forms with "Origin: null". Without HTTPS, no
	// other header tells where a form comes from.
	header.Set("Referrer-Policy", "same-origin")
}

// wantsJSON reports whether the client is a program. Browsers name HTML first.
func wantsJSON(r *http.Request) bool {
	if format := r.URL.Query().Get("format"); format == "json" || format == "html" {
		return format == "json"
	}
	accept := strings.Join(r.Header["Accept"], ",")
	at := strings.Index(accept, "application/json")
	html := strings.Index(accept, "text/html")
	return at >= 0 && (html < 0 || at < html)
}

// write sends the page as HTML or JSON.
func (h *handler) write(w http.ResponseWriter, r *http.Request, p *page) {
	var b bytes.Buffer
	var err error
	kind := "text/html; charset=utf-8"
	if wantsJSON(r) {
		kind, err = "application/json", json.NewEncoder(&b).Encode(p)
	} else {
		err = pages.Execute(&b, p)
	}
	if err != nil {
		h.Logger.ErrorContext(r.Context(), "cachez: page failed", "error", err)
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	switch {
	case p.status == 0 && p.Done != nil && p.Done.Pending > 0:
		p.status = http.StatusAccepted
	case p.status == 0:
		p.status = http.StatusOK
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(p.status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(b.Bytes()) // a client that has left needs no error
	}
}
