package web

import (
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/render"
)

// apiText is a post or a page in the API. A list of posts has them without Body
// and HTML.
type apiText struct {
	ID          int64         `json:"id"`
	URL         string        `json:"url"`
	Slug        string        `json:"slug"`
	Lang        content.Lang  `json:"lang"`
	Title       string        `json:"title"`
	Summary     string        `json:"summary,omitempty"`
	PublishedAt time.Time     `json:"published_at,omitzero"`
	UpdatedAt   time.Time     `json:"updated_at"`
	Tags        []content.Tag `json:"tags,omitempty"`
	Body        string        `json:"body,omitempty"`
	HTML        string        `json:"html,omitempty"`
}

func apiSummary(p content.Summary, set content.Settings) apiText {
	return apiText{
		ID: p.ID, URL: set.BaseURL + p.Path(), Slug: p.Slug, Lang: p.Lang, Title: p.Title, Summary: p.Excerpt,
		PublishedAt: p.PublishedAt, UpdatedAt: p.UpdatedAt, Tags: p.Tags,
	}
}

// render adds the text.
func (t apiText) render(body string) (apiText, error) {
	out, err := render.Markdown(body)
	t.Body, t.HTML = body, string(out)
	return t, err
}

func (s *site) apiPost(r *http.Request) (any, error) {
	p, err := s.read.PostBySlug(r.Context(), r.PathValue("slug"))
	if err != nil {
		return nil, err
	}
	set, err := s.read.Settings(r.Context())
	if err != nil {
		return nil, err
	}
	return apiSummary(p.Summary, set).render(p.Body)
}

func (s *site) apiPage(r *http.Request) (any, error) {
	p, err := s.read.PageBySlug(r.Context(), r.PathValue("slug"))
	if err != nil {
		return nil, err
	}
	set, err := s.read.Settings(r.Context())
	if err != nil {
		return nil, err
	}
	t := apiText{ID: p.ID, URL: set.BaseURL + p.Path(), Slug: p.Slug, Lang: p.Lang, Title: p.Title, UpdatedAt: p.UpdatedAt}
	return t.render(p.Body)
}

// apiList is a page of a list of posts.
type apiList struct {
	Posts []apiText `json:"posts"`
	Page  int       `json:"page"`
	Pages int       `json:"pages"`
	Total int       `json:"total"`
}

func (s *site) apiPosts(r *http.Request) (any, error) {
	f, number, err := listQuery(r.URL.Query())
	if err != nil {
		return nil, err
	}
	set, err := s.read.Settings(r.Context())
	if err != nil {
		return nil, err
	}
	l, err := s.read.ListPosts(r.Context(), f, content.Window{Number: number, Size: set.PostsPerPage})
	out := apiList{Posts: []apiText{}, Page: number, Pages: pages(l.Total, set.PostsPerPage), Total: l.Total}
	for _, p := range l.Posts {
		out.Posts = append(out.Posts, apiSummary(p, set))
	}
	return out, err
}

func (s *site) apiTags(r *http.Request) (any, error) {
	lang, err := queryLang(r.URL.Query())
	if err != nil {
		return nil, err
	}
	tags, err := s.read.TagCounts(r.Context(), lang)
	return map[string][]content.TagCount{"tags": append([]content.TagCount{}, tags...)}, err
}

func (s *site) apiMonths(r *http.Request) (any, error) {
	lang, err := queryLang(r.URL.Query())
	if err != nil {
		return nil, err
	}
	months, err := s.read.MonthCounts(r.Context(), lang)
	return map[string][]content.MonthCount{"months": append([]content.MonthCount{}, months...)}, err
}

// listQuery reads lang, tag, month and page.
func listQuery(q url.Values) (f content.Filter, number int, err error) {
	if f.Lang, err = queryLang(q); err != nil {
		return f, 0, err
	}
	f.Tag = q.Get("tag")
	if m := q.Get("month"); m != "" {
		if f.Month, err = content.ParseMonth(m); err != nil {
			return f, 0, &apiError{http.StatusBadRequest, "month: " + err.Error()}
		}
	}
	if number, err = pageNumber(q); err != nil {
		return f, 0, &apiError{http.StatusBadRequest, err.Error()}
	}
	return f, number, nil
}

func queryLang(q url.Values) (content.Lang, error) {
	lang := content.Lang(q.Get("lang"))
	if lang == "" {
		return content.English, nil
	}
	if !slices.Contains(content.Langs, lang) {
		return "", &apiError{http.StatusBadRequest, "lang must be en or zh"}
	}
	return lang, nil
}
