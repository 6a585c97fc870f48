package httpcache_test

import (
	"net/http"
	"time"
)

// noon is when the responses of these tests arrive.
var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// noonPlus is a date of HTTP, some seconds after noon.
func noonPlus(seconds int) string {
	return noon.Add(time.Duration(seconds) * time.Second).Format(http.TimeFormat)
}

// headerOf makes a header of pairs of names and values.
func headerOf(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i+1 < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}
