package web

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/twofold-go/twofold/examples/site/content"
)

// maxPage is the last page that anybody may ask for, so that strangers cannot make
// an unbounded number of different requests that reach the database.
const maxPage = 10000

// listing is a page with a list of posts on it, and the way to other lists.
type listing struct {
	frame
	Heading string
	Posts   []content.Summary
	Number  int // of the page
	Pages   int
	Newer   string // path of the page before this one, if there is one
	Older   string
	Tags    []content.TagCount
	Months  []content.MonthCount
}

func (s *site) home(w http.ResponseWriter, r *http.Request, lang content.Lang) error {
	return s.list(w, r, listing{}, content.Filter{Lang: lang}, lang.Path("/"))
}

func (s *site) tag(w http.ResponseWriter, r *http.Request, lang content.Lang) error {
	slug := r.PathValue("tag")
	tags, err := s.read.TagCounts(r.Context(), lang)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(tags, func(t content.TagCount) bool { return t.Slug == slug })
	if at < 0 {
		return content.ErrNotFound // there is no page about nothing
	}
	l := listing{Heading: fmt.Sprintf(vocabulary[lang].Tagged, tags[at].Name), Tags: tags}
	return s.list(w, r, l, content.Filter{Lang: lang, Tag: slug}, lang.Path("/tags/"+slug))
}

func (s *site) month(w http.ResponseWriter, r *http.Request, lang content.Lang) error {
	m, err := content.ParseMonth(r.PathValue("month"))
	if err != nil {
		return content.ErrNotFound
	}
	l := listing{Heading: fmt.Sprintf(vocabulary[lang].From, vocabulary[lang].Month(m))}
	return s.list(w, r, l, content.Filter{Lang: lang, Month: m}, lang.Path("/months/"+m.String()))
}

// list shows the posts of a filter, the page of them that the request asks for.
func (s *site) list(w http.ResponseWriter, r *http.Request, l listing, f content.Filter, path string) (err error) {
	number, err := pageNumber(r.URL.Query())
	if err != nil {
		return content.ErrNotFound
	}
	if l.frame, err = s.frame(r.Context(), f.Lang, pagePath(path, number), l.Heading, ""); err != nil {
		return err
	}
	size := l.Site.PostsPerPage
	posts, err := s.read.ListPosts(r.Context(), f, content.Window{Number: number, Size: size})
	if err != nil {
		return err
	}
	// Only the home page is there when there are no posts.
	if len(posts.Posts) == 0 && (number > 1 || l.Heading != "") {
		return content.ErrNotFound
	}
	l.Posts, l.Number, l.Pages = posts.Posts, number, max(1, pages(posts.Total, size))
	if number > 1 {
		l.Newer = pagePath(path, number-1)
	}
	if number < l.Pages {
		l.Older = pagePath(path, number+1)
	}
	if l.Tags == nil {
		if l.Tags, err = s.read.TagCounts(r.Context(), f.Lang); err != nil {
			return err
		}
	}
	if l.Months, err = s.read.MonthCounts(r.Context(), f.Lang); err != nil {
		return err
	}
	return show(w, http.StatusOK, "list", l)
}

// pageNumber returns the page that a query asks for.
func pageNumber(q url.Values) (int, error) {
	s := q.Get("page")
	if s == "" {
		return 1, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > maxPage || strconv.Itoa(n) != s {
		return 0, fmt.Errorf("page must be a number from 1 to %d", maxPage)
	}
	return n, nil
}

// pagePath returns the path of a page of the list at path.
func pagePath(path string, number int) string {
	if number == 1 {
		return path
	}
	return path + "?page=" + strconv.Itoa(number)
}

func pages(total, size int) int { return (total + size - 1) / size }
