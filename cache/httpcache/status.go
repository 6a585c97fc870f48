package httpcache

import (
	"strconv"
	"time"

	"github.com/dunglas/httpsfv"

	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
	"github.com/twofold-go/twofold/policy"
)

// lines writes the lines of Cache-Status (RFC 9211). The lines of hits are made once.
type lines struct {
	name string
	ttl  time.Duration // 0: left out, or different for each page

	hit, staleHit, bypass, method, missed string
}

// miss is the Cache-Status data of a request for which the handler ran.
type miss struct {
	stale     bool // the stored page was not fresh
	vary      bool // the stored page was for other clients
	asked     bool // the stored page did not meet the client's limits
	stored    bool
	collapsed bool // the handler ran for another client
	status    int  // the handler's status, if the client gets another one; 0: unknown
	detail    reason.Reason
	instead   bool // a stale page replaces the failure
}

func newLines(name string, p policy.Patch) (l lines, err error) {
	list, err := httpsfv.Marshal(httpsfv.List{httpsfv.NewItem(httpsfv.Token(name))})
	return lines{
		name: list, ttl: ttlOf(p), hit: list + ";hit", staleHit: list + ";hit;detail=stale",
		bypass: list + ";fwd=bypass", method: list + ";fwd=method", missed: list + ";fwd=uri-miss;stored",
	}, err
}

// stamp is the line and the age of a stored page in one second. The page remembers the last one, for
// a hit need not spell them.
type stamp struct {
	of        *lines
	stale     bool
	age       int64
	line, old string // Cache-Status and Age
}

// served spells the line and the Age of a stored page that is age seconds old.
func (l *lines) served(p *page, until, stale bool, age int64) *stamp {
	if s := p.stamped.Load(); s != nil && s.of == l && s.stale == stale && s.age == age {
		return s
	}
	s := &stamp{of: l, stale: stale, age: age, line: l.hit, old: strconv.FormatInt(age, 10)}
	if stale {
		s.line = l.staleHit
	}
	switch {
	case !until:
		s.line += ";ttl=" + strconv.FormatInt(p.Fresh/1000-age, 10)
	case l.ttl > 0:
		s.line += ";ttl=" + strconv.FormatInt(int64(l.ttl/time.Second)-age, 10)
	}
	p.stamped.Store(s)
	return s
}

// passed spells the line of a request that bypassed the cache.
func (l *lines) passed(why reason.Reason) string {
	if why == reason.Method {
		return l.method
	}
	return l.bypass + ";detail=" + why.String()
}

// miss spells the line of a request that no stored page answered.
func (l *lines) miss(m miss) string {
	if m == (miss{stored: true}) {
		return l.missed
	}
	fwd := "uri-miss"
	switch {
	case m.asked:
		fwd = "request"
	case m.stale:
		fwd = "stale"
	case m.vary:
		fwd = "vary-miss"
	}
	line := l.name + ";fwd=" + fwd
	if m.status > 0 {
		line += ";fwd-status=" + strconv.Itoa(m.status)
	}
	if m.stored {
		line += ";stored"
	}
	if m.collapsed {
		line += ";collapsed"
	}
	switch {
	case m.instead:
		line += ";detail=stale-if-error"
	case m.detail != reason.None:
		line += ";detail=" + m.detail.String()
	}
	return line
}
