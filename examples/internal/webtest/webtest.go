// Package webtest sends HTTP requests to programs under test.
package webtest

import (
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Get returns the status and the body of url. It sends key, if not empty, as the bearer token.
func Get(tb testing.TB, url, key string) (status int, body string) {
	tb.Helper()
	req, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		tb.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	req.Close = true // keeps no connection
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		tb.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // nothing was written
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

var samples = regexp.MustCompile(`(?m)^([a-z_]+)(?:\{(.*)\})? \S+$`)
var labels = regexp.MustCompile(`([a-z_]+)="((?:[^"\\]|\\.)*)"`)

// Series returns the time series of a Prometheus page whose names begin with prefix,
// sorted, without duplicates. It leaves out buckets, and the values of the labels in names.
func Series(page, prefix string, names ...string) []string {
	var all []string
	for _, sample := range samples.FindAllStringSubmatch(page, -1) {
		if !strings.HasPrefix(sample[1], prefix) || strings.HasSuffix(sample[1], "_bucket") {
			continue
		}
		var list []string
		for _, label := range labels.FindAllStringSubmatch(sample[2], -1) {
			if name := label[1]; slices.Contains(names, name) {
				list = append(list, name)
			} else {
				list = append(list, name+"="+label[2])
			}
		}
		all = append(all, sample[1]+"{"+strings.Join(list, ",")+"}")
	}
	slices.Sort(all)
	return slices.Compact(all)
}
