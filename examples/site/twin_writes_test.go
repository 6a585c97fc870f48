package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/service"
)

// writers are all kinds of writes; those of posts are more frequent.
var writers = []func(w *twins, roll dice) string{
	(*twins).createPost, (*twins).createPost, (*twins).createPost, (*twins).updatePost, (*twins).updatePost, (*twins).updatePost, (*twins).updatePost,
	(*twins).publishPost, (*twins).publishDue, (*twins).publishDue, (*twins).deletePost, (*twins).createPage, (*twins).updatePage, (*twins).deletePage,
	(*twins).createTag, (*twins).createTag, (*twins).updateTag, (*twins).updateTag, (*twins).deleteTag, (*twins).navigation, (*twins).settings,
	(*twins).createKey, (*twins).updateKey, (*twins).revokeKey,
}

// write makes a write through the admin API or the scheduler. It may be refused. It returns
// the write and its result. It advances the clock first.
func (w *twins) write(roll dice) string {
	w.now.Add(int64(roll(72)) * time.Hour.Milliseconds() / 4)
	return pick(roll, writers)(w, roll)
}

// send makes a call, and returns the reply if it succeeded.
func (w *twins) send(method, path string, in any) (did, reply string) {
	body, err := json.Marshal(in)
	if err != nil {
		w.t.Error(err)
	}
	if (w.writes+w.fails)%2 == 0 {
		path = w.byAPI(path)
	}
	status, reply := w.call(method, path, body)
	did = fmt.Sprintf("%s %s %s = %d", method, path, body, status)
	switch status {
	case http.StatusOK, http.StatusCreated, http.StatusNoContent:
		w.writes++
		return did, reply
	case http.StatusNotFound, http.StatusUnprocessableEntity:
		w.fails++
	default:
		w.t.Errorf("%s: %s", did, reply)
	}
	return did, ""
}

const publicAPI = "/api/v1"

// byAPI returns the path of a call in the public API, which identifies posts and pages by
// slug. It returns paths that only the admin API has unchanged.
func (w *twins) byAPI(path string) string {
	parts := strings.Split(path, "/")
	shelf := map[string]*shelf{"posts": w.posts, "pages": w.pages}[parts[1]]
	switch {
	case shelf == nil && parts[1] != "tags":
		return path
	case shelf != nil && len(parts) > 2:
		id, err := strconv.ParseInt(parts[2], 10, 64)
		if err != nil {
			w.t.Error(err)
		}
		parts[2] = cmp.Or(shelf.slugs[id], "nothing")
	}
	return publicAPI + strings.Join(parts, "/")
}

// shelf is an author's knowledge of posts or pages.
type shelf struct {
	kind  string // its pool
	slugs map[int64]string
	ids   []int64 // by slug, in order: the same dice must give the same run
	gone  int64   // an id that was deleted
}

func newShelf(kind string, n int) *shelf {
	s := &shelf{kind: kind, slugs: map[int64]string{}, gone: 1000}
	for i := range n {
		s.put(int64(i+1), pools[kind][i])
	}
	return s
}

func (s *shelf) put(id int64, slug string) {
	s.slugs[id] = slug
	s.ids = slices.Sorted(maps.Keys(s.slugs))
}

func (s *shelf) drop(id int64) {
	delete(s.slugs, id)
	s.ids, s.gone = slices.Sorted(maps.Keys(s.slugs)), id
}

// any returns an id, rarely one that does not exist.
func (s *shelf) any(roll dice) int64 {
	if len(s.ids) == 0 || roll(12) == 0 {
		return s.gone
	}
	return pick(roll, s.ids)
}

// slug returns a slug, more likely the one of id.
func (s *shelf) slug(roll dice, id int64) string {
	if own, ok := s.slugs[id]; ok && roll(2) == 0 {
		return own
	}
	pool := pools[s.kind]
	return pick(roll, pool[:len(pool)-1])
}

// save makes a call that creates or, with an id, replaces a post or page.
func (w *twins) save(s *shelf, id int64, slug string, in any) string {
	path := "/" + s.kind + "s"
	if id == 0 {
		did, reply := w.send(http.MethodPost, path, in)
		if reply == "" {
			return did
		}
		var made struct{ ID int64 }
		if err := json.Unmarshal([]byte(reply), &made); err != nil || made.ID == 0 {
			w.t.Errorf("no id in %s: %v", reply, err)
		}
		s.put(made.ID, slug)
		return did
	}
	did, reply := w.send(http.MethodPut, fmt.Sprintf("%s/%d", path, id), in)
	if reply != "" {
		s.put(id, slug)
	}
	return did
}

func (w *twins) remove(s *shelf, roll dice) string {
	id, before := s.any(roll), w.writes
	did, _ := w.send(http.MethodDelete, fmt.Sprintf("/%ss/%d", s.kind, id), nil)
	if w.writes > before {
		s.drop(id)
	}
	return did
}

