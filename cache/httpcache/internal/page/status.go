package page

import (
	"math"
	"strconv"

	"github.com/dunglas/httpsfv"

	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
)

// Lines writes the lines of Cache-Status (RFC 9211). The lines of hits are made once.
type Lines struct {
	name string

	Hit, staleHit, bypass, method, missed string
}

// Miss is the Cache-Status data of a request for which the handler ran.
type Miss struct {
	Stale     bool // the stored page was not fresh
	Vary      bool // the stored page was for other clients
	Asked     bool // the stored page did not meet the client's limits
	Stored    bool
	Collapsed bool // the handler ran for another client
	Status    int  // the handler's status, if the client gets another one; 0: unknown
	Detail    reason.Reason
	Instead   bool // a stale page replaces the failure
}

// NewLines returns the lines of a cache by its name.
func NewLines(name string) (l Lines, err error) {
	list, err := httpsfv.Marshal(httpsfv.List{httpsfv.NewItem(httpsfv.Token(name))})
	return Lines{
		name: list, Hit: list + ";hit", staleHit: list + ";hit;detail=stale",
		bypass: list + ";fwd=bypass", method: list + ";fwd=method", missed: list + ";fwd=uri-miss;stored",
	}, err
}

// Stamp is the line and the age of a stored page in one second. The page remembers the last one, for
// a hit need not spell them.
type Stamp struct {
	of        *Lines
	stale     bool
	age, ttl  int64
	Line, Age string // Cache-Status and Age
}

// NoTTL is the ttl of a page that is fresh without end, or is stale for an unknown time.
const NoTTL = math.MinInt64

// Served spells the line and the Age of a stored page that is age seconds old and fresh for ttl seconds more.
func (l *Lines) Served(p *Page, stale bool, age, ttl int64) *Stamp {
	if s := p.stamped.Load(); s != nil && s.of == l && s.stale == stale && s.age == age && s.ttl == ttl {
		return s
	}
	s := &Stamp{of: l, stale: stale, age: age, ttl: ttl, Line: l.Hit, Age: strconv.FormatInt(age, 10)}
	if stale {
		s.Line = l.staleHit
	}
	if ttl != NoTTL {
		s.Line += ";ttl=" + strconv.FormatInt(ttl, 10)
	}
	p.stamped.Store(s)
	return s
}

// Passed spells the line of a request that bypassed the cache.
func (l *Lines) Passed(why reason.Reason) string {
	if why == reason.Method {
		return l.method
	}
	return l.bypass + ";detail=" + why.String()
}

// Miss spells the line of a request that no stored page answered.
func (l *Lines) Miss(m Miss) string {
	if m == (Miss{Stored: true}) {
		return l.missed
	}
	fwd := "uri-miss"
	switch {
	case m.Asked:
		fwd = "request"
	case m.Stale:
		fwd = "stale"
	case m.Vary:
		fwd = "vary-miss"
	}
	line := l.name + ";fwd=" + fwd
	if m.Status > 0 {
		line += ";fwd-status=" + strconv.Itoa(m.Status)
	}
	if m.Stored {
		line += ";stored"
	}
	if m.Collapsed {
		line += ";collapsed"
	}
	switch {
	case m.Instead:
		line += ";detail=stale-if-error"
	case m.Detail != reason.None:
		line += ";detail=" + m.Detail.String()
	}
	return line
}
