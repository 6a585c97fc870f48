package webtest

import (
	"regexp"
	"slices"
	"strings"
)

var (
	samples = regexp.MustCompile(`(?m)^([a-z_]+)(?:\{(.*)\})? \S+$`)
	labels  = regexp.MustCompile(`([a-z_]+)="((?:[^"\\]|\\.)*)"`)
)

// Series returns the time series of a page of metrics in the text format of Prometheus
// whose names begin with prefix: name{label=value,...}, sorted, each once. Of the labels in
// names the value is left out, so that series that differ in these alone are one. The
// labels of a series keep their order, which is by name. Buckets of histograms are left out.
func Series(page, prefix string, names ...string) []string {
	var all []string
	for _, sample := range samples.FindAllStringSubmatch(page, -1) {
		if !strings.HasPrefix(sample[1], prefix) || strings.HasSuffix(sample[1], "_bucket") {
			continue
		}
		var list []string
		for _, label := range labels.FindAllStringSubmatch(sample[2], -1) {
			if name := label[1]; slices.Contains(names, name) {
				list = append(list, name)
			} else {
				list = append(list, name+"="+label[2])
			}
		}
		all = append(all, sample[1]+"{"+strings.Join(list, ",")+"}")
	}
	slices.Sort(all)
	return slices.Compact(all)
}
