package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/render"
)

// The window of a page is so tall that what loads when it becomes visible is visible.
const (
	windowWidth  = 1280
	windowHeight = 10000
)

// open is a page in a browser.
type open struct {
	conn    *conn
	page    *render.Page
	limits  render.Limits
	session string
	target  string // also the main frame
	context string
	world   int           // in which our scripts run, unseen by the page
	spent   time.Duration // of the page's own time that was granted
	step    time.Duration // that was granted last
	before  int           // the requests that were queued before that

	queue    chan queued   // requests for Fetch; it has room for all that are allowed
	expired  chan struct{} // the page's own time is over
	crash    func()
	mu       sync.Mutex // guards the rest
	res      render.Result
	answered bool // the document itself
	asked    int  // requests that were queued
	links    map[string]bool
	over     bool // the page has ended: nothing is answered any more
}

// queued is a request that waits for Fetch.
type queued struct {
	id  string
	req render.Request
}

var (
	errLate    = errors.New("the page took too much time")
	errCrashed = errors.New("it used too much memory, or found a defect of the browser")
)

// render renders a page. After an error the browser must be replaced.
func (b *process) render(parent context.Context, p *render.Page, opt Options, fetch render.Fetch) (*render.Result, error) {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	if len(b.pipes) > 0 { // a browser that does not read would hold up whoever writes to it
		defer context.AfterFunc(ctx, func() { _ = b.pipes[0].Close() })()
	}
	o := &open{
		conn: b.conn, page: p, limits: p.Limits.WithDefaults(), links: map[string]bool{},
		expired: make(chan struct{}, 1), crash: func() { cancel(errCrashed) },
	}
	o.queue = make(chan queued, o.limits.Requests)
	work := newStopwatch(o.limits.Work, func() { cancel(errLate) })
	defer work.stop()
	b.conn.handle("", o.browserEvent)
	defer b.conn.handle("", nil)

	res, err := o.run(ctx, opt, work, fetch)
	o.mu.Lock()
	o.over = true
	began := o.answered
	o.mu.Unlock()
	if o.session != "" {
		b.conn.handle(o.session, nil)
	}
	if err == nil && o.context != "" {
		// The next page gets nothing of this one.
		err = b.conn.call(ctx, "", "Target.disposeBrowserContext", object{"browserContextId": o.context}, nil)
	}
	var failed *render.Failed
	switch {
	case err == nil:
		return res, nil
	case parent.Err() != nil:
		return nil, parent.Err()
	case errors.Is(context.Cause(ctx), errLate):
		return nil, &render.Failed{Why: fmt.Sprintf("its scripts took more than %s", o.limits.Work)}
	case errors.As(err, &failed):
		return nil, failed
	case errors.Is(context.Cause(ctx), errCrashed):
		return nil, &render.Failed{Why: errCrashed.Error()}
	case errors.Is(err, errLong):
		return nil, &render.Failed{Why: err.Error()}
	case began:
		return nil, &render.Failed{Why: "the browser ended while it rendered the page: " + err.Error()}
	}
	return nil, err
}

