package ops

import (
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/index"
	"github.com/twofold-go/twofold/tier/local"
)

// overview is what /_cache shows, and /_cache/api/stats.
type overview struct {
	At        time.Time `json:"at"`
	On        bool      `json:"on"` // the site caches
	Queries   *int64    `json:"queries,omitempty"`
	PerSecond *float64  `json:"queries_per_second,omitempty"` // lately; nil: not known yet

	Objects   []objectRow    `json:"objects,omitempty"`
	Responses []formatRow    `json:"responses,omitempty"`
	Bypassed  []named        `json:"bypassed,omitempty"` // requests that went past the cache, by reason
	Refused   []named        `json:"refused,omitempty"`  // responses that were not stored, by reason
	Tiers     []tierRow      `json:"tiers,omitempty"`
	Pipeline  *pipelineStats `json:"pipeline,omitempty"`
	Plans     []planRow      `json:"plans,omitempty"`

	Charts []chart `json:"-"`
}

// rates are the hit ratios of a row.
type rates struct {
	Ratio  *float64 `json:"hit_ratio"`           // since the start; nil: there was no look-up
	Lately *float64 `json:"hit_ratio_last_hour"` // nil: there was none
	Spark  chart    `json:"-"`
}

type objectRow struct {
	objectCount
	rates
}

type formatRow struct {
	formatCount
	rates
}

// tierRow is a local tier.
type tierRow struct {
	Name      string `json:"name"`
	Entries   int64  `json:"entries"`
	Bytes     int64  `json:"bytes"`  // with what each entry costs beside itself
	Budget    int64  `json:"budget"` // of bytes; 0: not known
	Evictions int64  `json:"evictions"`
	Indexed   int    `json:"indexed"` // entries in the index, also invalidated ones; -1: there is none
	Tags      int    `json:"tags"`    // that they depend on
	Pairs     int    `json:"pairs"`

	Invalidations int64 `json:"invalidations"` // scopes
}

// overview reads everything there is to show.
func (h *Handler) overview() *overview {
	now, samples := h.sample(), h.samples.all()
	o := &overview{At: now.at.UTC(), On: h.cfg.Caches != nil}
	hour := hourTo(now.at)
	if c := h.cfg.Caches; c != nil {
		t := trends{now: now, samples: samples, hour: hour}
		o.Objects, o.Responses = t.objects(c), t.responses(c)
		s := c.Responses.Stats()
		o.Bypassed, o.Refused = byNumber(s.Bypass), byNumber(s.Refused)
		o.Tiers = c.tierRows()
		o.Pipeline = pipelineOf(c.Changes.Stats())
		o.Plans = plansOf(c.Changes.Recent())
		for _, ch := range []struct{ name, series string }{{"Hit ratio of responses", allResponses}, {"Hit ratio of objects", allObjects}} {
			o.Charts = append(o.Charts, bigChart(ch.name, trend(samples, 2, hitRatio(ch.series)), ratioScale, hour))
		}
	}
	if h.cfg.Queries != nil {
		points := trend(samples, 2, perSecond)
		o.Charts = append(o.Charts, bigChart("Database queries per second", points, rateScale(points), hour))
		o.Queries = &now.queries
		if n := len(points); n > 0 && !points[n-1].gap {
			o.PerSecond = &points[n-1].v
		}
	}
	return o
}

// trends makes the rates of rows.
type trends struct {
	now     sample
	samples []sample
	hour    span
}

func (t *trends) of(series string) rates {
	all := t.now.ratios[series]
	r := rates{Ratio: known(all)}
	if len(t.samples) > 0 {
		r.Lately = known(all.minus(t.samples[0].ratios[series]))
	}
	// A point a minute: a cell has no room for more.
	r.Spark = sparkline("Hit ratio of "+series, trend(t.samples, 6, hitRatio(series)), ratioScale, t.hour)
	return r
}

func (t *trends) objects(c *Caches) (rows []objectRow) {
	for _, n := range objectCounts(c.Objects.Stats()) {
		rows = append(rows, objectRow{n, t.of(objectSeries + n.Type)})
	}
	return rows
}

func (t *trends) responses(c *Caches) (rows []formatRow) {
	for _, n := range formatCounts(c.Responses.Stats()) {
		rows = append(rows, formatRow{n, t.of(responseSeries + n.Format)})
	}
	return rows
}

func (c *Caches) tierRows() []tierRow {
	present, absent := c.Objects.Stats()
	return []tierRow{
		tierOf("responses", c.Tiers.Stats(), c.Budgets.Responses, c.Index),
		tierOf("objects", present, c.Budgets.Objects, c.Objects.Index()),
		tierOf("absences", absent, c.Budgets.Absences, nil),
	}
}

func tierOf(name string, s cache.Stats, budget int64, of *index.Index) tierRow {
	r := tierRow{
		Name: name, Entries: s.Local.Entries, Bytes: s.Local.Bytes + s.Local.Entries*local.Overhead, Budget: budget,
		Evictions: s.Total.Evictions, Indexed: -1, Invalidations: s.Kinds.Keys + s.Kinds.Prefixes + s.Kinds.Tags,
	}
	if of != nil {
		s := of.Stats()
		r.Indexed, r.Tags, r.Pairs = s.Entries, s.Tags, s.Pairs
	}
	return r
}
