// Command e2e looks at the site through a headless Chromium, which is on the PATH
// or named by CHROMIUM: each page has what it should, in the colours of its style
// sheet. `make e2e` installs the browser where it can, and runs it.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/twofold-go/twofold/examples/site/siteproc"
)

// The size of the window, in pixels.
const width, height = 1200, 900

// paper is the background that both style sheets ask for in light colours.
var paper = color.RGBA{0xfd, 0xfc, 0xf9, 0xff}

// page is a page, and what it has to have.
type page struct {
	path  string
	texts []string
}

var pages = []page{
	{"/", []string{"<h1", "Notes from the Yard", "/posts/", `rel="stylesheet"`}},
	{"/posts/the-cost-of-a-miss", []string{"<article", "<h1"}},
	{"/zh/", []string{`lang="zh`, "/zh/posts/"}},
	{"/pages/about", []string{"<h1"}},
	{"/tags/caching", []string{"<h1", "/posts/"}},
	{"/months/2025-03", []string{"<h1", "/posts/"}},
	{"/nothing-here", []string{"<h1", "Notes from the Yard"}},
	{"/_cache", []string{"<svg", "Hit ratio of responses", "objects", `href="/_cache/responses"`}},
	{"/_cache/responses", []string{"<form", "responses:v1", "Policies in force"}},
	{"/_cache/objects?prefix=default:", []string{`id="keys"`, "<li>"}},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	chromium, err := browser()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "e2e")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	program, err := siteproc.Build(ctx, dir)
	if err != nil {
		return err
	}
	site, err := siteproc.Start(ctx, program)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, site.Stop()) }()
	b := view{chromium: chromium, dir: dir, base: site.URL}
	for _, p := range pages {
		colours, wrong := b.check(ctx, p)
		if wrong != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", p.path, wrong))
			continue
		}
		fmt.Printf("%-28s %dx%d, %d colours\n", p.path, width, height, colours)
	}
	return err
}

func browser() (string, error) {
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if name == "" {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("there is no chromium on the PATH; set CHROMIUM, or install it (Debian: apt-get install chromium)")
}

// view is how the browser sees the site.
type view struct{ chromium, dir, base string }

// check looks at a page twice: at what it is made of, and at how it looks.
func (v view) check(ctx context.Context, p page) (colours int, err error) {
	url := v.base + p.path
	if strings.HasPrefix(p.path, "/_cache") {
		url = strings.Replace(url, "http://", "http://operator:"+siteproc.AdminKey+"@", 1)
	}
	dom, err := v.chrome(ctx, "--dump-dom", url)
	if err != nil {
		return 0, err
	}
	for _, text := range p.texts {
		if !bytes.Contains(dom, []byte(text)) {
			return 0, fmt.Errorf("there is no %q among %d bytes of DOM", text, len(dom))
		}
	}
	shot := filepath.Join(v.dir, "shot.png")
	if _, err := v.chrome(ctx, "--screenshot="+shot, url); err != nil {
		return 0, err
	}
	return look(shot)
}

func (v view) chrome(ctx context.Context, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	// The sandbox needs rights that containers do not have; only our own pages are shown.
	args = append([]string{
		"--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--user-data-dir=" + filepath.Join(v.dir, "profile"),
		fmt.Sprintf("--window-size=%d,%d", width, height),
	}, args...)
	var errs bytes.Buffer
	cmd := exec.CommandContext(ctx, v.chromium, args...)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("chromium: %w: %s", err, bytes.TrimSpace(errs.Bytes()))
	}
	return out, nil
}

// look checks a screenshot: its size, that there is something on it, and that it
// has the background of the style sheet. It returns how many colours there are.
func look(path string) (colours int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	img, err := png.Decode(f)
	if err != nil {
		return 0, err
	}
	if got := img.Bounds().Size(); got != (image.Point{X: width, Y: height}) {
		return 0, fmt.Errorf("the screenshot is %v", got)
	}
	seen := map[color.RGBA]int{}
	for y := range height {
		for x := range width {
			seen[color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)]++
		}
	}
	switch {
	case len(seen) < 16:
		return 0, fmt.Errorf("the screenshot has %d colours: it is blank", len(seen))
	case seen[paper] < width*height/2:
		return 0, fmt.Errorf("only %d pixels have the background of the style sheet", seen[paper])
	}
	return len(seen), nil
}
