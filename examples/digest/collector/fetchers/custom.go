package fetchers

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/twofold-go/twofold/examples/internal/fetch"
)

// customAPI fetches any JSON, by a mapping in the source's config:
//
//	{
//	  "url": "https://api.example.com/v1/articles",
//	  "headers": {"Authorization": "Bearer …"},
//	  "items": "data.articles",
//	  "fields": {"id": "uuid", "title": "headline", "url": "links.0.href", "content": "body", "author": "by", "published": "at"}
//	}
//
// Paths are names and indexes with dots between them. Without "items" the answer is
// the list; without a field its name is the path.
type customAPI struct{ client }

type mapping struct {
	URL     string
	Headers map[string]string
	Items   string
	Fields  struct{ ID, Title, URL, Content, Author, Published string }
}

func (f customAPI) Address(s Source) (string, error) { return s.url() }

func (f customAPI) Fetch(ctx context.Context, s Source) (Result, error) {
	addr, err := s.url()
	if err != nil {
		return Result{}, err
	}
	var m mapping
	if err := s.config(&m); err != nil {
		return Result{}, err
	}
	req := fetch.Request{URL: addr, Header: http.Header{}}
	for name, value := range m.Headers {
		req.Header.Set(name, value)
	}
	var body json.RawMessage
	r, err := f.json(ctx, s, req, &body)
	if err != nil || r.NotModified {
		return r, err
	}
	rows, err := m.rows(body)
	if err != nil {
		return r, err
	}
	for _, row := range rows[:min(len(rows), MaxItems)] {
		r.Items = append(r.Items, m.item(addr, row))
	}
	return r, nil
}

// rows returns the list that the mapping names.
func (m mapping) rows(body []byte) ([]any, error) {
	var v any
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber() // or long ids lose their last digits
	if err := dec.Decode(&v); err != nil {
		return nil, &parseError{"JSON", err}
	}
	rows, ok := at(v, m.Items).([]any)
	if !ok {
		return nil, &ConfigError{"items", "does not lead to a list"}
	}
	return rows, nil
}

func (m mapping) item(base string, row any) Item {
	get := func(path, def string) string {
		switch v := at(row, cmp.Or(path, def)).(type) {
		case string:
			return v
		case json.Number:
			return v.String()
		}
		return ""
	}
	return Item{
		GUID:    cut(tidy(get(m.Fields.ID, "id")), maxTitle),
		URL:     webURL(base, get(m.Fields.URL, "url")),
		Title:   line(plain(get(m.Fields.Title, "title"))),
		Content: plain(get(m.Fields.Content, "content")),
		Author:  line(get(m.Fields.Author, "author")), PublishedAt: parseTime(get(m.Fields.Published, "published")),
	}
}

// at follows a path into decoded JSON; nil if it leads nowhere.
func at(v any, path string) any {
	if path == "" {
		return v
	}
	for name := range strings.SplitSeq(path, ".") {
		switch in := v.(type) {
		case map[string]any:
			v = in[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(in) {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return v
}

// parseTime reads what APIs call a time: RFC 3339, the one of HTTP and mail, a date, or
// seconds or milliseconds since 1970. What it cannot read is not said.
func parseTime(s string) time.Time {
	for _, layout := range []string{time.RFC3339, time.RFC1123Z, time.RFC1123, time.DateTime, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	const year5000inSeconds = 95_617_584_000
	switch {
	case err != nil || n <= 0:
		return time.Time{}
	case n > year5000inSeconds:
		return time.UnixMilli(n).UTC()
	}
	return unix(n)
}
