package newsroom

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"time"
)

// DefaultDelay is what a zero Config.Delay means.
const DefaultDelay = 250 * time.Millisecond

// Config says which newsroom it is. The zero value is ready to use.
type Config struct {
	Seed uint64           // of everything that is published
	Now  func() time.Time // nil: time.Now

	// Day is when the day begins on which some outlets fail for a while: see [Faults].
	// Zero: none ever does.
	Day time.Time

	// Delay is how late a slow outlet answers, by the machine's clock. 0: DefaultDelay.
	Delay time.Duration
}

// Newsroom answers for all outlets. Make one with New. It may be used concurrently.
type Newsroom struct {
	cfg    Config
	topics map[string]topic
	repos  []repository
	mux    *http.ServeMux

	requests, notModified, failed, bytes atomic.Int64
}

// Stats are numbers of answers since the newsroom was made.
type Stats struct {
	Requests    int64 // all of them
	NotModified int64 // of these, answered by 304
	Failed      int64 // of these, answered by 4xx or 5xx
	Bytes       int64 // of bodies, as they went over the network
}

// New returns a newsroom. The error says what is wrong with the texts that it is built
// with.
func New(cfg Config) (*Newsroom, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Delay == 0 {
		cfg.Delay = DefaultDelay
	}
	n := &Newsroom{cfg: cfg}
	var err error
	if n.topics, err = readTopics(); err != nil {
		return nil, err
	}
	if n.repos, err = readRepositories(); err != nil {
		return nil, fmt.Errorf("newsroom: %w", err)
	}
	n.mux = n.routes()
	return n, nil
}

// Stats returns the numbers so far. They are read one by one while others count.
func (n *Newsroom) Stats() Stats {
	return Stats{
		Requests: n.requests.Load(), NotModified: n.notModified.Load(), Failed: n.failed.Load(), Bytes: n.bytes.Load(),
	}
}

// ServeHTTP answers, and counts.
func (n *Newsroom) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	meter := &meter{ResponseWriter: w, status: http.StatusOK}
	n.mux.ServeHTTP(meter, r)
	n.requests.Add(1)
	n.bytes.Add(meter.bytes)
	switch {
	case meter.status == http.StatusNotModified:
		n.notModified.Add(1)
	case meter.status >= http.StatusBadRequest:
		n.failed.Add(1)
	}
}

// meter sees what goes out.
type meter struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (m *meter) WriteHeader(status int) {
	m.status = status
	m.ResponseWriter.WriteHeader(status)
}

func (m *meter) Write(b []byte) (int, error) {
	n, err := m.ResponseWriter.Write(b)
	m.bytes += int64(n)
	return n, err
}
