package ops

import "time"

// overview is what /_cache shows, and /_cache/stats.
type overview struct {
	At        time.Time `json:"at"`
	On        bool      `json:"on"` // the site caches
	Queries   *int64    `json:"queries,omitempty"`
	PerSecond *float64  `json:"queries_per_second,omitempty"` // lately; nil: not known yet

	Objects   []row          `json:"objects,omitempty"`   // by type
	Responses []row          `json:"responses,omitempty"` // by format
	Pipeline  *pipelineStats `json:"pipeline,omitempty"`
	Plans     []planRow      `json:"plans,omitempty"`

	Layers []string `json:"layers"` // that have pages of their own
	Charts []chart  `json:"-"`
}

// row is how a type of objects or a format of responses does.
type row struct {
	Name   string   `json:"name"`
	Ratio  *float64 `json:"hit_ratio"`           // since the start; nil: there was no look-up
	Lately *float64 `json:"hit_ratio_last_hour"` // nil: there was none
	Spark  chart    `json:"-"`
}

// overview reads everything there is to show.
func (h *Handler) overview() *overview {
	now, samples := h.sample(), h.samples.all()
	o := &overview{At: now.at.UTC(), On: h.cfg.Caches != nil, Layers: []string{}}
	hour := hourTo(now.at)
	if c := h.cfg.Caches; c != nil {
		t := trends{now: now, samples: samples, hour: hour}
		o.Objects = t.of(objectSeries, objectTallies(c.Objects.Stats()))
		o.Responses = t.of(responseSeries, responseTallies(c.Responses.Stats()))
		o.Pipeline = pipelineOf(c.Changes.Stats())
		o.Plans = plansOf(c.Changes.Recent())
		for _, ch := range []struct{ name, series string }{{"Hit ratio of responses", allResponses}, {"Hit ratio of objects", allObjects}} {
			o.Charts = append(o.Charts, bigChart(ch.name, trend(samples, 2, hitRatio(ch.series)), ratioScale, hour))
		}
	}
	for _, l := range h.cfg.Caches.layers() {
		o.Layers = append(o.Layers, l.Name)
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

// trends makes rows.
type trends struct {
	now     sample
	samples []sample
	hour    span
}

// of returns the rows of a kind of series.
func (t *trends) of(kind string, all tallies) (rows []row) {
	for _, name := range all.names() {
		series := kind + name
		r := row{Name: name, Ratio: known(all[name])}
		if len(t.samples) > 0 {
			r.Lately = known(t.now.ratios[series].minus(t.samples[0].ratios[series]))
		}
		// A point a minute: a cell has no room for more.
		r.Spark = sparkline("Hit ratio of "+series, trend(t.samples, 6, hitRatio(series)), ratioScale, t.hour)
		rows = append(rows, r)
	}
	return rows
}
