package visit

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/answer"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Why a request of a download was not sent. The errors of DownloadVisit.Get wrap them, with details
// for an operator.
var (
	ErrRobots     = errors.New("its robots.txt forbids it")
	ErrUnreadable = errors.New("its robots.txt cannot be fetched now") // later it may succeed
	ErrForgotten  = errors.New("it was removed from the crawl by curtsy forget")
	ErrAddress    = errors.New("connections to its address are not allowed")
	ErrVisitOver  = errors.New("the visit is over") // another one can fetch the rest
)

// Download is what came back for a request.
type Download struct {
	Status   int // HTTP status; 0 without an answer
	Header   http.Header
	Bytes    int64 // of the body, written
	Complete bool  // all of the body was written
	// The answer says where its body ends. Otherwise Complete only means that the connection was
	// closed in order.
	Framed bool
}

// Get sends one GET for u as DownloadVisit.Get says.
func (v *Visit) Get(u canon.URL, target string, h http.Header, accept func(status int, h http.Header) bool, w io.Writer) (Download, error) {
	if err := v.mayDownload(u); err != nil {
		return Download{}, fmt.Errorf("get %s: %w", u, err)
	}
	var got Download
	var failed error // of w
	defer v.requests.For(crawl.RequestDownload)()
	session := v.requests.Session
	session.Recorder = nil // downloads are not archived
	if target != "" {
		done, ok := session.Spell(u, target)
		if !ok {
			return got, fmt.Errorf("get %s: %.200q is another address", u, target)
		}
		defer done()
	}
	a, err := v.requests.Get(u, downloadHeader(h), func(status int, header http.Header) wire.Wanted {
		if status == http.StatusRequestTimeout || !accept(status, header) {
			return wire.Wanted{}
		}
		return wire.Wanted{Raw: true, Stream: func(body io.Reader) error {
			got.Complete, failed = false, nil
			var err error
			got.Bytes, failed, err = session.CopyTo(w, body)
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
	case answer.Overloaded(a.Status):
		v.requests.Overload(&a)
	}
	return got, nil
}

// mayDownload returns why u may not be requested now; nil means that it may.
func (v *Visit) mayDownload(u canon.URL) error {
	if u.Host() != v.job.Host {
		return fmt.Errorf("the visit is to %s", v.job.Host)
	}
	if v.sink.Forgotten(u) {
		return ErrForgotten
	}
	site := v.sites.Of(u.Origin())
	switch {
	case site != nil && site.Bar.Barred:
		return whyBarred(site.Bar)
	case site == nil || v.requests.Over():
		return fmt.Errorf("%w: %s", ErrVisitOver, v.requests.Reason())
	case site.Closed:
		return ErrUnreadable
	}
	if verdict, why := v.sites.Match(site, u); why != "" {
		return fmt.Errorf("%w: line %d: %s", ErrRobots, verdict.Line, verdict.Rule)
	}
	return nil
}

// whyNot returns the error that the caller of Get receives for a failed request.
func (v *Visit) whyNot(err error) error {
	switch fail := v.requests.FailureOf(err); {
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

// downloadHeader returns the fields that a download's request has besides the ordinary header. The
// caller cannot change the User-Agent and the Host.
func downloadHeader(h http.Header) http.Header {
	extra := http.Header{"Accept": {"*/*"}, "Accept-Encoding": {"identity"}}
	for key, values := range h {
		if key = http.CanonicalHeaderKey(key); key != "User-Agent" && !strings.EqualFold(key, "Host") {
			extra[key] = values
		}
	}
	return extra
}
