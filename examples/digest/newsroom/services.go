package newsroom

import (
	"encoding/json"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The services are asked by paths and queries of their own. What they know of an item
// beside the text changes all the time, as it does with the real ones.

// points returns how many points an item has after a while.
func points(it item, now time.Time) int64 {
	return 60 + it.number%97 + int64(now.Sub(it.at)/(5*time.Minute))
}

// hackerNews answers like the search API, with points of at least the number asked for.
func (n *Newsroom) hackerNews(o *outlet, now time.Time, least, limit int64) (answer, error) {
	type hit struct {
		ID     string `json:"objectID"`
		Title  string `json:"title"`
		URL    string `json:"url"`
		Author string `json:"author"`
		Text   string `json:"story_text"`
		At     int64  `json:"created_at_i"`
		Points int64  `json:"points"`
	}
	hits := []hit{}
	for _, it := range n.items(o, now) {
		if p := points(it, now); p >= least && int64(len(hits)) < limit {
			hits = append(hits, hit{strconv.FormatInt(9_000_000_000+it.number, 10), it.title, it.link, it.author, paragraphs(it.body), it.at.Unix(), p})
		}
	}
	body, err := json.Marshal(map[string]any{"hits": hits, "nbHits": len(hits), "hitsPerPage": limit})
	return answer{contentType: "application/json", body: body}, err
}

// reddit answers like a listing of a subreddit, with its rules on top.
func (n *Newsroom) reddit(o *outlet, now time.Time) (answer, error) {
	type post struct {
		Name      string  `json:"name"`
		Title     string  `json:"title"`
		URL       string  `json:"url"`
		Permalink string  `json:"permalink"`
		Author    string  `json:"author"`
		Selftext  string  `json:"selftext"`
		Created   float64 `json:"created_utc"`
		Stickied  bool    `json:"stickied"`
		Score     int64   `json:"score"`
	}
	type child struct {
		Kind string `json:"kind"`
		Data post   `json:"data"`
	}
	rules := post{Name: "t3_rules", Title: "Read this before you post", Permalink: "/r/" + o.slug + "/comments/rules/", Author: "moderator", Stickied: true}
	children := []child{{"t3", rules}}
	for _, it := range n.items(o, now) {
		id := strconv.FormatInt(it.number, 36)
		children = append(children, child{"t3", post{
			Name: "t3_" + id, Title: it.title, URL: it.link, Permalink: "/r/" + o.slug + "/comments/" + id + "/", Author: it.author,
			Selftext: it.body, Created: float64(it.at.Unix()), Score: points(it, now),
		}})
	}
	body, err := json.Marshal(map[string]any{"kind": "Listing", "data": map[string]any{"children": children}})
	return answer{contentType: "application/json; charset=UTF-8", body: body}, err
}

// repository is what trends.
type repository struct {
	Name, Description string
	Stars             int64
}

// readRepositories reads lines of "owner/name: description".
func readRepositories() ([]repository, error) {
	b, err := texts.ReadFile("text/repos.txt")
	if err != nil {
		return nil, err
	}
	var all []repository
	for line := range strings.Lines(string(b)) {
		name, description, _ := strings.Cut(strings.TrimSpace(line), ": ")
		all = append(all, repository{Name: name, Description: description})
	}
	return all, nil
}

var trendingPage = template.Must(template.New("trending").Parse(`<!DOCTYPE html><html lang="en"><head><title>Trending</title></head><body><main>
{{range .}}<article class="Box-row"><h2 class="h3 lh-condensed"><a href="/{{.Name}}">{{.Name}}</a></h2>
<p class="col-9 color-fg-muted my-1 pr-4">{{.Description}}</p><div><span>{{.Stars}} stars today</span></div></article>
{{end}}</main></body></html>`))

// trending answers like the page of repositories: so many of them, other ones several
// times a day.
func (n *Newsroom) trending(o *outlet, now time.Time) (answer, error) {
	part := now.Unix() * int64(o.daily) / int64(24*time.Hour/time.Second)
	repos := slices.Clone(n.repos)
	dice := n.dice(o.slug, part)
	dice.Shuffle(len(repos), func(i, j int) { repos[i], repos[j] = repos[j], repos[i] })
	repos = repos[:min(o.listed, len(repos))]
	for i := range repos {
		repos[i].Stars = 20 + now.Unix()/900%500 - int64(i)
	}
	var b strings.Builder
	if err := trendingPage.Execute(&b, repos); err != nil {
		return answer{}, fmt.Errorf("newsroom: %w", err)
	}
	return answer{contentType: "text/html; charset=utf-8", body: []byte(b.String())}, nil
}
