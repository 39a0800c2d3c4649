package requests

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/answer"
	"github.com/curtsy/curtsy/internal/fetcher/metrics"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Options are what the requests of a visit are sent with.
type Options struct {
	Config  *Config
	Session *wire.Session
	Host    canon.Host // the visit's
	Metrics *metrics.Metrics
	Log     *slog.Logger
	// Forgotten reports whether a URL was removed from the crawl, as of now.
	Forgotten func(canon.URL) bool
	// Lost reports whether results cannot be published any more; then nothing more is requested. It
	// may be called at any time.
	Lost func() bool
	// Archive is called with each answer that no other package archives itself: with those of
	// auxiliary requests, robots.txt and rights files.
	Archive func(u canon.URL, a *wire.Answer)
}

// Requests sends the requests of one visit and keeps their account. It belongs to the visit's
// goroutine.
type Requests struct {
	Options
	Account Account

	ended  bool // no more requests are sent
	reason string
	silent int // requests in a row that the host did not answer
}

// Account sums up the requests of a visit, for its outcome.
type Account struct {
	Requests   int   // that were sent
	Bytes      int64 // of bodies, as they came over the wire
	Overloads  int   // answers of status 429 or 503
	Timeouts   int
	RetryAfter time.Duration // the longest that a Retry-After asked for
	NotBefore  time.Duration // how long the host is not to be visited again, for a reason of ours
	LastEnd    time.Time     // when the last answer ended, or failed; zero if nothing was sent
}

// New returns the requests of a visit, none of which is sent yet.
func New(o Options) *Requests { return &Requests{Options: o} }

// Over reports whether no further request may be sent in this visit.
func (r *Requests) Over() bool {
	if !r.ended && r.Session.Closed() {
		r.End("the hours in which requests may be sent to the host are over")
	}
	if !r.ended && (r.Session.Waiting.Err() != nil || !r.Session.Lease.Alive() || r.Lost()) {
		r.End("the lease is over, the process stops, or results cannot be published")
	}
	return r.ended
}

// End makes this the end of the visit's requests. The first reason counts.
func (r *Requests) End(reason string) {
	if r.Session.Closed() {
		// A frontier whose clock is behind ours would grant the host again at once.
		r.Account.NotBefore = max(r.Account.NotBefore, closedPause)
	}
	if !r.ended {
		r.ended, r.reason = true, reason
	}
}

// Reason says for people why no further request is sent; it is empty while some may be.
func (r *Requests) Reason() string { return r.reason }

// Abort ends a request that its sender did not finish, because of a panic.
func (r *Requests) Abort() {
	if r.Session.Abort() {
		r.Account.LastEnd = time.Now()
		r.Account.Requests++
	}
}

// Safely calls f and recovers from a panic, which ends the visit's requests. Otherwise a response
// that meets a mistake of ours or of a decoder would end one process after the other, each time its
// URL is granted again. ok is false after a panic.
func (r *Requests) Safely(what any, f func()) (ok bool) {
	defer func() {
		if p := recover(); p != nil {
			r.Log.Error("an internal error ended the work on a URL", "at", what, "panic", p, "stack", string(debug.Stack()))
			r.Abort()
			r.End("an internal error")
			ok = false
		}
	}()
	f()
	return true
}

// For sets what the next requests are sent for, until the function that it returns is called.
func (r *Requests) For(kind crawl.RequestKind) (done func()) {
	was := r.Session.Kind
	r.Session.Kind = kind
	return func() { r.Session.Kind = was }
}

// errForgotten is why a request was not sent: its URL was removed from the crawl, perhaps a moment
// ago.
var errForgotten = errors.New("removed from the crawl by curtsy forget")

// FailureForgotten is what a request fails with if its URL was removed from the crawl.
var FailureForgotten = wire.Failure{Reason: crawl.ReasonForgotten, Detail: errForgotten.Error(), Final: true, Barred: true}

// FailureOf returns what a failed request means for its URL.
func (r *Requests) FailureOf(err error) wire.Failure {
	if errors.Is(err, errForgotten) {
		return FailureForgotten
	}
	return r.Session.FailureOf(err)
}

// Get sends a GET and reads what is wanted of the answer. Answers of auxiliary requests are
// archived here. The caller that asks for a page archives it, because it knows more about the page.
func (r *Requests) Get(u canon.URL, extra http.Header, want wire.WantFunc) (wire.Answer, error) {
	a, err := r.send(u, func() (wire.Answer, error) { return r.Session.Fetch(u, extra, want) })
	switch r.Session.Kind {
	case crawl.RequestPage, crawl.RequestDownload:
	case crawl.RequestKind(crawl.AuxIndexNow): // its body is a key
	default:
		if err == nil {
			r.Archive(u, &a)
		}
	}
	return a, err
}

