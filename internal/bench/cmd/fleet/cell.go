package main

import (
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/internal/bench/measure"
	"github.com/twofold-go/twofold/internal/bench/proc"
	"github.com/twofold-go/twofold/internal/bench/setup"
)

const (
	writers = 8 // members that invalidate, or as many as listen if that is less
	timed   = 3 // members that listen and note when samples arrive
)

// cell is a fleet at one rate, and its results. Numbers are per second.
type cell struct {
	Kind             string
	Members, Writers int  // members that listen; members that invalidate, which follow the log as well
	Real             bool // each member that listens is a process
	Bound            time.Duration
	Rate             int // requested

	Sent, Records  float64
	Redis, Member  float64 // processor cores: of Redis, and of one member that listens
	In, Out        float64 // bytes
	Reads, Scripts float64 // XREAD and EVALSHA
	Lag50, Lag99   time.Duration
}

// meter measures cells on one Redis.
type meter struct {
	t     *setup.T
	o     *plan
	rdb   *redis.Client
	post  post
	cells []cell
}

// fleet measures a fleet at every rate, except rates above one that was too high.
func (m *meter) fleet(c cell) {
	setup.Check(m.rdb.FlushAll(m.t.Context()).Err())
	c.Writers = min(c.Members, writers)
	t := m.t.Part()
	defer t.Close()
	m.post.Bound = c.Bound
	crew := proc.Hire[deed](t, childEnv, m.posts(c))
	crew.Tell(order{})
	crew.Answers() // when they are ready
	full := map[string]bool{}
	for _, c.Rate = range m.o.rates {
		for _, c.Kind = range []string{byKey, byTag} {
			if full[c.Kind] || (c.Rate == 0 && c.Kind == byTag) {
				continue
			}
			c := c
			m.run(crew, &c)
			fmt.Fprintf(os.Stderr, "%+v\n", c)
			full[c.Kind] = c.Redis >= 1 || c.Lag99 >= c.Bound
			m.cells = append(m.cells, c)
		}
	}
}

// posts returns the processes of a fleet. The last one contains the writers.
func (m *meter) posts(c cell) (posts []post) {
	add := func(members, timed int, writes bool) {
		p := m.post
		p.Members, p.Timed, p.Writes = members, timed, writes
		posts = append(posts, p)
	}
	if c.Real {
		for i := range c.Members {
			add(1, max(0, min(1, timed-i)), false)
		}
	} else {
		add(c.Members, min(c.Members, timed), false)
	}
	add(c.Writers, 1, true)
	return posts
}

// run measures one cell. The last process of the crew writes.
func (m *meter) run(crew proc.Crew[deed], c *cell) {
	begin := proc.Now() + int64(m.o.each/4) // nothing before that time counts
	o := order{c.Kind, c.Rate, begin, begin + int64(m.o.each)}
	crew.Tell(o)
	var looks [2]measure.Server
	for i, at := range []int64{o.Start, o.End} {
		proc.SleepUntil(at)
		looks[i] = measure.LookAt(m.t.Context(), m.rdb)
	}
	c.take(looks[1].Since(looks[0]), crew.Answers(), o)
}

// take computes the results from the numbers of Redis and the children.
func (c *cell) take(s measure.Server, deeds []deed, o order) {
	seconds := time.Duration(o.End - o.Start).Seconds()
	c.Redis, c.In, c.Out = s.CPU.Seconds()/seconds, float64(s.In)/seconds, float64(s.Out)/seconds
	c.Records = float64(s.Calls["xadd"]) / seconds
	c.Reads, c.Scripts = float64(s.Calls["xread"])/seconds, float64(s.Calls["evalsha"])/seconds
	last := len(deeds) - 1
	c.Sent = float64(deeds[last].Sent) / seconds
	var lags []time.Duration
	for _, d := range deeds[:last] {
		c.Member += d.CPU.Seconds() / seconds / float64(c.Members)
		for _, seen := range d.Seen {
			lags = append(lags, lagsOf(deeds[last].Seen[0], seen, o)...)
		}
	}
	slices.Sort(lags)
	c.Lag50, c.Lag99 = measure.Quantile(lags, 0.5), measure.Quantile(lags, 0.99)
}

// unheard is the lag of a sample that a member has not received.
const unheard = time.Hour

// lagsOf returns how long the samples of a cell took to reach a member.
func lagsOf(called, heard map[uint64]int64, o order) (lags []time.Duration) {
	for hash, at := range called {
		if at < o.Start || at >= o.End {
			continue
		}
		lag := unheard
		if then, ok := heard[hash]; ok {
			lag = time.Duration(then - at)
		}
		lags = append(lags, lag)
	}
	return lags
}
