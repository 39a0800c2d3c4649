package browser

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/render"
	"golang.org/x/net/http/httpguts"
)

// kinds are the kinds of requests by the browser's names of them. Others are refused.
var kinds = map[string]render.Kind{
	"Script": render.Script, "Stylesheet": render.Style, "XHR": render.Data, "Fetch": render.Data,
	"Image": render.Image, "Font": render.Font, "Media": render.Media, "TextTrack": render.Media,
}

// refusals are why other requests are refused.
var refusals = map[string]string{
	"EventSource": "event streams are not used", "WebSocket": "web sockets are not used", "Ping": "beacons are not sent",
	"CSPViolationReport": "reports are not sent", "Manifest": "not needed", "Prefetch": "not needed", "SignedExchange": "not needed",
	"Document": "pages in frames are not requested",
}

// paused decides about a request of the page. It runs on the goroutine that reads from the browser.
func (o *open) paused(r *pausedRequest) {
	u, _, _ := strings.Cut(r.Request.URL, "#")
	main := r.Type == "Document" && r.Frame == o.target
	o.mu.Lock()
	first := main && !o.answered && !o.over
	o.answered = o.answered || first
	over := o.over
	o.mu.Unlock()
	switch {
	case over:
		o.refuse(r.ID, aborted)
	case isPreflight(r):
		o.preflight(r)
	case first:
		code, header := o.document()
		_ = o.fulfill(fulfill{ID: r.ID, Code: code, Header: header, Body: o.page.Body})
	case main:
		if r.Request.Method == http.MethodGet {
			o.link(u)
		} else {
			o.omit(u, "only GET and HEAD are used, not "+short(r.Request.Method))
		}
		o.refuse(r.ID, aborted)
	default:
		q, why := o.wanted(r, u)
		if why == "" {
			o.queue <- q // it has room
			return
		}
		if why != favicon {
			o.omit(u, why)
		}
		o.refuse(r.ID, blocked)
	}
}

// preflight lets the browser send a request to another origin that needs a permission. The answer
// to the request itself decides whether the page may read it.
func (o *open) preflight(r *pausedRequest) {
	h := []headerField{{"Access-Control-Allow-Credentials", "true"}, {"Access-Control-Max-Age", "600"}}
	for _, f := range [][2]string{{"Origin", "Origin"}, {"Methods", "Request-Method"}, {"Headers", "Request-Headers"}} {
		from := "Access-Control-" + f[1]
		if f[1] == "Origin" {
			from = f[1]
		}
		if value := r.header(from); value != "" {
			h = append(h, headerField{"Access-Control-Allow-" + f[0], value})
		}
	}
	_ = o.fulfill(fulfill{ID: r.ID, Code: http.StatusNoContent, Header: h})
}

// favicon is why the browser's own request for a small image is refused: no page misses it.
const favicon = "favicon"

func short(s string) string { return s[:min(len(s), 16)] }

