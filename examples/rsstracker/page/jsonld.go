package page

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/PuerkitoBio/goquery"
)

// ld is what JSON-LD says of a page.
type ld struct{ headline, description, published, modified string }

// articles are the types of schema.org that pages of a feed have.
var articles = []string{
	"Article", "NewsArticle", "BlogPosting", "TechArticle", "ScholarlyArticle", "Report", "Review", "Recipe", "LiveBlogPosting",
	"SocialMediaPosting", "DiscussionForumPosting", "PodcastEpisode", "VideoObject", "WebPage",
}

// maxNodes bounds how much of a page's JSON-LD is looked through.
const maxNodes = 1_000

// readLD reads the first node of JSON-LD that is about the page. What is no JSON, or
// of other types, is passed over: pages have several, written by several programs.
func readLD(doc *goquery.Document) (best ld) {
	left, rank := maxNodes, len(articles)
	for _, s := range doc.Find(`script[type="application/ld+json"]`).EachIter() {
		var v any
		if json.Unmarshal([]byte(s.Text()), &v) != nil {
			continue
		}
		walk(v, &left, func(node map[string]any) {
			if r := rankOf(node["@type"]); r < rank {
				rank = r
				best = ld{text(node["headline"]), text(node["description"]), text(node["datePublished"]), text(node["dateModified"])}
				if best.headline == "" {
					best.headline = text(node["name"])
				}
			}
		})
	}
	return best
}

// walk calls fn with every object among the top ones of v: v itself, those of a list,
// and those of an @graph. Deeper ones are about something else.
func walk(v any, left *int, fn func(map[string]any)) {
	if *left--; *left < 0 {
		return
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			walk(e, left, fn)
		}
	case map[string]any:
		fn(v)
		if g, ok := v["@graph"].([]any); ok {
			walk(g, left, fn)
		}
	}
}

// rankOf returns how much a node of that type, or those types, is about the page: the
// less the better, and len(articles) if it is not.
func rankOf(types any) int {
	best := len(articles)
	list, ok := types.([]any)
	if !ok {
		list = []any{types}
	}
	for _, t := range list {
		name := strings.TrimPrefix(strings.TrimPrefix(text(t), "http://schema.org/"), "https://schema.org/")
		if i := slices.Index(articles, name); i >= 0 {
			best = min(best, i)
		}
	}
	return best
}

// text returns v if it is a text.
func text(v any) string {
	s, _ := v.(string)
	return s
}
