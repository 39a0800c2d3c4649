package fetcher

import (
	"net/http"
	"slices"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/render/rendertest"
)

// A page that is nothing without its scripts is stored and marked. With auto it is the only one
// that is rendered.
func TestShellsAreMarked(t *testing.T) {
	const text = `<!doctype html><title>Mill</title><script src="/app.js"></script><h1>The old mill</h1><p>It has been repaired.</p>`
	files := map[string]http.HandlerFunc{"a.test/": html(shell), "a.test/text": html(text)}
	for mode, want := range map[string][]crawl.Rendering{
		"":                {crawl.RenderingNeeded, crawl.RenderingNone},
		crawl.RenderNever: {crawl.RenderingNeeded, crawl.RenderingNone},
		crawl.RenderAuto:  {crawl.RenderingDone, crawl.RenderingNone},
	} {
		set := func(spec *crawl.Spec, o *Options, _ *desk) {
			spec.Render, o.Renderer = mode, new(rendertest.Renderer)
		}
		renderBubble(t, files, set, func(a *app, d *desk) {
			out := d.outcome(d.grant(visitOf(t, "http://a.test/", "http://a.test/text")))
			if len(out.Results) != 2 {
				t.Fatalf("%q: results %+v", mode, out.Results)
			}
			got := []crawl.Rendering{out.Results[0].Rendering, out.Results[1].Rendering}
			stored := []crawl.Rendering{d.pageOf("http://a.test/").Rendering, d.pageOf("http://a.test/text").Rendering}
			if !slices.Equal(got, want) || !slices.Equal(stored, want) {
				t.Errorf("%q: results %v, pages %v, want %v", mode, got, stored, want)
			}
		})
	}
}
