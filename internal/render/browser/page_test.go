package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/render"
)

// scripted is a browser that answers all commands, and has a page ask for what a test says.
type scripted struct {
	t        *testing.T
	requests []pausedRequest
	events   []string // of the page, after its requests
	silent   string   // a command that is never answered
	crash    string   // a command at which the page crashes

	out     func(string)
	open    int               // requests without an answer
	answers map[string]string // by the number of the request
	calls   []string
	granted float64 // milliseconds of the page's clock
}

func (s *scripted) event(session, method string, params any) {
	b, err := json.Marshal(object{"method": method, "sessionId": session, "params": params})
	if err != nil {
		s.t.Error(err)
	}
	s.out(string(b))
}

// serve answers commands until the connection ends.
func (s *scripted) serve(in *bufio.Reader) {
	s.answers = map[string]string{}
	for {
		b, err := readMessage(in, 1<<20)
		if err != nil {
			return
		}
		var m message
		if err := json.Unmarshal(b, &m); err != nil {
			s.t.Error(err)
		}
		s.calls = append(s.calls, m.Method)
		if m.Method == s.crash {
			s.event("", "Target.targetCrashed", object{"targetId": "T"})
			continue
		}
		if m.Method == s.silent {
			continue
		}
		result := "{}"
		switch m.Method {
		case "Target.createBrowserContext":
			result = `{"browserContextId":"C"}`
		case "Target.createTarget":
			result = `{"targetId":"T"}`
		case "Target.attachToTarget":
			result = `{"sessionId":"S"}`
		case "Page.createIsolatedWorld":
			result = `{"executionContextId":1}`
		case "Page.navigate":
			s.paused("document", "Document", "GET", pageURL, nil)
		case "DOMSnapshot.captureSnapshot":
			tr := newTree(pageURL, pageURL)
			tr.text(tr.body(), "rendered")
			b, _ := json.Marshal(&tr.s)
			result = string(b)
		}
		s.out(fmt.Sprintf(`{"id":%d,"result":%s}`, m.ID, result))
		s.after(&m)
	}
}

func (s *scripted) paused(id, kind, method, url string, header map[string]string) {
	r := pausedRequest{ID: id, Type: kind, Frame: "T"}
	r.Request.URL, r.Request.Method, r.Request.Headers = url, method, header
	s.open++
	s.event("S", "Fetch.requestPaused", &r)
}

// after does what follows from a command.
func (s *scripted) after(m *message) {
	switch m.Method {
	case "Fetch.fulfillRequest":
		var f fulfill
		_ = json.Unmarshal(m.Params, &f)
		s.answers[f.ID] = fmt.Sprintf("%d%v%s", f.Code, f.Header, f.Body)
		s.open--
	case "Fetch.failRequest":
		var f refusal
		_ = json.Unmarshal(m.Params, &f)
		s.answers[f.ID] = f.Reason
		s.open--
	case "Emulation.setVirtualTimePolicy":
		var p struct {
			Budget float64 `json:"budget"`
		}
		_ = json.Unmarshal(m.Params, &p)
		if p.Budget == 0 {
			return
		}
		s.granted += p.Budget
		for _, r := range s.requests {
			s.open++
			s.event("S", "Fetch.requestPaused", &r)
		}
		s.requests = nil
		for _, e := range s.events {
			s.out(e)
		}
		s.events = nil
	default:
		return
	}
	if s.open == 0 && s.granted > 0 {
		s.event("S", "Emulation.virtualTimeBudgetExpired", object{})
	}
}

// run renders a page in a bubble.
func (s *scripted) run(t *testing.T, ctx context.Context, p *render.Page, fetch render.Fetch) (*render.Result, error) {
	t.Helper()
	s.t = t
	c, f := connect(t)
	// Like a browser, it reads and writes at the same time.
	lines := make(chan string, 1000)
	s.out = func(m string) { lines <- m + "\x00" }
	go func() {
		for m := range lines {
			if _, err := io.WriteString(f, m); err != nil {
				return
			}
		}
	}()
	go func() {
		defer close(lines)
		s.serve(f.Reader)
	}()
	b := &process{conn: c}
	return b.render(ctx, p, Options{}.withDefaults(), fetch)
}

