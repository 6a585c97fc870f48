package ops

import (
	"encoding/json"
	"net/http"
)

func (h *Handler) statsCall(w http.ResponseWriter, r *http.Request) {
	h.reply(w, r, http.StatusOK, h.overview())
}

func (h *Handler) lookupCall(w http.ResponseWriter, r *http.Request) {
	f, err := h.find(r)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	h.reply(w, r, http.StatusOK, f)
}

func (h *Handler) purgeCall(w http.ResponseWriter, r *http.Request) {
	o, err := h.purge(w, r)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	h.reply(w, r, http.StatusOK, o)
}

func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	status, text := h.explain(r, err)
	h.reply(w, r, status, map[string]string{"error": text})
}

// reply sends v as JSON.
func (h *Handler) reply(w http.ResponseWriter, r *http.Request, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		h.cfg.Logger.ErrorContext(r.Context(), "operator's request failed", "path", r.URL.Path, "err", err)
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	send(w, status, "application/json", append(b, '\n'))
}