// run opens the page, answers its requests, and takes its HTML when its time is over.
func (o *open) run(ctx context.Context, opt Options, work *stopwatch, fetch render.Fetch) (*render.Result, error) {
	if err := o.open(ctx, opt); err != nil {
		return nil, err
	}
	navigated := make(chan error, 1)
	going, stop := context.WithCancel(ctx)
	go func() { navigated <- o.navigate(going) }()
	defer func() {
		if stop(); navigated != nil {
			<-navigated
		}
	}()
	for done := false; !done; {
		select {
		case q := <-o.queue:
			work.pause()
			resp := fetch(q.req)
			work.resume()
			o.answer(q, &resp) // if the browser is gone, its connection ends
		case err := <-navigated:
			if navigated = nil; err != nil {
				return nil, err
			}
		case <-o.expired:
			if done = o.spent >= o.limits.Own; !done {
				if err := o.frame(ctx); err != nil {
					return nil, err
				}
				if err := o.grant(ctx); err != nil {
					return nil, err
				}
			}
		case <-o.conn.ended:
			return nil, o.conn.cause()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return o.finish(ctx)
}

// open makes an empty page with nothing of other pages, and sets what it sees of the machine.
func (o *open) open(ctx context.Context, opt Options) error {
	var c struct {
		ID string `json:"browserContextId"`
	}
	if err := o.conn.call(ctx, "", "Target.createBrowserContext", object{"disposeOnDetach": true}, &c); err != nil {
		return err
	}
	o.mu.Lock()
	o.context = c.ID
	o.mu.Unlock()
	var t struct {
		ID string `json:"targetId"`
	}
	if err := o.conn.call(ctx, "", "Target.createTarget", object{"url": "about:blank", "browserContextId": c.ID, "width": windowWidth, "height": windowHeight}, &t); err != nil {
		return err
	}
	o.mu.Lock()
	o.target = t.ID
	o.mu.Unlock()
	var s struct {
		ID string `json:"sessionId"`
	}
	if err := o.conn.call(ctx, "", "Target.attachToTarget", object{"targetId": t.ID, "flatten": true}, &s); err != nil {
		return err
	}
	o.session = s.ID
	o.conn.handle(s.ID, o.pageEvent)
	at := o.page.Time
	if at.IsZero() {
		at = time.Unix(0, 0)
	}
	for _, c := range []struct {
		method string
		params object
	}{
		{"Page.enable", nil},
		{"Network.enable", object{"maxTotalBufferSize": 0, "maxResourceBufferSize": 0, "maxPostDataSize": 0}},
		{"Network.setBypassServiceWorker", object{"bypass": true}},
		{"Network.setUserAgentOverride", object{"userAgent": o.page.UserAgent, "acceptLanguage": opt.Locale}},
		{"Emulation.setDeviceMetricsOverride", object{"width": windowWidth, "height": windowHeight, "deviceScaleFactor": 1, "mobile": false}},
		{"Emulation.setTimezoneOverride", object{"timezoneId": "UTC"}},
		{"Emulation.setLocaleOverride", object{"locale": strings.ReplaceAll(opt.Locale, "-", "_")}},
		{"Emulation.setEmulatedMedia", object{"features": []object{{"name": "prefers-reduced-motion", "value": "reduce"}}}},
		{"Page.setInterceptFileChooserDialog", object{"enabled": true}},
		{"Page.addScriptToEvaluateOnNewDocument", object{"source": seededScript, "runImmediately": true}},
		{"Fetch.enable", object{"patterns": []object{{"urlPattern": "*"}}}},
		{"Emulation.setVirtualTimePolicy", object{"policy": "pause", "initialVirtualTime": float64(at.UnixMilli()) / 1000}},
	} {
		if err := o.conn.call(ctx, s.ID, c.method, c.params, nil); err != nil {
			return err
		}
	}
	_ = o.conn.call(ctx, "", "Browser.setDownloadBehavior", object{"behavior": "deny", "browserContextId": o.context}, nil)
	return ctx.Err()
}

// navigate has the page go to its address. The browser answers when it has begun to read the
// document.
func (o *open) navigate(ctx context.Context) error {
	var n struct {
		Err string `json:"errorText"`
	}
	if err := o.conn.call(ctx, o.session, "Page.navigate", object{"url": o.page.URL}, &n); err != nil {
		return err
	}
	if n.Err != "" {
		return &render.Failed{Why: "the browser could not open it: " + n.Err}
	}
	var w struct {
		ID int `json:"executionContextId"`
	}
	if err := o.conn.call(ctx, o.session, "Page.createIsolatedWorld", object{"frameId": o.target}, &w); err != nil {
		return err
	}
	o.world = w.ID
	return o.grant(ctx)
}

// grant lets the clock of the page run for another while.
func (o *open) grant(ctx context.Context) error {
	// As long as the page asks for something, it is looked at more often: a list may load more each
	// time that its end becomes visible.
	o.mu.Lock()
	busy := o.asked > o.before
	o.before = o.asked
	o.mu.Unlock()
	if o.step = min(2*o.step, o.limits.Own/fewSteps); busy || o.step == 0 {
		o.step = max(o.limits.Own/maxSteps, time.Millisecond)
	}
	o.step = o.step.Truncate(time.Millisecond) // timers of the page have whole ones
	d := min(o.step, o.limits.Own-o.spent)
	o.spent += d
	return o.conn.call(ctx, o.session, "Emulation.setVirtualTimePolicy", object{
		"policy": "pauseIfNetworkFetchesPending", "budget": float64(d) / float64(time.Millisecond),
		"maxVirtualTimeTaskStarvationCount": 10000,
	}, nil)
}

// The time of a page is granted in at least fewSteps parts, in maxSteps if it asks for something in
// each of them.
const (
	fewSteps = 8
	maxSteps = 32
)

// frame waits until the page has been drawn. Its clock does not wait for that, but what loads when
// it becomes visible does.
func (o *open) frame(ctx context.Context) error {
	return o.conn.call(ctx, o.session, "Runtime.evaluate", object{
		"expression": "new Promise(f => requestAnimationFrame(() => requestAnimationFrame(() => f())))", "awaitPromise": true, "contextId": o.world,
	}, nil)
}

// finish takes the HTML of the page. Its clock stands still.
func (o *open) finish(ctx context.Context) (*render.Result, error) {
	var s snapshot
	if err := o.conn.call(ctx, o.session, "DOMSnapshot.captureSnapshot", object{"computedStyles": []string{}}, &s); err != nil {
		return nil, err
	}
	d, err := newDocument(&s)
	if err != nil {
		return nil, &render.Failed{Why: err.Error()}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.over = true
	o.res.HTML, o.res.Cut = d.html(o.page.URL, o.limits.HTML)
	o.res.URL = d.url
	o.res.Own = o.limits.Own
	res := o.res
	return &res, nil
}

// browserEvent receives the events of the browser.
func (o *open) browserEvent(method string, params json.RawMessage) {
	switch method {
	case "Target.targetCreated":
		var e struct {
			Info struct {
				ID      string `json:"targetId"`
				Type    string `json:"type"`
				URL     string `json:"url"`
				Context string `json:"browserContextId"`
				Opener  string `json:"openerId"`
			} `json:"targetInfo"`
		}
		if !decode(params, &e) {
			return
		}
		o.mu.Lock()
		other := o.target != "" && e.Info.ID != o.target && e.Info.Context == o.context && e.Info.Type == "page"
		o.mu.Unlock()
		if e.Info.Opener == "" && !other {
			return
		}
		// A window that the page has opened.
		if e.Info.URL != "" {
			o.link(e.Info.URL)
		}
		_ = o.conn.post("", "Target.closeTarget", object{"targetId": e.Info.ID}, nil)
	case "Target.targetCrashed":
		var e struct {
			ID string `json:"targetId"`
		}
		o.mu.Lock()
		target := o.target
		o.mu.Unlock()
		if decode(params, &e) && e.ID == target {
			o.crash()
		}
	}
}

// pageEvent receives the events of the page.
func (o *open) pageEvent(method string, params json.RawMessage) {
	switch method {
	case "Fetch.requestPaused":
		var r pausedRequest
		if decode(params, &r) {
			o.paused(&r)
		}
	case "Emulation.virtualTimeBudgetExpired":
		select {
		case o.expired <- struct{}{}:
		default:
		}
	case "Inspector.targetCrashed":
		o.crash()
	case "Page.javascriptDialogOpening":
		var e struct {
			Type string `json:"type"`
		}
		_ = decode(params, &e)
		_ = o.conn.post(o.session, "Page.handleJavaScriptDialog", object{"accept": e.Type == "beforeunload"}, nil)
	case "Page.windowOpen":
		var e struct {
			URL string `json:"url"`
		}
		if decode(params, &e) {
			o.link(e.URL)
		}
	case "Network.webSocketCreated":
		var e struct {
			URL string `json:"url"`
		}
		if decode(params, &e) {
			o.omit(e.URL, "web sockets are not used")
		}
	}
}

// maxLinks is how many addresses are listed to which scripts wanted to go.
const maxLinks = 1000

// link adds an address to which the page wanted to go.
func (o *open) link(url string) {
	url, _, _ = strings.Cut(url, "#")
	o.mu.Lock()
	defer o.mu.Unlock()
	if isWeb(url) && !o.links[url] && len(o.links) < maxLinks && !o.over {
		o.links[url] = true
		o.res.Links = append(o.res.Links, url)
	}
}

// omit adds something that the page does not get.
func (o *open) omit(url, why string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.over {
		o.res.Omit(url[:min(len(url), maxURL)], why)
	}
}

// maxURL is the longest address that is requested or listed.
const maxURL = 8 << 10

// document is the answer to the request for the page itself.
func (o *open) document() (code int, header []headerField) {
	code = o.page.Status
	if code < 200 || code > 599 || code == http.StatusNoContent || code == http.StatusResetContent || code >= 300 && code < 400 {
		code = http.StatusOK // others would not be shown
	}
	return code, fields(o.page.Header)
}

// stopwatch measures the time that a page takes, without that in Fetch.
type stopwatch struct {
	left  time.Duration
	since time.Time
	timer *time.Timer
}

func newStopwatch(most time.Duration, late func()) *stopwatch {
	return &stopwatch{left: most, since: time.Now(), timer: time.AfterFunc(most, late)}
}

func (s *stopwatch) pause() {
	if s.timer.Stop() {
		s.left -= time.Since(s.since)
	}
}

func (s *stopwatch) resume() {
	s.since = time.Now()
	s.timer.Reset(max(s.left, 0))
}

func (s *stopwatch) stop() { s.timer.Stop() }
