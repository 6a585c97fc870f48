package report

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Stale is one run in stalecheck's table.
type Stale struct {
	Run   string
	Bound time.Duration
	Max   float64 // the greatest staleness of any of its reads, in milliseconds; 0: none was stale
}

// spreads finds "n: p50/p99/max" in a cell.
var spreads = regexp.MustCompile(`^\d+: [\d.]+/[\d.]+/([\d.]+)$`)

// Staleness parses the runs in stalecheck's table. It leaves out controls, which run without a
// safeguard and must be too stale.
func Staleness(text string) []Stale {
	var all []Stale
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if len(cells) < 3 || strings.Contains(cells[0], "without") {
			continue
		}
		bound, err := time.ParseDuration(cells[1])
		if err != nil {
			continue
		}
		s := Stale{Run: cells[0], Bound: bound}
		for _, c := range cells[2:] {
			if m := spreads.FindStringSubmatch(c); m != nil {
				if f, err := strconv.ParseFloat(m[1], 64); err == nil {
					s.Max = max(s.Max, f)
				}
			}
		}
		all = append(all, s)
	}
	return all
}