func req(id, kind, method, url string, header ...string) (r pausedRequest) {
	r.ID, r.Type, r.Frame = id, kind, "T"
	r.Request.URL, r.Request.Method, r.Request.Headers = url, method, map[string]string{}
	for i := 0; i+1 < len(header); i += 2 {
		r.Request.Headers[header[i]] = header[i+1]
	}
	return r
}

func TestRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		frame := req("frame", "Document", "GET", "https://a.example/frame")
		frame.Frame = "F"
		s := &scripted{requests: []pausedRequest{
			req("script", "Script", "GET", "https://a.example/a.js#x", "Accept", "*/*"),
			req("data", "XHR", "HEAD", "https://b.example/d", "Accept", "application/json", "Origin", "https://a.example"),
			req("style", "Stylesheet", "GET", "https://a.example/s.css"),
			req("image", "Image", "GET", "https://a.example/i.png"),
			req("post", "Fetch", "POST", "https://a.example/post"),
			req("beacon", "Ping", "POST", "https://a.example/beacon"),
			req("stream", "XHR", "GET", "https://a.example/stream", "accept", "text/event-stream"),
			req("prefetch", "Other", "GET", "https://a.example/prefetch", "Purpose", "prefetch"),
			req("icon", "Other", "GET", "https://a.example/favicon.ico", "Accept", "image/*,*/*;q=0.8"),
			req("worker", "Other", "GET", "https://a.example/w.js", "Accept", "*/*"),
			req("ftp", "Fetch", "GET", "ftp://a.example/"),
			req("long", "Fetch", "GET", "https://a.example/"+strings.Repeat("x", maxURL)),
			req("preflight", "XHR", "OPTIONS", "https://b.example/d", "Origin", "https://a.example", "Access-Control-Request-Method", "GET", "Access-Control-Request-Headers", "x-a"),
			req("link", "Document", "GET", "https://b.example/next#part"),
			req("form", "Document", "POST", "https://b.example/form"),
			frame,
		}, events: []string{`{"method":"Network.webSocketCreated","sessionId":"S","params":{"url":"wss://a.example/"}}`,
			`{"method":"Page.javascriptDialogOpening","sessionId":"S","params":{"type":"confirm"}}`,
			`{"method":"Target.targetCreated","params":{"targetInfo":{"targetId":"W","url":"https://a.example/window","openerId":"T"}}}`,
			`{"method":"Target.targetCreated","params":{"targetInfo":{"targetId":"X","url":"about:blank"}}}`}}
		var asked []render.Request
		p := page("x")
		p.Header = http.Header{"Content-Type": {"text/html"}, "Set-Cookie": {"a=b"}, "X": {"bad\n", "good"}, "Content-Encoding": {"gzip"}}
		res, err := s.run(t, t.Context(), p, func(q render.Request) render.Response {
			asked = append(asked, q)
			switch q.URL {
			case "https://a.example/a.js":
				return render.Response{Status: 200, Body: []byte("body")}
			case "https://a.example/w.js":
				return render.Response{Status: 404}
			case "https://a.example/s.css":
				return render.Response{Refused: "forbidden by robots.txt"}
			}
			return render.Response{Status: 301, Header: http.Header{"Location": {"/other"}}, Body: []byte("not for HEAD")}
		})
		if err != nil {
			t.Fatal(err)
		}
		want := []render.Request{
			{URL: "https://a.example/a.js", Method: "GET", Kind: render.Script, Accept: "*/*"},
			{URL: "https://b.example/d", Method: "HEAD", Kind: render.Data, Accept: "application/json", Origin: "https://a.example"},
			{URL: "https://a.example/s.css", Method: "GET", Kind: render.Style},
			{URL: "https://a.example/w.js", Method: "GET", Kind: render.Script, Accept: "*/*"},
		}
		if !slices.Equal(asked, want) {
			t.Errorf("requests %+v", asked)
		}
		for id, want := range map[string]string{
			"document": "200[{Content-Type text/html} {X good}]" + string(p.Body), "script": "200[]body", "data": "301[{Location /other}]", "style": noAnswer, "image": blocked, "post": blocked,
			"beacon": blocked, "stream": blocked, "prefetch": blocked, "icon": blocked, "worker": "404[]", "ftp": blocked, "long": blocked, "link": aborted, "form": aborted, "frame": blocked,
			"preflight": "204[{Access-Control-Allow-Credentials true} {Access-Control-Max-Age 600} {Access-Control-Allow-Origin https://a.example} {Access-Control-Allow-Methods GET} {Access-Control-Allow-Headers x-a}]",
		} {
			if got := s.answers[id]; got != want {
				t.Errorf("%s: %q, want %q", id, got, want)
			}
		}
		if !slices.Equal(res.Links, []string{"https://b.example/next", "https://a.example/window"}) || res.Requests != 3 || res.Bytes != int64(len("bodynot for HEAD")) || res.Omitted != 11 {
			t.Errorf("links %q, %d requests, %d bytes, %d omitted: %v", res.Links, res.Requests, res.Bytes, res.Omitted, res.Omissions)
		}
		if !strings.Contains(string(res.HTML), "rendered") || res.URL != pageURL || res.Own != 10*time.Second || s.granted != 10_000 {
			t.Errorf("%s at %s after %v (%v ms)", res.HTML, res.URL, res.Own, s.granted)
		}
		if n := len(s.calls); s.calls[n-1] != "Target.disposeBrowserContext" || !slices.Contains(s.calls, "Target.closeTarget") || !slices.Contains(s.calls, "Page.handleJavaScriptDialog") {
			t.Errorf("%q", s.calls)
		}
	})
}

