package ops

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// chart is a line chart, ready for the template. All lengths are in the units of
// its view box.
type chart struct {
	Title         string // for those who cannot see it: what it is and what it says last
	Width, Height int
	Left, Right   float64 // of the lines' area
	Top, Bottom   float64
	Marks         []mark // of the value axis, from below
	From, To      string // of the time axis; "": it has no labels
	Lines         []string
	Dots          []dot // values with a gap on both sides
	Empty         bool
}

type mark struct {
	Y     string
	Label string
}

type dot struct{ X, Y string }

// scale says what the value axis goes up to, and how values are written.
type scale struct {
	top    float64
	format func(float64) string
}

var ratioScale = scale{1, percent}

// rateScale goes up to the first of 1, 2, 5, 10, … that no point is above.
func rateScale(points []point) scale {
	top, highest := 1.0, 0.0
	for _, p := range points {
		if !p.gap {
			highest = max(highest, p.v)
		}
	}
	for steps := []float64{2, 2.5, 2}; top < highest; {
		top *= steps[0]
		steps = append(steps[1:], steps[0])
	}
	return scale{top, tenths}
}

// span is the hour that ends now.
type span struct{ from, to time.Time }

func hourTo(now time.Time) span { return span{now.Add(-time.Hour), now} }

// bigChart is a chart with axes.
func bigChart(name string, points []point, s scale, t span) chart {
	c := chart{Width: 480, Height: 150, Left: 44, Right: 474, Top: 10, Bottom: 128}
	c.draw(name, points, s, t)
	for _, part := range []float64{0, .5, 1} {
		c.Marks = append(c.Marks, mark{tenths(c.y(part)), s.format(part * s.top)})
	}
	c.From, c.To = t.from.UTC().Format("15:04"), t.to.UTC().Format("15:04 MST")
	return c
}

// sparkline is a chart for a cell of a table.
func sparkline(name string, points []point, s scale, t span) chart {
	c := chart{Width: 180, Height: 28, Left: 2, Right: 178, Top: 3, Bottom: 25}
	c.draw(name, points, s, t)
	c.Marks = []mark{{Y: tenths(c.Bottom)}}
	return c
}

// draw makes lines of the points between gaps, and dots of points that are alone.
func (c *chart) draw(name string, points []point, s scale, t span) {
	var run []dot
	last := ""
	end := func() {
		switch {
		case len(run) == 1:
			c.Dots = append(c.Dots, run[0])
		case len(run) > 1:
			c.Lines = append(c.Lines, polyline(run))
		}
		run = nil
	}
	for _, p := range points {
		if p.gap || p.at.Before(t.from) || p.at.After(t.to) {
			end()
			continue
		}
		x := c.Left + (c.Right-c.Left)*float64(p.at.Sub(t.from))/float64(t.to.Sub(t.from))
		run = append(run, dot{tenths(x), tenths(c.y(p.v / s.top))})
		last = s.format(p.v)
	}
	end()
	c.Empty = last == ""
	c.Title = name + ": nothing to show yet"
	if !c.Empty {
		c.Title = name + ", the last hour: " + last + " at last"
	}
}

// y returns where a part of the top is.
func (c *chart) y(part float64) float64 { return c.Bottom - (c.Bottom-c.Top)*part }

func polyline(run []dot) string {
	var b strings.Builder
	for i, d := range run {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(d.X + "," + d.Y)
	}
	return b.String()
}

// tenths writes a number as exactly as a chart needs it.
func tenths(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

// percent writes a ratio. It is rounded down: what is not all is not 100%.
func percent(v float64) string {
	return strconv.FormatFloat(math.Floor(v*1000)/10, 'f', -1, 64) + "%"
}
