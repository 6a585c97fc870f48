package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The size of the window, in pixels.
const width, height = 1200, 900

// paper is the background of both style sheets in light mode.
var paper = color.RGBA{0xfd, 0xfc, 0xf9, 0xff}

// looked is a page, with its required properties.
type looked struct {
	path  string
	texts []string
}

var lookedAt = []looked{
	{"/", []string{"<h1", "Notes from the Yard", "/posts/", `rel="stylesheet"`}},
	{"/posts/the-cost-of-a-miss", []string{"<article", "<h1"}},
	{"/zh/", []string{`lang="zh`, "/zh/posts/"}},
	{"/pages/about", []string{"<h1"}},
	{"/tags/caching", []string{"<h1", "/posts/"}},
	{"/months/2025-03", []string{"<h1", "/posts/"}},
	{"/nothing-here", []string{"<h1", "Notes from the Yard"}},
	{"/admin/posts", []string{"<h1>Posts</h1>", "<textarea", `name="slug"`, "All posts"}},
	{"/_cache", []string{"<h1", `href="/_cache/responses"`}},
	{"/_cache/responses", []string{"<form", "responses:v1", "Policies in force"}},
	{"/_cache/objects?prefix=default:", []string{`id="keys"`, "<li>"}},
}

// The pages work in a browser: each has the required content, in the colours of its style
// sheet. `make e2e` runs this with a Chromium from the PATH or from CHROMIUM.
func TestE2E(t *testing.T) {
	if os.Getenv("SITE_E2E") == "" {
		t.Skip("SITE_E2E is not set: make e2e sets it")
	}
	chromium, err := browser()
	if err != nil {
		t.Fatal(err)
	}
	site, err := launch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(site.kill)
	b := view{chromium: chromium, dir: t.TempDir(), base: site.URL}
	for _, p := range lookedAt {
		t.Run(p.path, func(t *testing.T) {
			colours, err := b.check(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%dx%d, %d colours", width, height, colours)
		})
	}
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

// view shows the site in a browser.
type view struct{ chromium, dir, base string }

// check checks the content of a page, and a screenshot of it.
func (v view) check(ctx context.Context, p looked) (colours int, err error) {
	url := v.base + p.path
	if strings.HasPrefix(p.path, "/_cache") || strings.HasPrefix(p.path, "/admin/") {
		url = strings.Replace(url, "http://", "http://operator:"+processKey+"@", 1)
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
	// The sandbox needs rights that containers lack, and the browser opens only our own pages.
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

// look checks a screenshot: its size, that it is not empty, and that it has the background
// of the style sheet. It returns the number of colours.
func look(path string) (colours int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
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

// fillIn is what the author types and clicks. The site's own pages run no scripts.
const fillIn = `<script>
if (!document.body.innerText.includes("Done.")) {
	const set = {slug: "from-a-browser", title: "From a browser", body: "It *works*.", status: "published"};
	for (const [name, value] of Object.entries(set)) document.getElementById(name).value = value;
	document.querySelector("button[value=save]").click();
}
</script>`

// An author writes a post on the form page in a browser, and readers see it.
func TestE2EForm(t *testing.T) {
	if os.Getenv("SITE_E2E") == "" {
		t.Skip("SITE_E2E is not set: make e2e sets it")
	}
	chromium, err := browser()
	if err != nil {
		t.Fatal(err)
	}
	site, err := launch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(site.kill)
	author := httptest.NewServer(typist(t, site.URL))
	t.Cleanup(author.Close)
	at := strings.Replace(author.URL, "http://", "http://author:"+processKey+"@", 1) + "/admin/posts"
	b := view{chromium: chromium, dir: t.TempDir(), base: author.URL}
	dom, err := b.chrome(t.Context(), "--virtual-time-budget=10000", "--dump-dom", at)
	if err != nil {
		t.Fatal(err)
	}
	status, page := ask(t, http.MethodGet, site.URL+"/posts/from-a-browser", "", "A", "b")
	if status != http.StatusOK || !strings.Contains(page, "<em>works</em>") {
		t.Errorf("the post = %d; the browser shows\n%s", status, dom)
	}
	if _, home := ask(t, http.MethodGet, site.URL+"/", "", "A", "b"); !strings.Contains(home, "From a browser") {
		t.Error("the home page does not show the post")
	}
}

// typist is the site with a script in the form page that acts in the place of an author.
func typist(t *testing.T, base string) http.Handler {
	t.Helper()
	target, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host // the site compares it with the origin of the form
		},
		ModifyResponse: func(w *http.Response) error {
			if w.Request.URL.Path != "/admin/posts" || w.StatusCode != http.StatusOK {
				return nil
			}
			page, err := io.ReadAll(w.Body)
			page = append(page, fillIn...)
			w.Body, w.ContentLength = io.NopCloser(bytes.NewReader(page)), int64(len(page))
			w.Header.Del("Content-Security-Policy")
			w.Header.Set("Content-Length", strconv.Itoa(len(page)))
			return errors.Join(err)
		},
	}
}