// At the limits of requests and bytes all are answered, beyond them none.
func TestBudgets(t *testing.T) {
	for _, c := range []struct {
		limits render.Limits
		want   string
	}{
		{render.Limits{Requests: 3, Bytes: 30}, "200[]0123456789 200[]0123456789 200[]0123456789"},
		{render.Limits{Requests: 2, Bytes: 30}, "200[]0123456789 200[]0123456789 BlockedByClient"},
		{render.Limits{Requests: 3, Bytes: 29}, "200[]0123456789 200[]0123456789 BlockedByClient"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &scripted{}
			for i := range 3 {
				s.requests = append(s.requests, req(fmt.Sprint(i), "Script", "GET", "https://a.example/"))
			}
			p := page("")
			p.Limits = c.limits
			if _, err := s.run(t, t.Context(), p, func(render.Request) render.Response {
				return render.Response{Status: 200, Body: []byte("0123456789")}
			}); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join([]string{s.answers["0"], s.answers["1"], s.answers["2"]}, " "); got != c.want {
				t.Errorf("%+v: %s", c.limits, got)
			}
		})
	}
}

// The time in Fetch does not count; the time of the browser does.
func TestWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{requests: []pausedRequest{req("1", "Script", "GET", "https://a.example/")}, silent: "DOMSnapshot.captureSnapshot"}
		from := time.Now()
		_, err := s.run(t, t.Context(), page(""), func(render.Request) render.Response {
			time.Sleep(time.Hour)
			return render.Response{Status: 200}
		})
		var failed *render.Failed
		if took := time.Since(from); !errors.As(err, &failed) || took != time.Hour+20*time.Second {
			t.Errorf("%v after %v", err, took)
		}
	})
}

func TestCrashed(t *testing.T) {
	for _, at := range []string{"Runtime.evaluate", "DOMSnapshot.captureSnapshot", "Emulation.setVirtualTimePolicy", "Page.navigate"} {
		synctest.Test(t, func(t *testing.T) {
			from := time.Now()
			_, err := (&scripted{crash: at}).run(t, t.Context(), page(""), noFetch)
			var failed *render.Failed
			if !errors.As(err, &failed) || !strings.Contains(failed.Why, "too much memory") || time.Since(from) != 0 {
				t.Errorf("%s: %v after %v", at, err, time.Since(from))
			}
		})
	}
}

func TestRenderContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := &scripted{requests: []pausedRequest{req("1", "Script", "GET", "https://a.example/")}}
		_, err := s.run(t, ctx, page(""), func(render.Request) render.Response {
			cancel()
			return render.Response{Status: 200}
		})
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

var when = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// page is a page with this body.
func page(body string) *render.Page {
	return &render.Page{
		URL: pageURL, Status: 200, Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}},
		Body: []byte("<!DOCTYPE html><html><head><title>T</title></head><body>" + body + "</body></html>"), Time: when, UserAgent: "Curtsy/1.0 (+https://curtsy.example)",
	}
}
