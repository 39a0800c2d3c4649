package wellknown

import (
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/answer"
	"github.com/curtsy/curtsy/internal/fetcher/publish"
	"github.com/curtsy/curtsy/internal/fetcher/requests"
	"github.com/curtsy/curtsy/internal/fetcher/robots"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Options are what files are fetched with.
type Options struct {
	Requests   *requests.Requests
	Sites      *robots.Sites
	Publisher  *publish.Publisher
	MaxSitemap int64 // bytes that are read of a sitemap
	// Stalled reports whether the page queue of a shard is full.
	Stalled func(shard int) bool
	// Shows reports whether requests to an origin carry credentials that a form could misuse.
	Shows func(canon.Origin) bool
	// Parsing is locked while a data.txt is searched for nested files: a malicious one takes 100
	// MiB of memory, so the visits of a process do this one after the other.
	Parsing *sync.Mutex
}

// Files fetches the well-known files of a visit's host. It belongs to the visit's goroutine.
type Files struct{ Options }

// Reads reports whether files of a kind are fetched by this package.
func Reads(k crawl.AuxKind) bool { return kinds[k] != nil }

// Read carries out an auxiliary request of a kind that Reads knows and puts what is to be published
// about it into a. done is false if the request is left to a later visit; then a means nothing.
func (f *Files) Read(aux *crawl.AuxRequest, a *crawl.Answer) (done bool) {
	k := kinds[aux.Kind]
	if k.before != nil {
		if proceed, done := k.before(f, aux, a); !proceed {
			return done
		}
	}
	return k.answer(f.fetch(k, aux), a)
}

// Fail puts a reason into the answer to a request that ended in a mistake of ours, so that it is
// not requested again and again. done is as for [Files.Read].
func Fail(k crawl.AuxKind, a *crawl.Answer, reason string) (done bool) {
	if kinds[k].failed == nil {
		return false
	}
	kinds[k].failed(a, reason)
	return true
}

// request is one auxiliary request and how it ended.
type request struct {
	*Files
	kind *kind
	aux  *crawl.AuxRequest

	permission  robots.Permission // for the URL that was to be requested last
	list        *list             // of the last request; nil: it is for no list, or was not sent
	got         wire.Answer       // the last answer
	err         error             // of the last request
	fail        wire.Failure      // what err means
	end         requests.TrailEnd
	at          canon.URL     // what was requested last, or was not to be requested
	next        canon.URL     // where the trail left the host or the origin
	redirects   int           // that were followed
	conditional bool          // the last request was sent with validators
	wait        time.Duration // what an overloaded host asks for
}

// fetch requests the file of an auxiliary request, under the rules of its origin, and follows
// redirects as its kind says.
func (f *Files) fetch(k *kind, aux *crawl.AuxRequest) *request {
	r := &request{Files: f, kind: k, aux: aux}
	t := requests.Trail{At: aux.URL, Most: k.redirects}
	if k.within {
		t.Within = aux.Origin
	}
	if k.counted {
		t.Redirects = aux.Hop
	}
	var conditions http.Header
	if k.list != nil {
		conditions = answer.Conditional(aux.ETag, aux.LastModified)
	}
	if aux.Form != "" {
		t.Most = 0 // a form is for this URL alone
	}
	t.May = func(u canon.URL) bool {
		r.permission = f.Sites.Ask(u)
		return r.permission.OK()
	}
	t.Ask = func(u canon.URL, moved bool) (wire.Answer, error) {
		if moved {
			conditions = nil // they belong to the first URL
		}
		defer f.Requests.For(crawl.RequestKind(aux.Kind))()
		return r.send(u, conditions)
	}
	r.got, r.end, r.err = t.Follow(f.Requests.Host)
	r.at, r.next, r.redirects, r.conditional = t.At, t.Next, t.Redirects, conditions != nil
	switch {
	case r.end == requests.TrailBarred:
	case r.err != nil:
		r.fail = f.Requests.FailureOf(r.err)
	case answer.Overloaded(r.got.Status):
		r.wait = f.Requests.Overload(&r.got)
	}
	return r
}

// send sends one request of r.
func (r *request) send(u canon.URL, conditions http.Header) (wire.Answer, error) {
	want := func(status int, h http.Header) wire.Wanted {
		if r.aux.Form != "" && status == http.StatusOK && r.kind.posted > 0 {
			return wire.Wanted{Limit: r.kind.posted}
		}
		return wire.Wanted{Limit: r.kind.accept(status, h)}
	}
	switch {
	case r.aux.Form != "":
		return r.Requests.Post(u, r.aux.Form, want)
	case r.kind.list == nil:
		return r.Requests.Get(u, conditions, want)
	}
	r.list = r.kind.list(r, u)
	a, err := r.Requests.Get(u, conditions, r.list.want)
	if err == nil {
		err = r.list.Flush()
	}
	return a, err
}

// unread says for people why there is no body of status 200 to be read. It is empty if there is
// one, and also if done is false: then the request is left to a later visit.
func (r *request) unread() (reason string, done bool) {
	switch {
	case r.end == requests.TrailBarred:
		return r.permission.Text, !r.permission.Over
	case r.err != nil:
		return r.fail.String(), !r.fail.Unsent
	case r.end != requests.TrailArrived && r.kind.redirects > 0:
		return "it redirects elsewhere", true
	case r.got.Status != http.StatusOK:
		return answer.StatusText(&r.got), true
	}
	return "", true
}

// absent reports whether the origin answered that it has no such file.
func (r *request) absent() bool {
	return r.arrived() && (r.got.Status == http.StatusNotFound || r.got.Status == http.StatusGone)
}

// arrived reports whether there is an answer that is no redirect.
func (r *request) arrived() bool { return r.err == nil && r.end == requests.TrailArrived }

// accepted reports whether the body of the answer was read.
func (r *request) accepted() bool { return r.kind.accept(r.got.Status, r.got.Header) > 0 }

// ok accepts answers of status 200, of the media types if there are some. An empty type stands for
// an answer without one.
func ok(limit int64, media ...string) func(int, http.Header) int64 {
	return func(status int, h http.Header) int64 {
		if status == http.StatusOK && (len(media) == 0 || slices.Contains(media, answer.MediaType(answer.ContentType(h)))) {
			return limit
		}
		return 0
	}
}

// success accepts answers of status 200 to 299.
func success(limit int64) func(int, http.Header) int64 {
	return func(status int, _ http.Header) int64 {
		if 200 <= status && status <= 299 {
			return limit
		}
		return 0
	}
}

// either accepts answers of status 200 up to one limit, and all others up to another one.
func either(limit, refusal int64) func(int, http.Header) int64 {
	return func(status int, _ http.Header) int64 {
		if status == http.StatusOK {
			return limit
		}
		return refusal
	}
}
