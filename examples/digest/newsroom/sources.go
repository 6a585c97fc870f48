package newsroom

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/twofold-go/twofold/examples/digest/collector/fetchers"
	"github.com/twofold-go/twofold/examples/digest/store"
)

// Where the services of fixed address are, below the newsroom's base.
const (
	hackerNewsPath = "/hn"
	redditPath     = "/reddit"
	gitHubPath     = "/github"
)

// Services returns where fetchers find the services of a newsroom at base, for example
// http://127.0.0.1:8080. Answers are not shared between sources: time may pass faster
// here than the cache's clock, by which an answer is young.
func Services(base string) fetchers.Config {
	return fetchers.Config{HackerNews: base + hackerNewsPath, Reddit: base + redditPath, GitHub: base + gitHubPath, Share: -1}
}

// Sources returns the sources of a newsroom at base, the most popular first. All are
// public. One is of a type that nobody can fetch.
func Sources(base string) ([]store.Source, error) {
	all := outlets()
	sources := make([]store.Source, len(all))
	for i := range all {
		config, err := json.Marshal(settings(&all[i], base))
		if err != nil {
			return nil, fmt.Errorf("newsroom: source %s: %w", all[i].slug, err)
		}
		sources[i] = store.Source{Name: all[i].name, Type: all[i].typ, Config: config, Public: true}
	}
	return sources, nil
}

// settings returns the config of an outlet's source.
func settings(o *outlet, base string) map[string]any {
	config := map[string]any{}
	if o.every > 0 {
		config["fetch_interval_minutes"] = o.every
	}
	switch o.form {
	case hackerNewsForm:
		config["filter"], config["min_score"] = o.query, 50
	case redditForm:
		config["subreddit"], config["sort"] = o.slug, o.query
	case trendingForm:
		config["language"] = o.query
	case nobodyForm:
		config["list"] = o.slug
	case apiForm:
		config["url"] = base + pathOf(o)
		config["headers"] = map[string]string{"Authorization": apiKey}
		config["items"] = "data.articles"
		config["fields"] = map[string]string{
			"id": "uuid", "title": "headline", "url": "links.0.href", "content": "body", "author": "by", "published": "at",
		}
	default:
		config["url"] = base + pathOf(o)
		if o.moved {
			config["url"] = base + oldPathOf(o)
		}
	}
	return config
}

// Packs returns the packs that the newsroom's sources are offered in, the most popular
// first, of which the first one is the default. The ids are those of [Sources], in their
// order.
func Packs(ids []int64) ([]store.Pack, error) {
	all := outlets()
	if len(ids) != len(all) {
		return nil, fmt.Errorf("newsroom: %d ids of sources, want %d", len(ids), len(all))
	}
	byOutlet := map[string]int64{}
	for i := range all {
		byOutlet[all[i].slug] = ids[i]
	}
	var list []store.Pack
	for i, p := range packs() {
		s := store.Pack{Slug: p.slug, Name: p.name, Description: p.description, Default: i == 0}
		for _, slug := range p.outlets {
			s.SourceIDs = append(s.SourceIDs, byOutlet[slug])
		}
		list = append(list, s)
	}
	return list, nil
}

// Install adds the sources and packs of a newsroom at base to a store, all or none, and
// returns them as population wants them: the most popular first.
func Install(ctx context.Context, st *store.Store, base string) (ids []int64, packs []store.Pack, err error) {
	sources, err := Sources(base)
	if err != nil {
		return nil, nil, err
	}
	err = st.Write(ctx, func(tx *store.Tx) error {
		for _, s := range sources {
			id, err := tx.AddSource(ctx, s)
			if err != nil {
				return fmt.Errorf("newsroom: source %s: %w", s.Name, err)
			}
			ids = append(ids, id)
		}
		if packs, err = Packs(ids); err != nil {
			return err
		}
		for _, p := range packs {
			if _, err := tx.AddPack(ctx, p); err != nil {
				return fmt.Errorf("newsroom: pack %s: %w", p.Slug, err)
			}
		}
		return nil
	})
	return ids, packs, err
}

// Fault is how an outlet fails on [Config].Day.
type Fault struct {
	Source string // the source's name
	Fails  bool   // by what a client takes for a failure; false: it is slow
}

// Faults returns which outlets fail on [Config].Day.
func Faults() []Fault {
	var all []Fault
	for _, o := range outlets() {
		if o.fault.kind != noFault {
			all = append(all, Fault{o.name, o.fault.kind != slowFault})
		}
	}
	return all
}