// Post sends a form and reads what is wanted of the answer. It is not archived, because forms
// contain keys.
func (r *Requests) Post(u canon.URL, form string, want wire.WantFunc) (wire.Answer, error) {
	return r.send(u, func() (wire.Answer, error) { return r.Session.Post(u, form, want) })
}

// Talk carries out one exchange that is not HTTP, as [wire.Talk.Run] does.
func (r *Requests) Talk(u canon.URL, limits wire.Talk, talk func(net.Conn) (status int, err error)) (t wire.Talked, err error) {
	_, err = r.send(u, func() (wire.Answer, error) {
		t, err = limits.Run(r.Session, u, talk)
		return wire.Answer{Wire: t.Received}, err
	})
	return t, err
}

// closedPause is how long a host is not visited after its hours ended.
const closedPause = 30 * time.Second

// proxyPause is how long a host is not visited after the proxy to it could not be used.
const proxyPause = 30 * time.Second

// send sends a request and enters it into the account.
func (r *Requests) send(u canon.URL, request func() (wire.Answer, error)) (wire.Answer, error) {
	if r.Options.Forgotten(u) {
		return wire.Answer{}, errForgotten
	}
	start := time.Now()
	before := r.Session.Requests
	a, err := request()
	if sent := r.Session.Requests - before; sent > 0 {
		r.Account.LastEnd = time.Now()
		r.Account.Requests += sent
		r.Metrics.Requests.Add(float64(sent))
	}
	r.Metrics.Skipped.Add(float64(a.Skipped))
	r.Account.Bytes += a.Wire
	r.Metrics.Bytes.Add(float64(a.Wire))
	r.Metrics.Spent(metrics.Fetch, start)
	if err == nil {
		r.silent = 0
		return a, nil
	}
	r.failed(err)
	return a, err
}

// failed draws the consequences of a failed request for the rest of the visit.
func (r *Requests) failed(err error) {
	fail := r.FailureOf(err)
	if fail.Timeout {
		r.Account.Timeouts++
		r.backOff()
	}
	if fail.Unsent {
		r.End(fail.Detail)
	}
	if fail.Proxy {
		r.Account.NotBefore = proxyPause
	}
	var full *wire.LimiterTimeout
	if errors.As(err, &full) {
		r.Account.NotBefore = full.Wait
		r.Metrics.Limited.Inc()
	}
	if !fail.Silent {
		r.silent = 0
	} else if r.silent++; r.silent >= 2 {
		r.End("the host does not answer")
	}
}

// Overload enters a 429 or 503, which ends the visit, and returns the wait that it asks for.
func (r *Requests) Overload(a *wire.Answer) time.Duration {
	wait := answer.RetryAfter(a.Header, time.Now())
	r.Busy(wait)
	r.End("the host is overloaded")
	return wait
}

// Busy enters a response that asks for a wait, like a 429. The caller ends the visit, or keeps the
// wait in it.
func (r *Requests) Busy(wait time.Duration) {
	r.Account.Overloads++
	r.backOff()
	r.Account.RetryAfter = max(r.Account.RetryAfter, wait)
}

const (
	leastBackOff = 100 * time.Millisecond
	mostBackOff  = time.Minute
)

// backOff doubles the delay for the rest of the visit. Beyond that the frontier keeps its own
// account.
func (r *Requests) backOff() {
	d := max(r.Session.Delay(), leastBackOff)
	r.AddDelay(min(2*d, mostBackOff), "backoff")
}

// AddDelay makes d the least delay between two requests, because source asks for it.
func (r *Requests) AddDelay(d time.Duration, source string) {
	if d > r.Session.Delayed {
		r.Session.Delayed, r.Session.DelaySource = d, source
	}
}

// Pause returns how long the host is left alone after the last request, and who asks for that.
func (r *Requests) Pause() (time.Duration, string) {
	if d := r.Session.Delay(); d >= r.Account.RetryAfter {
		return d, r.Session.DelaySource
	}
	return r.Account.RetryAfter, "retry-after"
}

// PauseUntil returns until when the host is left alone, as far as this visit knows. It is zero if
// the visit sent no request.
func (r *Requests) PauseUntil() time.Time {
	if r.Account.LastEnd.IsZero() {
		return time.Time{}
	}
	d, _ := r.Pause()
	return r.Account.LastEnd.Add(d)
}
