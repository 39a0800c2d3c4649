package rendertest

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/render"
)

func TestRenderer(t *testing.T) {
	web := map[string]string{
		"http://a.test/app.js":  "text one\nfetch /data\nload http://b.test/more.js\nimage /i.png\nmeta robots noindex\nwait 3s\ngo /away\nlink /next\nshow /of$PATH",
		"http://a.test/data":    "two",
		"http://b.test/more.js": "text three\nload http://b.test/more.js",
		"http://a.test/of/page": "text four",
	}
	var asked []string
	fetch := func(q render.Request) render.Response {
		asked = append(asked, q.URL)
		body, ok := web[q.URL]
		if !ok {
			return render.Response{Refused: "there is none"}
		}
		return render.Response{Status: http.StatusOK, Body: []byte(body)}
	}
	var r Renderer
	page := &render.Page{URL: "http://a.test/page", Body: []byte(`<html><head><title>T</title></head><body>x<script src="/app.js"></script><script>text five</script></body></html>`)}
	got, err := r.Render(t.Context(), page, fetch)
	if err != nil {
		t.Fatal(err)
	}
	html := string(got.HTML)
	for _, want := range []string{"<p>one</p>", "<p>two</p>", "<p>three</p>", "<p>four</p>", "<p>five</p>", `<meta name="robots" content="noindex">`, `<a href="/next">`, "<title>T</title>", "x<"} {
		if !strings.Contains(html, want) {
			t.Errorf("no %s in %s", want, html)
		}
	}
	if strings.Contains(html, "<script") || got.Omitted != 1 || got.Own != 3*time.Second || len(got.Links) != 1 || got.Links[0] != "http://a.test/away" {
		t.Errorf("%+v: %s", got, html)
	}
	if again, err := r.Render(t.Context(), page, fetch); err != nil || string(again.HTML) != html {
		t.Errorf("the second time: %v, %v", again, err)
	}
	if n := len(asked); n != 2*(2+mostDepth) {
		t.Errorf("%d requests: %v", n, asked)
	}
}

func TestRendererFails(t *testing.T) {
	var failed *render.Failed
	r := &Renderer{}
	if _, err := r.Render(t.Context(), &render.Page{URL: "http://a.test/", Body: []byte("<script>crash</script>")}, nil); !errors.As(err, &failed) {
		t.Errorf("a crash: %v", err)
	}
	r.Fault = func(point string) error { return errors.New(point) }
	if _, err := r.Render(t.Context(), &render.Page{URL: "http://a.test/"}, nil); !errors.Is(err, render.ErrUnavailable) {
		t.Errorf("a fault: %v", err)
	}
	r.Fault = nil
	r.Down.Store(true)
	if _, err := r.Render(t.Context(), &render.Page{URL: "http://a.test/"}, nil); !errors.Is(err, render.ErrUnavailable) {
		t.Errorf("down: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (&Renderer{Work: time.Hour}).Render(ctx, &render.Page{URL: "http://a.test/"}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
