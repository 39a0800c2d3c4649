package render

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"
)

// Renderer runs the scripts of pages. It may be used concurrently.
type Renderer interface {
	// Render runs the scripts of a page and returns what became of it. fetch is called by the
	// goroutine that called Render, once for each request of the page, one after the other. It may
	// take as long as it likes: neither the clock of the page nor Limits.Work counts that time.
	//
	// A *Failed error is the fault of the page. [ErrUnavailable] says that no page can be rendered
	// at the moment, and [ErrLost] that the renderer may have ended because of the page. When ctx
	// ends, Render returns its error soon.
	Render(ctx context.Context, p *Page, fetch Fetch) (*Result, error)
}

// Page is a page to be rendered.
type Page struct {
	URL    string // where it is; it has no fragment
	Status int
	Header http.Header // of the response, with its Content-Type
	Body   []byte      // after content-decoding
	// Time is what the clock of the page shows at the beginning. With the same time a page that is
	// unchanged is rendered to the same HTML.
	Time      time.Time
	UserAgent string
	Load      []Kind // requests that are made beside those for [Always]
	Limits    Limits
}

// Limits bound what one page may cost. The zero value of a field stands for its default.
type Limits struct {
	Requests int           // that are passed to Fetch; 0 = 100
	Bytes    int64         // of their bodies together; 0 = 16 MiB
	Own      time.Duration // of the page's own clock; 0 = 10 s
	// Work is the real time that the page may take, without the time in Fetch; 0 = 20 s.
	Work time.Duration
	HTML int // bytes of the result, which is cut there; 0 = 10 MiB
}

// WithDefaults returns the limits with their defaults filled in.
func (l Limits) WithDefaults() Limits {
	l.Requests = cmp.Or(max(l.Requests, 0), 100)
	l.Bytes = cmp.Or(max(l.Bytes, 0), 16<<20)
	l.Own = cmp.Or(max(l.Own, 0), 10*time.Second)
	l.Work = cmp.Or(max(l.Work, 0), 20*time.Second)
	l.HTML = cmp.Or(max(l.HTML, 0), 10<<20)
	return l
}

// Kind is what a request of a page is for.
type Kind string

// The kinds of requests. Beacons, web sockets, event streams, service workers, prefetches, pages in
// frames and everything but GET and HEAD are never requested, so they have no kind.
const (
	Script Kind = "script"
	Style  Kind = "style"
	Data   Kind = "data" // fetch() and XMLHttpRequest
	Image  Kind = "image"
	Font   Kind = "font"
	Media  Kind = "media" // sound and video
)

// Always are the kinds that are requested for every page. The others are requested if Page.Load
// names them.
var Always = []Kind{Script, Style, Data}

// Request is something that a page asks for.
type Request struct {
	URL    string // absolute, http or https; it has no fragment
	Method string // GET or HEAD
	Kind   Kind
	Accept string // the Accept field that the page gave; may be empty
	// Origin is the origin of the page if the request is one for another origin by CORS; otherwise
	// it is empty.
	Origin string
}

// Response answers a Request. The renderer does not change it.
type Response struct {
	Status int
	Header http.Header
	Body   []byte // after content-decoding
	// Refused is why the request was not sent, or has failed, for people; then the page sees an
	// error of the network. Empty: it is answered.
	Refused string
}

// Fetch answers the requests of a page.
type Fetch func(r Request) Response

// Omission is something that a page asked for and did not get.
type Omission struct {
	URL string
	Why string // for people, in a few words
}

// MaxOmissions is how many omissions a result lists; the others are only counted.
const MaxOmissions = 16

// Result is a rendered page.
type Result struct {
	// HTML is the page as UTF-8, with the content of its shadow roots where it is shown.
	HTML []byte
	// URL is where the page is now: scripts may have changed it, as applications with a history do.
	URL string
	// Links are addresses to which scripts wanted to go. The page did not go there.
	Links    []string
	Requests int // that were passed to Fetch and not refused
	Bytes    int64
	Own      time.Duration // that passed on the page's clock
	Cut      bool          // HTML is only the beginning
	// Omitted counts what the page did not get, and Omissions are the first of them.
	Omitted   int
	Omissions []Omission
}

// Failed is why a page could not be rendered. Rendering it again would probably fail again.
type Failed struct{ Why string }

// Error returns the reason for the operator.
func (f *Failed) Error() string { return f.Why }

// ErrUnavailable is returned while no page can be rendered. Errors that wrap it say why.
var ErrUnavailable = errors.New("no renderer is available")

// ErrLost is returned if the renderer was lost after it had the page, perhaps because of it.
var ErrLost = errors.New("the renderer was lost while it rendered the page")

// Omit adds an omission to a result.
func (r *Result) Omit(url, why string) {
	if r.Omitted++; len(r.Omissions) < MaxOmissions {
		r.Omissions = append(r.Omissions, Omission{url, why})
	}
}
