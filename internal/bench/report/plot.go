package report

import (
	"fmt"
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// Bar is one bar of a plot.
type Bar struct {
	Name  string
	Value float64
	Ours  bool // painted in another color
}

var (
	oursColor  = color.RGBA{R: 0x1f, G: 0x77, B: 0xb4, A: 0xff}
	otherColor = color.RGBA{R: 0xb0, G: 0xb0, B: 0xb0, A: 0xff}
)

// Bars draws horizontal bars on a logarithmic axis, the first one on top, and writes them to an SVG
// file. Values must be positive.
func Bars(path, title, axis string, bars []Bar) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text = title, axis
	least := math.Inf(1)
	names := make([]string, len(bars))
	for _, b := range bars {
		least = min(least, b.Value)
	}
	if len(bars) == 0 || least <= 0 {
		return fmt.Errorf("report: plot %q: want positive values, got %d with a least of %v", title, len(bars), least)
	}
	floor := least / 2
	for i, b := range bars {
		at := len(bars) - 1 - i
		names[at] = "  " + b.Name // otherwise a long name touches the edge
		if err := addBar(p, b, float64(at), floor); err != nil {
			return err
		}
	}
	p.NominalY(names...)
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.X.Min = floor
	return save(p, path, vg.Length(1.2+0.25*float64(len(bars)))*vg.Inch)
}

// addBar draws a rectangle from the floor of the axis. The library's bar chart would begin at zero,
// which a logarithmic axis does not have.
func addBar(p *plot.Plot, b Bar, at, floor float64) error {
	const half = 0.35
	box, err := plotter.NewPolygon(plotter.XYs{
		{X: floor, Y: at - half}, {X: b.Value, Y: at - half}, {X: b.Value, Y: at + half}, {X: floor, Y: at + half},
	})
	if err != nil {
		return fmt.Errorf("report: bar %q: %w", b.Name, err)
	}
	box.Color, box.Width = otherColor, 0
	if b.Ours {
		box.Color = oursColor
	}
	label, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: b.Value, Y: at - half/3}}, Labels: []string{" " + Number(b.Value)}})
	if err != nil {
		return fmt.Errorf("report: bar %q: %w", b.Name, err)
	}
	p.Add(box, label)
	p.X.Max = max(p.X.Max, b.Value*2)
	return nil
}

// Curve is one line of a plot.
type Curve struct {
	Name string
	XY   [][2]float64
	Dots bool // points without a line between them
}

// Curves draws lines over a logarithmic horizontal axis and writes them to an SVG file. With logY
// the vertical axis is logarithmic, too. Points that are not positive on a logarithmic axis are
// left out.
func Curves(path, title, xAxis, yAxis string, logY bool, curves []Curve) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, xAxis, yAxis
	p.Legend.Top, p.Legend.Left, p.Legend.Padding = true, true, vg.Points(2)
	ticks := map[float64]bool{}
	drawn := 0
	for i, c := range curves {
		xy := drawable(c.XY, logY)
		if len(xy) == 0 {
			continue
		}
		for _, at := range xy {
			ticks[at.X] = true
		}
		if err := addCurve(p, c, i, xy); err != nil {
			return err
		}
		drawn++
	}
	if drawn == 0 {
		return fmt.Errorf("report: plot %q: nothing to draw", title)
	}
	p.X.Scale = plot.LogScale{}
	var marks plot.ConstantTicks
	for x := range ticks {
		marks = append(marks, plot.Tick{Value: x, Label: strconv.FormatFloat(x, 'g', 4, 64)})
	}
	p.X.Tick.Marker = marks
	if logY {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	} else {
		p.Y.Min = 0
	}
	p.Y.Max *= 1.5 // room for the legend
	return save(p, path, 4*vg.Inch)
}

func addCurve(p *plot.Plot, c Curve, i int, xy plotter.XYs) error {
	line, dots, err := plotter.NewLinePoints(xy)
	if err != nil {
		return fmt.Errorf("report: curve %q: %w", c.Name, err)
	}
	line.Color, dots.Color, dots.Shape = plotutil.Color(i), plotutil.Color(i), plotutil.Shape(i)
	if c.Dots {
		p.Add(dots)
		p.Legend.Add(c.Name, dots)
		return nil
	}
	p.Add(line, dots)
	p.Legend.Add(c.Name, line, dots)
	return nil
}

func drawable(points [][2]float64, logY bool) (xy plotter.XYs) {
	for _, at := range points {
		if at[0] > 0 && !math.IsNaN(at[1]) && (at[1] > 0 || !logY) {
			xy = append(xy, plotter.XY{X: at[0], Y: at[1]})
		}
	}
	return xy
}

func save(p *plot.Plot, path string, height vg.Length) error {
	if err := p.Save(7*vg.Inch, height, path); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
