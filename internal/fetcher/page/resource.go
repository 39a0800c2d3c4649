package page

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/answer"
	"github.com/curtsy/curtsy/internal/fetcher/resources"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/render"
	"github.com/curtsy/curtsy/pkg/canon"
)

// What rendered pages request. A request of a page is one of ours: it is asked for in a visit to
// its host, if the robots.txt of its origin allows it, with the delay, the guard and the account of
// that visit.

const (
	// mostResource is how many bytes are read of one answer.
	mostResource = 8 << 20
	// mostErrorBody is how many bytes are read of an answer that is an error.
	mostErrorBody = 64 << 10
	// mostField is how long a field of a request may be that a page decides.
	mostField = 256
)

// Later is the error of Options.Elsewhere if the page has to be rendered later.
type Later struct {
	Why  string        // for logs
	Wait time.Duration // how long the host of the page is better left alone
}

// Error returns the reason.
func (l *Later) Error() string { return l.Why }

// The reasons for which rendering a page ends early, and it is requested again later.
var (
	errVisitOver  = errors.New("the visit is over")
	errOverloaded = errors.New("the host is overloaded")
)

// resource answers a request of the page at u. An error ends the rendering.
func (s *Scripts) resource(ctx context.Context, u canon.URL, q *render.Request) (render.Response, error) {
	target, err := canon.Parse(q.URL)
	if err != nil {
		return refused("it is no address that can be requested"), nil
	}
	origin := target.Origin()
	switch {
	case origin != u.Origin() && s.p.HasCredentials(origin):
		return refused("it would carry credentials, which are not for other origins"), nil
	case s.p.Requests.Forgotten(target):
		return refused(string(crawl.ReasonForgotten)), nil
	case len(q.Origin) > mostField || !visible(q.Origin):
		return refused("its fields are malformed"), nil
	case len(q.Accept) > mostField || !visible(q.Accept):
		q.Accept = ""
	}
	cache, key := s.p.Shared.renderers.cache, resources.KeyOf(q)
	if r, fresh, _, ok := cache.Get(key, time.Now()); ok && fresh {
		return ofMethod(q, r), nil
	}
	if target.Host() == u.Host() {
		r := s.Resource(target, q)
		switch {
		case s.overloaded:
			return r, errOverloaded
		case s.p.Requests.Over():
			return r, errVisitOver
		}
		return r, nil
	}
	var r render.Response
	err = s.p.Elsewhere(ctx, origin, func(there *Scripts) {
		// While this page waited, another one may have asked.
		if stored, fresh, _, ok := cache.Get(key, time.Now()); ok && fresh {
			r = ofMethod(q, stored)
			return
		}
		r = there.Resource(target, q)
		s.missed = cmp.Or(s.missed, there.missed)
		if r.Refused == errVisitOver.Error() {
			s.missed = cmp.Or(s.missed, fmt.Sprintf("the visit to %s ended early", origin.Host))
		}
	})
	var later *Later
	switch {
	case err == nil:
		return r, nil
	case errors.As(err, &later), ctx.Err() != nil:
		return refused(err.Error()), err
	}
	return refused(err.Error()), nil
}

// Resource sends a request of a page to the host of the visit. An answer that may be used again is
// kept.
func (s *Scripts) Resource(u canon.URL, q *render.Request) render.Response {
	if permission := s.p.Sites.Ask(u); !permission.OK() {
		if permission.Over {
			return refused(errVisitOver.Error())
		}
		if permission.Closed() {
			s.missed = cmp.Or(s.missed, permission.Text)
		}
		return refused(permission.Text)
	}
	cache, key := s.p.Shared.renderers.cache, resources.KeyOf(q)
	stored, _, conditions, have := cache.Get(key, time.Now())
	if have = have && conditions != nil; !have || q.Method == http.MethodHead {
		conditions = nil
	}
	if spelled, ok := pathAsWritten(q.URL); ok {
		if done, ok := s.p.Requests.Session.Spell(u, spelled); ok {
			defer done()
		}
	}
	defer s.p.Requests.For(crawl.RequestResource)()
	a, err := s.p.Requests.Get(u, resourceHeader(q, conditions), func(status int, _ http.Header) wire.Wanted {
		switch {
		case q.Method == http.MethodHead || answer.Redirects(status):
			return wire.Wanted{}
		case status < 200 || status > 299:
			return wire.Wanted{Limit: mostErrorBody}
		}
		return wire.Wanted{Limit: mostResource}
	})
	if err != nil {
		fail := s.p.Requests.FailureOf(err)
		if !fail.Barred && !fail.Final {
			s.missed = cmp.Or(s.missed, fail.String())
		}
		return refused(fail.String())
	}
	if a.Status >= 500 || answer.Overloaded(a.Status) {
		s.missed = cmp.Or(s.missed, answer.StatusText(&a))
	}
	if answer.Overloaded(a.Status) {
		s.overloaded = true
		s.p.Requests.Overload(&a)
	}
	if a.Status == http.StatusNotModified && have {
		return ofMethod(q, cache.Renew(key, q.Kind, stored, a.Header, time.Now()))
	}
	if a.Truncated {
		return refused("its answer is too long")
	}
	r := render.Response{Status: a.Status, Header: plainHeader(a.Header), Body: bytes.Clone(a.Body)}
	if q.Method == http.MethodGet {
		cache.Put(key, q.Kind, r, time.Now())
	}
	return r
}

// resourceHeader returns the fields that a request of a page has besides the ordinary header. There
// is no Referer.
func resourceHeader(q *render.Request, conditions http.Header) http.Header {
	h := http.Header{"Accept": {"*/*"}}
	if accept := q.Accept; accept != "" {
		h["Accept"] = []string{accept}
	}
	if q.Origin != "" {
		h["Origin"] = []string{q.Origin}
	}
	maps.Copy(h, conditions)
	return h
}

// visible reports whether a field's value consists of visible ASCII and spaces.
func visible(value string) bool {
	return strings.IndexFunc(value, func(r rune) bool { return r < ' ' || r >= 0x7f }) < 0
}

// plainHeader returns the header of an answer whose body was decoded.
func plainHeader(h http.Header) http.Header {
	h = h.Clone()
	for _, name := range [...]string{"Content-Encoding", "Content-Length", "Transfer-Encoding", "Set-Cookie"} {
		delete(h, name)
	}
	return h
}

// ofMethod returns a stored answer as the answer to a request.
func ofMethod(q *render.Request, r render.Response) render.Response {
	if q.Method == http.MethodHead {
		r.Body = nil
	}
	return r
}

func refused(why string) render.Response { return render.Response{Refused: why} }

// pathAsWritten returns the path and query of an address as the page spelled them.
func pathAsWritten(u string) (target string, ok bool) {
	_, rest, ok := strings.Cut(u, "://")
	if !ok {
		return "", false
	}
	rest, _, _ = strings.Cut(rest, "#")
	i := strings.IndexAny(rest, "/?")
	if i < 0 || rest[i] != '/' {
		return "", false
	}
	return rest[i:], true
}
