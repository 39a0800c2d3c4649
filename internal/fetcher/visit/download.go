package visit

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Why a request of a download was not sent. The errors of DownloadVisit.Get wrap them, with what an
// operator wants to know.
var (
	ErrRobots     = errors.New("its robots.txt forbids it")
	ErrUnreadable = errors.New("its robots.txt cannot be fetched now") // it may be later
	ErrForgotten  = errors.New("it was removed from the crawl by curtsy forget")
	ErrAddress    = errors.New("connections to its address are not allowed")
	ErrVisitOver  = errors.New("the visit is over") // what is left can be had in another one
)

// Download is what came back for a request.
type Download struct {
	Status   int // HTTP status; 0 without an answer
	Header   http.Header
	Bytes    int64 // of the body, written
	Complete bool  // all of the body was written
	// The answer says where its body ends; else Complete only means that the connection
	// was closed in order.
	Framed bool
}

// Get sends one GET for u as DownloadVisit.Get says.
func (v *Visit) Get(u canon.URL, h http.Header, accept func(status int, h http.Header) bool, w io.Writer) (Download, error) {
	if err := v.mayDownload(u); err != nil {
		return Download{}, fmt.Errorf("get %s: %w", u, err)
	}
	var got Download
	var failed error // of w
	defer v.asking(crawl.RequestDownload)()
	v.session.Recorder = nil // what is downloaded is kept elsewhere
	a, err := v.ask(u, downloadHeader(h), func(status int, header http.Header) wire.Wanted {
		if status == http.StatusRequestTimeout || !accept(status, header) {
			return wire.Wanted{}
		}
		return wire.Wanted{Raw: true, Stream: func(body io.Reader) error {
			got.Complete, failed = false, nil
			var err error
			got.Bytes, failed, err = v.session.CopyTo(w, body)
			got.Complete = err == nil && failed == nil
			return errors.Join(failed, err)
		}}
	})
	got.Status, got.Header, got.Framed = a.Status, a.Header, a.Framed
	switch {
	case failed != nil:
		return got, fmt.Errorf("get %s: %w", u, failed)
	case err != nil:
		return got, fmt.Errorf("get %s: %w", u, v.whyNot(err))
	case overloaded(a.Status):
		v.overload(a)
	}
	return got, nil
}

// mayDownload says why u may not be asked for now, or nothing.
func (v *Visit) mayDownload(u canon.URL) error {
	if u.Host() != v.job.Host {
		return fmt.Errorf("the visit is to %s", v.job.Host)
	}
	if v.sink.Forgotten(u) {
		return ErrForgotten
	}
	s := v.site(u.Origin())
	switch {
	case s != nil && s.bar.Barred:
		return whyBarred(s.bar)
	case s == nil || v.over():
		return fmt.Errorf("%w: %s", ErrVisitOver, v.reason)
	case s.closed:
		return ErrUnreadable
	}
	if verdict, why := v.match(s, u); why != "" {
		return fmt.Errorf("%w: line %d: %s", ErrRobots, verdict.Line, verdict.Rule)
	}
	return nil
}

// whyNot makes a caller's error of a failed request.
func (v *Visit) whyNot(err error) error {
	switch fail := v.failureOf(err); {
	case fail.Unsent:
		return fmt.Errorf("%w: %s", ErrVisitOver, fail.Detail)
	case fail.Barred:
		return whyBarred(fail)
	default:
		return errors.New(fail.String())
	}
}

func whyBarred(fail wire.Failure) error {
	if fail.Reason == crawl.ReasonForgotten {
		return ErrForgotten
	}
	return fmt.Errorf("%w: %s", ErrAddress, fail.Detail)
}

// downloadHeader is what a download's request has beside the ordinary header. Who we are is not
// the caller's to say.
func downloadHeader(h http.Header) http.Header {
	extra := http.Header{"Accept": {"*/*"}, "Accept-Encoding": {"identity"}}
	for key, values := range h {
		if key = http.CanonicalHeaderKey(key); key != "User-Agent" && !strings.EqualFold(key, "Host") {
			extra[key] = values
		}
	}
	return extra
}
