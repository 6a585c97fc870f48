// Package report keeps samples and makes tables and verdicts from them.
package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Line names a measurement: a contender under a setting of a workload.
type Line struct {
	Workload, Setting, Contender string
}

// String returns the line as a benchmark's name.
func (l Line) String() string {
	return "Benchmark" + strings.Join([]string{word(l.Workload), word(l.Setting), word(l.Contender)}, "/")
}

// word removes from a name what benchstat would read as its end.
func word(s string) string {
	return strings.NewReplacer(" ", "_", ",", "", "/", "_", "%", "pct", "-", "_").Replace(s)
}

// Book holds samples: numbers with a unit, for lines, in the order they were taken. The zero Book is
// empty.
type Book struct {
	lines []Line
	nums  map[Line]*numbers
}

type numbers struct {
	units  []string
	values map[string][]float64
}

// Add records one sample.
func (b *Book) Add(l Line, unit string, v float64) {
	if b.nums == nil {
		b.nums = map[Line]*numbers{}
	}
	n := b.nums[l]
	if n == nil {
		n = &numbers{values: map[string][]float64{}}
		b.nums[l] = n
		b.lines = append(b.lines, l)
	}
	if !slices.Contains(n.units, unit) {
		n.units = append(n.units, unit)
	}
	n.values[unit] = append(n.values[unit], v)
}

// Values returns the samples of a line in a unit. The caller owns the slice.
func (b *Book) Values(l Line, unit string) []float64 {
	if n := b.nums[l]; n != nil {
		return slices.Clone(n.values[unit])
	}
	return nil
}

// Median returns the median of a line's samples, or NaN if there are none.
func (b *Book) Median(l Line, unit string) float64 { return Median(b.Values(l, unit)) }

// Ratio returns the median, over the rounds, of x's sample divided by y's sample of the same round.
// If the machine is slow for a while, both samples are affected, so neither line gains. Ratio is
// NaN unless both lines have the same number of samples.
func (b *Book) Ratio(x, y Line, unit string) float64 {
	return b.paired(x, y, unit, func(x, y float64) float64 { return x / y })
}

// Above is [Book.Ratio] for the difference instead of the quotient.
func (b *Book) Above(x, y Line, unit string) float64 {
	return b.paired(x, y, unit, func(x, y float64) float64 { return x - y })
}

func (b *Book) paired(x, y Line, unit string, f func(x, y float64) float64) float64 {
	xs, ys := b.Values(x, unit), b.Values(y, unit)
	if len(xs) != len(ys) {
		return math.NaN()
	}
	for i := range xs {
		xs[i] = f(xs[i], ys[i])
	}
	return Median(xs)
}

// Median returns the median of values, or NaN if there are none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	v := slices.Sorted(slices.Values(values))
	mid := len(v) / 2
	if len(v)%2 == 1 {
		return v[mid]
	}
	return (v[mid-1] + v[mid]) / 2
}

// WriteRaw writes every sample in the format of Go benchmarks, for benchstat.
func (b *Book) WriteRaw(w io.Writer) error {
	for _, l := range b.lines {
		n := b.nums[l]
		rows := 0
		for _, u := range n.units {
			rows = max(rows, len(n.values[u]))
		}
		for i := range rows {
			if _, err := fmt.Fprintln(w, l.String()+"\t1"+n.row(i)); err != nil {
				return fmt.Errorf("report: %w", err)
			}
		}
	}
	return nil
}

// row returns the i-th sample of each unit.
func (n *numbers) row(i int) string {
	var s strings.Builder
	for _, u := range n.units {
		if i < len(n.values[u]) {
			fmt.Fprintf(&s, "\t%s %s", strconv.FormatFloat(n.values[u][i], 'g', 8, 64), u)
		}
	}
	return s.String()
}
