package main

import (
	"fmt"
	"html"
	"slices"
	"strings"
)

// Sizes in pixels.
const (
	column = 200 // from one actor to the next
	margin = 110 // beside the first and the last actor
	head   = 96  // above the first step
	step   = 44  // from one step to the next
	glyph  = 6.4 // approximate width of a character
)

const style = `<style>
text { font: 12px -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
.title { font-size: 15px; font-weight: 600 }
.actor { font-weight: 600 }
.box { fill: #ddf4ff; stroke: #54aeff }
.note { fill: #fff8c5; stroke: #d4a72c }
.life { stroke: #d0d7de; stroke-dasharray: 3 3 }
.arrow { stroke: #0969da; stroke-width: 1.5 }
.back { stroke: #57606a; stroke-width: 1.5; stroke-dasharray: 6 4 }
</style>
`

// picture is a diagram under construction.
type picture struct {
	actors []string
	title  string
	body   strings.Builder
	y      int // of the current step
}

// render returns the SVG of a text.
func render(text string) (string, error) {
	p := &picture{y: head}
	for i, line := range strings.Split(text, "\n") {
		if err := p.line(strings.TrimSpace(line)); err != nil {
			return "", fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	if len(p.actors) == 0 {
		return "", fmt.Errorf("no line \"actors\"")
	}
	width, height := 2*margin+column*(len(p.actors)-1), p.y
	var out strings.Builder
	fmt.Fprintf(&out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">\n", width, height, width, height)
	fmt.Fprintf(&out, "<title>%s</title>\n%s<rect width=\"%d\" height=\"%d\" rx=\"8\" fill=\"#ffffff\"/>\n", html.EscapeString(p.title), style, width, height)
	p.label(&out, "title", width/2, 26, p.title)
	for i, a := range p.actors {
		x := p.x(i)
		fmt.Fprintf(&out, "<line class=\"life\" x1=\"%d\" y1=\"70\" x2=\"%d\" y2=\"%d\"/>\n", x, x, height-12)
		fmt.Fprintf(&out, "<rect class=\"box\" x=\"%d\" y=\"42\" width=\"140\" height=\"28\" rx=\"4\"/>\n", x-70)
		p.label(&out, "actor", x, 60, a)
	}
	return out.String() + p.body.String() + "</svg>\n", nil
}

// line draws one line of the text.
func (p *picture) line(line string) error {
	switch {
	case line == "" || line[0] == '#':
		return nil
	case strings.HasPrefix(line, "title "):
		p.title = line[len("title "):]
		return nil
	case strings.HasPrefix(line, "actors "):
		for a := range strings.SplitSeq(line[len("actors "):], "|") {
			p.actors = append(p.actors, strings.TrimSpace(a))
		}
		return nil
	}
	who, what, ok := strings.Cut(line, ": ")
	if !ok {
		return fmt.Errorf("%q has no colon", line)
	}
	defer func() { p.y += step }()
	from, to, class := who, "", "arrow"
	if a, b, ok := strings.Cut(who, " --> "); ok {
		from, to, class = a, b, "back"
	} else if a, b, ok := strings.Cut(who, " -> "); ok {
		from, to = a, b
	}
	i, j := slices.Index(p.actors, from), slices.Index(p.actors, to)
	switch {
	case i < 0:
		return fmt.Errorf("%q is no actor", from)
	case to == "":
		p.note(i, what)
	case j < 0:
		return fmt.Errorf("%q is no actor", to)
	default:
		p.arrow(class, p.x(i), p.x(j), what)
	}
	return nil
}

// x returns the x coordinate of an actor.
func (p *picture) x(actor int) int { return margin + column*actor }

// arrow draws a message, with its text above it.
func (p *picture) arrow(class string, from, to int, text string) {
	tip, y := 7, p.y+14
	if to < from {
		tip = -tip
	}
	fmt.Fprintf(&p.body, "<line class=%q x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/>\n", class, from, y, to, y)
	fmt.Fprintf(&p.body, "<path d=\"M%d %d l%d -4 v8 z\" fill=\"#0969da\"/>\n", to, y, -tip)
	p.beside((from+to)/2, p.y+6, text)
}

// note draws a text in a box on an actor's line.
func (p *picture) note(actor int, text string) {
	width := int(glyph*float64(len(text))) + 20
	x := p.within(p.x(actor), width)
	fmt.Fprintf(&p.body, "<rect class=\"note\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"26\" rx=\"3\"/>\n", x-width/2, p.y-8, width)
	p.label(&p.body, "text", x, p.y+9, text)
}

// beside writes a text centered at x, on a white background.
func (p *picture) beside(x, y int, text string) {
	width := int(glyph*float64(len(text))) + 8
	x = p.within(x, width)
	fmt.Fprintf(&p.body, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"16\" fill=\"#ffffff\"/>\n", x-width/2, y-13, width)
	p.label(&p.body, "text", x, y-1, text)
}

// within moves x until a box of the given width fits into the picture.
func (p *picture) within(x, width int) int {
	return max(width/2+8, min(x, 2*margin+column*(len(p.actors)-1)-width/2-8))
}

func (p *picture) label(out *strings.Builder, class string, x, y int, text string) {
	fmt.Fprintf(out, "<text class=%q x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", class, x, y, html.EscapeString(text))
}
