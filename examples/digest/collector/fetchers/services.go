package fetchers

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twofold-go/twofold/examples/internal/fetch"
)

const acceptJSON = "application/json"

// hackerNews fetches the front page of Hacker News by the search API of
// hn.algolia.com: one request for all of it, where the site's own API needs one for
// each story. Scores are not part of an item, or each fetch would bring a new version
// of it.
type hackerNews struct {
	client
	base string
}

// hnFilters are the values of config.filter and what they are in a query.
var hnFilters = map[string]string{
	"top":  "search?tags=front_page",
	"new":  "search_by_date?tags=story",
	"ask":  "search_by_date?tags=ask_hn",
	"show": "search_by_date?tags=show_hn",
	"job":  "search_by_date?tags=job",
}

func (h hackerNews) Address(s Source) (string, error) {
	var c struct {
		Filter   string
		MinScore *int `json:"min_score"`
		Limit    int
	}
	if err := s.config(&c); err != nil {
		return "", err
	}
	query, ok := hnFilters[cmp.Or(c.Filter, "top")]
	if !ok {
		return "", oneOf("filter", slices.Sorted(maps.Keys(hnFilters)))
	}
	score := 50 // what sources were made with
	if c.MinScore != nil {
		score = *c.MinScore
	}
	n := strconv.Itoa(clamp(c.Limit, 30, 100))
	return h.base + "/api/v1/" + query + "&hitsPerPage=" + n + "&numericFilters=points%3E%3D" + strconv.Itoa(score), nil
}

func (h hackerNews) Fetch(ctx context.Context, s Source) (Result, error) {
	var list struct {
		Hits []struct {
			ID     string `json:"objectID"`
			Title  string
			URL    string
			Author string
			Text   string `json:"story_text"`
			At     int64  `json:"created_at_i"`
		}
	}
	addr, err := h.Address(s)
	if err != nil {
		return Result{}, err
	}
	r, err := h.json(ctx, s, fetch.Request{URL: addr}, &list)
	for _, hit := range list.Hits {
		page := "https://news.ycombinator.com/item?id=" + url.QueryEscape(hit.ID)
		r.Items = append(r.Items, Item{
			GUID: "hn:" + hit.ID, URL: cmp.Or(webURL(page, hit.URL), page), Title: line(hit.Title),
			Content: plain(hit.Text), Author: line(hit.Author), PublishedAt: unix(hit.At),
		})
	}
	return r, err
}

// reddit fetches the posts of a subreddit by its JSON listing.
type reddit struct {
	client
	base string
}

var redditSorts = []string{"best", "controversial", "hot", "new", "rising", "top"}

func (f reddit) Address(s Source) (string, error) {
	var c struct {
		Subreddit, Sort string
		Limit           int
	}
	if err := s.config(&c); err != nil {
		return "", err
	}
	name := strings.TrimPrefix(strings.Trim(c.Subreddit, "/"), "r/")
	if name == "" {
		return "", &ConfigError{"subreddit", "is missing"}
	}
	sort := cmp.Or(c.Sort, "hot")
	if !slices.Contains(redditSorts, sort) {
		return "", oneOf("sort", redditSorts)
	}
	return f.base + "/r/" + url.PathEscape(name) + "/" + sort + ".json?raw_json=1&limit=" + strconv.Itoa(clamp(c.Limit, 25, 100)), nil
}

func (f reddit) Fetch(ctx context.Context, s Source) (Result, error) {
	var list struct {
		Data struct {
			Children []struct {
				Kind string
				Data struct {
					Name, Title, URL, Permalink, Author, Selftext string
					Created                                       float64 `json:"created_utc"`
					Stickied                                      bool
				}
			}
		}
	}
	addr, err := f.Address(s)
	if err != nil {
		return Result{}, err
	}
	r, err := f.json(ctx, s, fetch.Request{URL: addr}, &list)
	for _, child := range list.Data.Children {
		if d := child.Data; child.Kind == "t3" && !d.Stickied { // t3 is a post; the rules of a subreddit are no news
			r.Items = append(r.Items, Item{
				GUID: d.Name, URL: cmp.Or(webURL(f.base, d.URL), webURL(f.base, d.Permalink)), Title: line(d.Title),
				Content: tidy(d.Selftext), Author: line(d.Author), PublishedAt: unix(int64(d.Created)),
			})
		}
	}
	return r, err
}

// json asks for JSON and reads it into v, unless nothing has changed. The address of an
// API is made by us, or comes with keys that are for its origin alone: where it has
// moved to is not followed for good.
func (c client) json(ctx context.Context, s Source, req fetch.Request, v any) (Result, error) {
	req.Accept = acceptJSON
	resp, err := c.ask(ctx, req)
	if err != nil {
		return Result{}, err
	}
	r := result(s, resp)
	r.MovedTo = ""
	if r.NotModified {
		return r, nil
	}
	if err := json.Unmarshal(resp.Body, v); err != nil {
		return r, &parseError{"JSON", err}
	}
	return r, nil
}

func oneOf(field string, allowed []string) error {
	return &ConfigError{field, "is not one of " + strings.Join(allowed, ", ")}
}

// clamp returns n in [1, most], without one def.
func clamp(n, def, most int) int {
	if n <= 0 {
		return def
	}
	return min(n, most)
}

// unix returns the time of a number of seconds; 0 is none.
func unix(sec int64) time.Time {
	if sec <= 0 {
		return time.Time{}
	}
	return time.Unix(sec, 0).UTC()
}
