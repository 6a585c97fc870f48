// Package webtest asks programs under test over HTTP.
package webtest

import (
	"io"
	"net/http"
	"testing"
)

// Get returns the status and the body at url, asked for with a bearer key unless that is
// empty. The connection is closed, so that no goroutine outlives the test. It ends the test
// when there is no answer.
func Get(tb testing.TB, url, key string) (status int, body string) {
	tb.Helper()
	req, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		tb.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		tb.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // it was only read
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return resp.StatusCode, string(data)
}
