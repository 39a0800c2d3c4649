package visit

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/pkg/canon"
)

// listing is how asking for a document ended that tells of pages: a sitemap or a feed.
type listing struct {
	// TrailArrived: the answer is to be concluded from. TrailLeft: next is for another host.
	end         TrailEnd
	answer      wire.Answer // the last
	at, next    canon.URL   // where the answer is from, and where it leads when the trail is left
	redirects   int         // redirects that were followed
	conditional bool        // the answer is to a request with validators

	// Of an end that leaves nothing to be concluded.
	over   bool
	done   bool   // the errand is answered; otherwise it is to be done again from the beginning
	reason string // for people: why the document was not had
	again  bool   // it may be had later
}

// list asks for an errand's document and follows its redirects on this host. ask sends a request,
// and is called anew for each redirect: what an earlier answer told of pages is nobody's.
func (v *Visit) list(e *crawl.AuxRequest, ask func(u canon.URL, conditions http.Header) (wire.Answer, error)) (l listing) {
	conditions := conditional(e.ETag, e.LastModified)
	t := Trail{At: e.URL, Most: maxRedirects}
	t.May = func(u canon.URL) bool {
		why, sound := v.mayAsk(u)
		closed := slices.ContainsFunc(v.sites, func(s *site) bool { return s.origin == u.Origin() && s.closed })
		l.reason, l.again = why, closed
		l.done = sound && !(closed && t.Redirects == 0) // until when it is the frontier knows
		return sound && why == ""
	}
	t.Ask = func(u canon.URL, moved bool) (wire.Answer, error) {
		if moved {
			conditions = nil // they are of what the first URL gave
		}
		return ask(u, conditions)
	}
	var err error
	l.answer, l.end, err = t.Follow(v.job.Host)
	l.at, l.next, l.redirects, l.conditional = t.At, t.Next, t.Redirects, conditions != nil
	switch {
	case v.lost.Load():
		l.over, l.done = true, false
	case l.end == TrailBarred:
		l.over = true
	case err != nil:
		fail := v.failureOf(err)
		l.over, l.done, l.reason, l.again = true, !fail.Unsent, fail.String(), !fail.Final
	case l.end == TrailLost:
		l.over, l.done, l.again = true, true, false
		l.reason = fmt.Sprintf("%s: %s", crawl.ReasonLocation, detailText(l.answer.Header.Get("Location")))
	}
	return l
}

// fromStart reports whether a part that nobody asked for (206) is the whole: some servers call
// every answer a part. A whole of unknown length ends where the part does.
func fromStart(h http.Header) bool {
	value := strings.ToLower(strings.TrimSpace(h.Get("Content-Range")))
	if value == "" {
		return true
	}
	reach, length, ok := strings.Cut(strings.TrimSpace(strings.TrimPrefix(value, "bytes")), "/")
	first, last, isRange := strings.Cut(reach, "-")
	if !ok || !isRange || strings.TrimSpace(first) != "0" {
		return false
	}
	end, err := strconv.ParseUint(strings.TrimSpace(last), 10, 63)
	length = strings.TrimSpace(length)
	return err == nil && (length == "*" || length == strconv.FormatUint(end+1, 10))
}

// unread is what to tell of a document for a status that leaves nothing to be read of it, and
// whether it may be had later; ok is false for any other.
func (v *Visit) unread(a *wire.Answer) (reason string, again, ok bool) {
	switch status := a.Status; {
	case overloaded(status):
		v.overload(*a)
		return fmt.Sprintf("%s: HTTP %d", crawl.ReasonOverload, status), true, true
	case status < 200 || status > 299 || status == http.StatusPartialContent && !fromStart(a.Header):
		return statusText(a), status >= 500 && status <= 599, true
	}
	return "", false, false
}