// wanted returns the request for Fetch, or why it is not sent.
func (o *open) wanted(r *pausedRequest, u string) (q queued, why string) {
	kind, ok := kinds[r.Type]
	if r.Type == "Other" && r.header("Accept") == "*/*" {
		kind, ok = render.Script, true // of a worker
	}
	switch {
	case r.Type == "Other" && strings.HasSuffix(u, "/favicon.ico"):
		return q, favicon
	case !ok:
		if why = refusals[r.Type]; why == "" {
			why = "requests of the kind " + short(r.Type) + " are not sent"
		}
		return q, why
	case r.header("Accept") == "text/event-stream":
		return q, refusals["EventSource"]
	case r.header("Purpose") == "prefetch" || strings.HasPrefix(r.header("Sec-Purpose"), "prefetch"):
		return q, "prefetches are not needed"
	case !isWeb(u):
		return q, "only http and https are used"
	case len(u) > maxURL:
		return q, "its address is too long"
	case r.Request.Method != http.MethodGet && r.Request.Method != http.MethodHead:
		return q, "only GET and HEAD are used, not " + short(r.Request.Method)
	case !slices.Contains(render.Always, kind) && !slices.Contains(o.page.Load, kind):
		return q, "requests of the kind " + string(kind) + " are not wanted"
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.asked >= o.limits.Requests {
		return q, "the page made too many requests"
	}
	if o.res.Bytes >= o.limits.Bytes {
		return q, "the page has loaded too many bytes"
	}
	o.asked++
	q = queued{id: r.ID, req: render.Request{URL: u, Method: r.Request.Method, Kind: kind}}
	q.req.Accept, q.req.Origin = r.header("Accept"), r.header("Origin")
	return q, ""
}

func (o *open) refuse(id, reason string) {
	_ = o.conn.post(o.session, "Fetch.failRequest", refusal{id, reason}, nil)
}

// fulfill answers a request. If the browser does not accept the answer, the request fails, as it
// would be open forever otherwise.
func (o *open) fulfill(f fulfill) error {
	return o.conn.post(o.session, "Fetch.fulfillRequest", f, func() { o.refuse(f.ID, noAnswer) })
}

// answer gives the page the answer to a request.
func (o *open) answer(q queued, resp *render.Response) {
	if resp.Refused != "" {
		o.omit(q.req.URL, resp.Refused)
		o.refuse(q.id, noAnswer)
		return
	}
	o.mu.Lock()
	fits := o.res.Bytes+int64(len(resp.Body)) <= o.limits.Bytes
	if fits {
		o.res.Requests++
		o.res.Bytes += int64(len(resp.Body))
	}
	o.mu.Unlock()
	if !fits {
		o.omit(q.req.URL, "the page has loaded too many bytes")
		o.refuse(q.id, blocked)
		return
	}
	code := resp.Status
	if code < 200 || code > 599 {
		code = http.StatusBadGateway
	}
	f := fulfill{ID: q.id, Code: code, Header: fields(resp.Header), Body: resp.Body}
	if q.req.Method == http.MethodHead {
		f.Body = nil
	}
	_ = o.fulfill(f)
}

// left are the fields of answers that the page does not get: those about the form of the body,
// which was decoded, cookies, and what the browser would do later or elsewhere.
var left = map[string]bool{
	"Content-Encoding": true, "Content-Length": true, "Transfer-Encoding": true, "Connection": true, "Trailer": true,
	"Set-Cookie": true, "Set-Cookie2": true, "Strict-Transport-Security": true, "Alt-Svc": true, "Clear-Site-Data": true,
	"Report-To": true, "Reporting-Endpoints": true, "Nel": true, "Content-Disposition": true, "Accept-Ch": true, "Speculation-Rules": true,
	"Content-Security-Policy-Report-Only": true, "Www-Authenticate": true,
}

// fields returns the header of an answer for the page, in a fixed order.
func fields(h http.Header) (list []headerField) {
	var names []string
	for name := range h {
		if !left[http.CanonicalHeaderKey(name)] && httpguts.ValidHeaderFieldName(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		for _, value := range h[name] {
			if httpguts.ValidHeaderFieldValue(value) {
				list = append(list, headerField{name, value})
			}
		}
	}
	return list
}

func isWeb(u string) bool {
	p, err := url.Parse(u)
	return err == nil && (p.Scheme == "http" || p.Scheme == "https") && p.Host != ""
}

// isPreflight reports whether the browser itself asks whether it may send another request. Scripts
// cannot set this field.
func isPreflight(r *pausedRequest) bool {
	return r.Request.Method == http.MethodOptions && r.header("Access-Control-Request-Method") != ""
}

// header returns a field of the header of a request.
func (r *pausedRequest) header(name string) string {
	for n, value := range r.Request.Headers {
		if strings.EqualFold(n, name) {
			return value
		}
	}
	return ""
}
