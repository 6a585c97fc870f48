package httpcache

import "net/http"

// hand gives the response to the caller, if the caller still waits. It sets the body first. After
// that nothing reads the response, because the caller may change it.
func (x *trip) hand(e *exchanged, set func(), why reason) bool {
	if e.behind || !x.take() {
		return false
	}
	set()
	resp := e.resp
	e.resp = nil // from here on it is the caller's
	if resp.Header == nil {
		resp.Header = http.Header{}
	}
	m := miss{stale: x.had.Load(), vary: x.v != nil, stored: why == none, detail: why} // the caller sees the status
	resp.Header.Add("Cache-Status", x.t.lines.miss(m))
	x.t.stats.of(formatOf(resp.Header)).misses.Add(1)
	x.handed <- resp
	return true
}
