package search

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/curtsy/curtsy/internal/query"
	"github.com/curtsy/curtsy/internal/queryreport"
	"github.com/curtsy/curtsy/internal/web"
	"github.com/curtsy/curtsy/internal/webtext"
)

// Recorder records what is searched for, and which hits are opened. It never learns who asked. Its
// methods are called from many goroutines.
type Recorder interface {
	// Completions returns at most n frequent queries that begin with a prefix and have results,
	// most frequent first.
	Completions(prefix string, n int) []string
	Asked(normal string, total int64, listed bool)
	Opened(normal, url string, rank int)
}

// openPath leads to a hit and records that it was opened.
const openPath = "/search/open"

// opens makes and checks links to hits. Its key is that of the process, so that only links that
// this process has made are recorded, and the path is no way to lead people to just any address.
type opens struct{ key []byte }

func newOpens() *opens {
	o := &opens{key: make([]byte, sha256.Size)}
	rand.Read(o.key) // never fails
	return o
}

// sum signs a link.
func (o *opens) sum(normal, rank, to string) string {
	mac := hmac.New(sha256.New, o.key)
	for _, s := range []string{normal, rank, to} {
		mac.Write([]byte(strconv.Itoa(len(s)) + ":" + s))
	}
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
}

// link is the link to a hit; the rank of the first is 1.
func (o *opens) link(normal string, rank int, to string) string {
	n := strconv.Itoa(rank)
	return openPath + "?" + url.Values{"q": {normal}, "n": {n}, "u": {to}, "s": {o.sum(normal, n, to)}}.Encode()
}

// asked records the first page of an answer. With a view its links to hits are replaced by those
// that are recorded.
func (w *Web) asked(p params, fields query.Schema, a *Answer, v *view) {
	if w.o.Recorder == nil || p.Like != "" { // nobody typed a query
		return
	}
	normal := queryreport.Normal(fields.Parse(p.Q))
	if p.Page == 1 && p.Cursor == "" {
		w.o.Recorder.Asked(normal, a.Total, v != nil && len(a.Hits) > 0)
	}
	if v == nil || normal == "" {
		return
	}
	for i := range v.Hits {
		h := &v.Hits[i]
		for _, to := range []*string{&h.URL, &h.Section.URL} {
			if *to != "" && len(*to) <= maxURL { // a section's may be longer
				*to = w.opens.link(normal, v.First()+i, *to)
			}
		}
	}
}

// open leads to a hit. A link that this process did not sign, because it is of before a restart,
// leads to stored pages only and is not recorded.
func (w *Web) open(rw http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	normal, rank, to := q.Get("q"), q.Get("n"), q.Get("u")
	if _, ok := webtext.URL(to); !ok || len(to) > maxURL || w.o.Recorder == nil {
		web.SendProblem(rw, &web.Problem{Status: http.StatusNotFound, Text: "this link leads to no page; search again"})
		return
	}
	if hmac.Equal([]byte(q.Get("s")), []byte(w.opens.sum(normal, rank, to))) {
		if n, err := strconv.Atoi(rank); err == nil && r.Method == http.MethodGet && !strings.Contains(r.Header.Get("Sec-Purpose"), "prefetch") {
			w.o.Recorder.Opened(normal, withoutFragment(to), n)
		}
	} else if bad := w.stored(r, to); bad != nil {
		web.SendProblem(rw, bad)
		return
	}
	rw.Header().Set("Cache-Control", "no-store")
	http.Redirect(rw, r, to, http.StatusFound)
}

// stored returns a problem unless a page is stored and may be shown.
func (w *Web) stored(r *http.Request, to string) *web.Problem {
	u := withoutFragment(to)
	found := false
	err := w.semaphore.Do(r.Context(), func(ctx context.Context) (err error) {
		_, found, err = w.o.Crawl.Page(ctx, u, "text")
		return err
	})
	switch {
	case err != nil && !found:
		return w.failed(r.Context(), u, err)
	case !found:
		return &web.Problem{Status: http.StatusNotFound, Text: "this link is no longer valid; search again"}
	}
	return nil
}

// withoutFragment is the address of the page to whose section a link leads.
func withoutFragment(u string) string {
	u, _, _ = strings.Cut(u, "#")
	return u
}