func (w *twins) post(roll dice, id int64) string {
	in := service.PostInput{
		Slug: w.posts.slug(roll, id), Title: pick(roll, []string{"T", "U & <i>"}), Summary: pick(roll, []string{"", "S"}),
		Body:   pick(roll, []string{"b", "# H\n\n*c* & <script>"}),
		Status: pick(roll, []content.Status{content.Draft, content.Scheduled, content.Published, content.Published, content.Published}),
		Tags:   pick(roll, [][]string{nil, {}, {"go"}, {"go"}, {"go", "tea"}, {"web"}}),
	}
	switch in.Status {
	case content.Scheduled:
		in.PublishedAt = w.clock().Add(time.Duration(1+roll(48)) * time.Hour)
	case content.Published:
		in.PublishedAt = pick(roll, []time.Time{{}, {}, w.clock().AddDate(0, -1, 0), time.Date(2026, time.February, 3, 4, 5, 6, 0, time.UTC)})
	case content.Draft:
	}
	return w.save(w.posts, id, in.Slug, in)
}

func (w *twins) createPost(roll dice) string { return w.post(roll, 0) }

func (w *twins) updatePost(roll dice) string { return w.post(roll, w.posts.any(roll)) }

func (w *twins) deletePost(roll dice) string { return w.remove(w.posts, roll) }

func (w *twins) publishPost(roll dice) string {
	did, _ := w.send(http.MethodPost, fmt.Sprintf("/posts/%d/publish", w.posts.any(roll)), nil)
	return did
}

// publishDue publishes the due posts, as the scheduler does.
func (w *twins) publishDue(roll dice) string {
	w.now.Add(int64(roll(48)) * time.Hour.Milliseconds())
	n, err := w.cached.service.PublishDue(w.t.Context())
	if err != nil {
		w.t.Error(err)
	}
	w.writes += n
	return fmt.Sprintf("PublishDue = %d", n)
}

func (w *twins) page(roll dice, id int64) string {
	in := service.PageInput{
		Slug: w.pages.slug(roll, id), Title: pick(roll, []string{"T", "U"}), Body: "b",
	}
	return w.save(w.pages, id, in.Slug, in)
}

func (w *twins) createPage(roll dice) string { return w.page(roll, 0) }

func (w *twins) updatePage(roll dice) string { return w.page(roll, w.pages.any(roll)) }

func (w *twins) deletePage(roll dice) string { return w.remove(w.pages, roll) }

func tag(roll dice) content.Tag {
	return content.Tag{Slug: pick(roll, pools["tag"][:4]), Name: pick(roll, []string{"X", "Y & Z"})}
}

func (w *twins) createTag(roll dice) string {
	did, _ := w.send(http.MethodPost, "/tags", tag(roll))
	return did
}

func (w *twins) updateTag(roll dice) string {
	did, _ := w.send(http.MethodPut, "/tags/"+pick(roll, pools["tag"]), tag(roll))
	return did
}

func (w *twins) deleteTag(roll dice) string {
	did, _ := w.send(http.MethodDelete, "/tags/"+pick(roll, pools["tag"]), nil)
	return did
}

func (w *twins) navigation(roll dice) string {
	n := content.NavItem{Label: pick(roll, []string{"L", "M"}), URL: pick(roll, []string{"/", "/pages/p"})}
	did, _ := w.send(http.MethodPut, "/navigation", map[string]any{"items": []content.NavItem{n}})
	return did
}

func (w *twins) settings(roll dice) string {
	did, _ := w.send(http.MethodPut, "/settings", twinSettings(pick(roll, hosts), roll(4))) // 0 is refused
	return did
}

func keyInput(roll dice) service.KeyInput {
	return service.KeyInput{Label: pick(roll, []string{"L", "M"}), Scopes: pick(roll, [][]content.Scope{nil, content.Scopes, content.Scopes})}
}

func (w *twins) createKey(roll dice) string {
	did, reply := w.send(http.MethodPost, "/keys", keyInput(roll))
	var made struct{ Key string }
	if err := json.Unmarshal([]byte(reply), &made); err != nil || made.Key == "" {
		w.t.Errorf("no key in %s: %v", reply, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.keys = append(w.keys, made.Key)
	return did
}

// aKey returns the path of any key except the first one, which readers use.
func (w *twins) aKey(roll dice) string {
	prefix, _, _ := strings.Cut(pick(roll, append(w.keys[1:len(w.keys):len(w.keys)], "nobody00")), "_")
	return "/keys/" + prefix
}

func (w *twins) updateKey(roll dice) string {
	did, _ := w.send(http.MethodPut, w.aKey(roll), keyInput(roll))
	return did
}

func (w *twins) revokeKey(roll dice) string {
	did, _ := w.send(http.MethodDelete, w.aKey(roll), nil)
	return did
}
