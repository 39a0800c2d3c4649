// Package rendertest is a renderer for tests, without a browser. It runs scripts in a language of a
// few words, which do what the scripts of applications do.
//
// A page has script elements, with a source or with lines of their own. A line is a word and what
// follows it:
//
//	text WORDS     adds a paragraph
//	link URL       adds a link
//	fetch URL      requests data; its text is added as a paragraph, if it came
//	show URL       requests data and runs it as a script; $PATH in it is the path of the page
//	load URL       requests a script and runs it
//	image URL      requests an image, which is not wanted unless the page may load images
//	meta NAME VALUE adds a meta element to the head
//	wait DURATION  lets the page's own clock go on, which takes no time
//	go URL         wants to go to another address
//	crash          ends the renderer, which costs the page
//
// The same page with the same answers becomes the same HTML.
package rendertest

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/curtsy/curtsy/internal/backoff"
	"github.com/curtsy/curtsy/internal/render"
)

// Renderer runs the scripts of pages. The zero value is ready for use, by several goroutines.
type Renderer struct {
	// Work is how long rendering a page takes, besides its requests.
	Work time.Duration
	// Down says that no page can be rendered.
	Down atomic.Bool
	// Fault is called before a page is rendered ("render") and afterwards ("rendered"). If it
	// returns an error, the renderer is gone. It may be nil.
	Fault func(point string) error
	// Pages counts the pages that were begun.
	Pages atomic.Int64
}

// run is a page that is being rendered.
type run struct {
	page   *render.Page
	limits render.Limits
	base   *url.URL
	fetch  render.Fetch
	result render.Result
	head   strings.Builder
	body   strings.Builder
	depth  int
}

// Render runs the scripts of a page.
func (r *Renderer) Render(ctx context.Context, p *render.Page, fetch render.Fetch) (*render.Result, error) {
	if r.Down.Load() {
		return nil, fmt.Errorf("%w: it is down", render.ErrUnavailable)
	}
	if err := r.at("render"); err != nil {
		return nil, err
	}
	r.Pages.Add(1)
	base, err := url.Parse(p.URL)
	if err != nil {
		return nil, &render.Failed{Why: err.Error()}
	}
	x := &run{page: p, limits: p.Limits.WithDefaults(), base: base, fetch: fetch}
	x.result.URL = p.URL
	text := string(p.Body)
	for _, m := range scripts.FindAllStringSubmatch(text, -1) {
		if src := source.FindStringSubmatch(m[1]); src != nil {
			err = x.load(ctx, src[1])
		} else {
			err = x.script(ctx, m[2])
		}
		if err != nil {
			return nil, err
		}
	}
	if err := backoff.Sleep(ctx, r.Work); err != nil {
		return nil, err
	}
	if err := r.at("rendered"); err != nil {
		return nil, err
	}
	rest := scripts.ReplaceAllString(text, "")
	if i := strings.Index(rest, "</head>"); i >= 0 {
		rest = rest[:i] + x.head.String() + rest[i:]
	} else {
		rest = "<head>" + x.head.String() + "</head>" + rest
	}
	rest = strings.TrimSuffix(strings.TrimSpace(rest), "</html>")
	rest = strings.TrimSuffix(strings.TrimSpace(rest), "</body>")
	html := rest + x.body.String() + "</body></html>"
	x.result.Cut = len(html) > x.limits.HTML
	x.result.HTML = []byte(html[:min(len(html), x.limits.HTML)])
	return &x.result, nil
}

// at calls Fault.
func (r *Renderer) at(point string) error {
	if r.Fault == nil {
		return nil
	}
	if err := r.Fault(point); err != nil {
		return fmt.Errorf("%w: %w", render.ErrUnavailable, err)
	}
	return nil
}

var (
	scripts = regexp.MustCompile(`(?s)<script([^>]*)>(.*?)</script>`)
	source  = regexp.MustCompile(`src="([^"]*)"`)
)

// mostDepth is how deep scripts may load one another.
const mostDepth = 8

func (x *run) load(ctx context.Context, ref string) error {
	if x.depth++; x.depth > mostDepth {
		return nil
	}
	defer func() { x.depth-- }()
	r, ok, err := x.request(ctx, ref, render.Script)
	if err != nil || !ok {
		return err
	}
	return x.script(ctx, string(r.Body))
}

// request requests something, if the page may have it.
func (x *run) request(ctx context.Context, ref string, kind render.Kind) (r render.Response, ok bool, err error) {
	for range 5 {
		to, err := x.base.Parse(ref)
		if err != nil {
			return r, false, nil
		}
		q := render.Request{URL: to.String(), Method: http.MethodGet, Kind: kind, Accept: "*/*"}
		if kind == render.Data && to.Host != x.base.Host {
			q.Origin = x.base.Scheme + "://" + x.base.Host
		}
		switch {
		case !slices.Contains(render.Always, kind) && !slices.Contains(x.page.Load, kind):
			x.result.Omit(q.URL, string(kind)+" is not loaded")
			return r, false, nil
		case x.result.Requests >= x.limits.Requests:
			x.result.Omit(q.URL, "too many requests")
			return r, false, nil
		}
		r = x.fetch(q)
		if ctx.Err() != nil {
			return r, false, ctx.Err()
		}
		if r.Refused != "" {
			x.result.Omit(q.URL, r.Refused)
			return r, false, nil
		}
		x.result.Requests++
		x.result.Bytes += int64(len(r.Body))
		if r.Status < 300 || r.Status > 399 {
			return r, r.Status == http.StatusOK, nil
		}
		ref = r.Header.Get("Location")
	}
	return r, false, nil
}

func (x *run) script(ctx context.Context, text string) error {
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "text":
			fmt.Fprintf(&x.body, "<p>%s</p>\n", rest)
		case "link":
			fmt.Fprintf(&x.body, "<a href=\"%s\">%s</a>\n", rest, rest)
		case "meta":
			name, value, _ := strings.Cut(rest, " ")
			fmt.Fprintf(&x.head, "<meta name=\"%s\" content=\"%s\">\n", name, value)
		case "fetch":
			r, ok, err := x.request(ctx, rest, render.Data)
			if err != nil {
				return err
			}
			if ok {
				fmt.Fprintf(&x.body, "<p>%s</p>\n", r.Body)
			}
		case "show":
			r, ok, err := x.request(ctx, strings.ReplaceAll(rest, "$PATH", x.base.RequestURI()), render.Data)
			if err == nil && ok {
				err = x.script(ctx, string(r.Body))
			}
			if err != nil {
				return err
			}
		case "load":
			if err := x.load(ctx, rest); err != nil {
				return err
			}
		case "image":
			if _, _, err := x.request(ctx, rest, render.Image); err != nil {
				return err
			}
		case "wait":
			d, err := time.ParseDuration(rest)
			if err != nil {
				return &render.Failed{Why: err.Error()}
			}
			x.result.Own += d
		case "go":
			if to, err := x.base.Parse(rest); err == nil {
				x.result.Links = append(x.result.Links, to.String())
			}
		case "crash":
			return &render.Failed{Why: "its process crashed"}
		}
	}
	return nil
}
