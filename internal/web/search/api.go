package search

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/query"
	"github.com/curtsy/curtsy/internal/web"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Answer is what /api/v1/search answers.
type Answer struct {
	Query   string `json:"query"` // as it was asked, filters included
	Page    int    `json:"page"`  // from 1
	PerPage int    `json:"per_page"`
	Links   Links  `json:"links"`
	crawl.SearchAnswer
}

// Links are addresses of related answers, relative to the server.
type Links struct {
	Self string `json:"self"`
	Next string `json:"next,omitempty"` // "": there is no further page
	Prev string `json:"prev,omitempty"`
}

// incompleteHeader is the header field that names the missing parts of an answer.
const incompleteHeader = "Curtsy-Incomplete"

// answer asks the crawl for a search result, for a reader who prefers some languages; path is where
// its links lead.
func (w *Web) answer(ctx context.Context, end time.Time, p params, fields query.Schema, languages []string, path string) (a Answer, bad *web.Problem) {
	a = Answer{Query: p.Q, Page: p.Page, PerPage: p.Per, Links: Links{Self: p.link(path)}}
	switch q := fields.Parse(p.Q); {
	case p.Like != "" && len(q.Groups) > 0:
		return a, wrong("q", "%v", crawl.ErrLikeWords)
	case p.Like != "":
	case q.Empty() && len(q.Not) == 0:
		return a, wrong("q", "q has no words in it; give search words, for example vacuum -full")
	case q.Empty():
		return a, wrong("q", "q only excludes words; add search words, for example vacuum -full")
	}
	r := crawl.SearchRequest{Query: a.Query, Like: p.Like, Offset: (p.Page - 1) * p.Per, Limit: p.Per, Explain: p.Explain, Sort: p.Sort,
		Cursor: p.Cursor, Languages: languages, PerSite: p.PerSite, Verbatim: p.Verbatim}
	if p.Cursor != "" {
		r.Offset = 0
	}
	began := time.Now()
	err := w.semaphore.DoUntil(ctx, end, func(ctx context.Context) (err error) {
		a.SearchAnswer, err = w.o.Crawl.Search(ctx, r)
		return err
	})
	w.o.Metrics.searched(began, err, ctx.Err() != nil)
	var missing *ask.IncompleteError
	var none *crawl.NoPageError
	switch {
	case errors.As(err, &none):
		return a, &web.Problem{Status: http.StatusNotFound, Text: "no page with the URL " + shown(none.URL) + " is stored, or it may not be shown"}
	case errors.Is(err, crawl.ErrCursor):
		return a, wrong("cursor", "%v", crawl.ErrCursor)
	case errors.As(err, &missing) && len(missing.Missing) < missing.Shards:
		a.Incomplete, a.Missing = true, missing.Missing
	case err != nil:
		return a, w.failed(ctx, a.Query, err)
	}
	if a.Hits == nil {
		a.Hits = []crawl.Hit{} // [] in JSON
	}
	if len(a.Hits) == 0 { // they are gone meanwhile
		a.Next = ""
	}
	if a.Next != "" {
		a.Links.Next = p.after(a.Next).link(path)
	}
	if p.Page > 1 && (p.Cursor == "" || p.reaches(p.Page-1)) { // no cursor leads back
		a.Links.Prev = p.at(p.Page - 1).link(path)
	}
	return a, nil
}

// head writes what an answer adds to the header.
func (a *Answer) head(h http.Header) {
	if a.Incomplete {
		h.Set(incompleteHeader, "shards="+numbers(a.Missing))
	}
}

// numbers writes them with commas between.
func numbers(all []int) string {
	s := make([]string, len(all))
	for i, n := range all {
		s[i] = strconv.Itoa(n)
	}
	return strings.Join(s, ",")
}

// fields are those of the crawl's site rules, for one search.
func (w *Web) fields(ctx context.Context, end time.Time, question string) (fields query.Schema, bad *web.Problem) {
	began := time.Now()
	err := w.semaphore.DoUntil(ctx, end, func(ctx context.Context) (err error) {
		fields, err = w.o.Crawl.Fields(ctx)
		return err
	})
	if err != nil {
		w.o.Metrics.searched(began, err, ctx.Err() != nil)
		return nil, w.failed(ctx, question, err)
	}
	return fields, nil
}

// search answers /api/v1/search.
func (w *Web) search(rw http.ResponseWriter, r *http.Request) {
	rw.Header().Add("Vary", "Accept-Language")
	end := w.semaphore.End()
	fields, bad := w.fields(r.Context(), end, r.URL.RawQuery)
	if bad != nil {
		web.SendProblem(rw, bad)
		return
	}
	p, bad := parse(r.URL.RawQuery, true, fields)
	if bad == nil && p.Q == "" && p.Like == "" {
		bad = wrong("q", "give search words, for example %s?q=words", r.URL.Path)
	}
	if bad != nil {
		web.SendProblem(rw, bad)
		return
	}
	a, bad := w.answer(r.Context(), end, p, fields, p.languages(r.Header), r.URL.Path)
	if bad != nil {
		web.SendProblem(rw, bad)
		return
	}
	w.asked(p, fields, &a, nil)
	a.head(rw.Header())
	web.SendJSON(rw, http.StatusOK, "application/json", a)
}

// page answers /api/v1/pages.
func (w *Web) page(rw http.ResponseWriter, r *http.Request) {
	asked, content, bad := pageAsked(r.URL)
	if bad != nil {
		web.SendProblem(rw, bad)
		return
	}
	u, err := canon.Parse(asked)
	if err != nil {
		web.SendProblem(rw, wrong("url", "%q is not a URL; use for example https://example.org/", shown(asked)))
		return
	}
	var rec crawl.PageRecord
	var found bool
	err = w.semaphore.Do(r.Context(), func(ctx context.Context) (err error) {
		rec, found, err = w.o.Crawl.Page(ctx, string(u), content)
		return err
	})
	switch {
	case err != nil && (!found || !errors.Is(err, ask.ErrIncomplete)):
		bad = w.failed(r.Context(), string(u), err)
	case !found:
		bad = &web.Problem{Status: http.StatusNotFound, Text: fmt.Sprintf("no page with the URL %s is stored, or it may not be shown", shown(string(u)))}
	}
	if bad != nil {
		web.SendProblem(rw, bad)
		return
	}
	web.SendJSON(rw, http.StatusOK, "application/json", rec)
}

// maxURL is the length of the longest URL of a page that is accepted, in bytes. The crawl stores no
// longer ones.
const maxURL = 4096

// pageAsked is the page that a request asks for, and the form of its content: "text", "markdown" or
// "html". The page is in the parameter url, or in the path. There it is either escaped as a whole,
// or written as it is; then its query is what follows a "?".
func pageAsked(u *url.URL) (page, content string, bad *web.Problem) {
	rest, inPath := strings.CutPrefix(u.EscapedPath(), pagesPath)
	content = "text"
	if inPath && rest != "" {
		for _, scheme := range []string{"http", "https"} {
			// A client or a proxy may have reduced two slashes to one.
			if tail, ok := strings.CutPrefix(rest, scheme+":/"); ok {
				page = scheme + "://" + strings.TrimPrefix(tail, "/")
				if u.RawQuery != "" {
					page += "?" + u.RawQuery
				}
				return bounded(page, content)
			}
		}
		page, err := url.PathUnescape(rest)
		if err != nil {
			return "", "", wrong("url", "the URL in the path is not escaped correctly")
		}
		if bad := onlyContent(u.RawQuery, &content, nil); bad != nil {
			return "", "", bad
		}
		return bounded(page, content)
	}
	if bad := onlyContent(u.RawQuery, &content, &page); bad != nil {
		return "", "", bad
	}
	if page == "" {
		return "", "", wrong("url", "name the page, for example %s?url=https%%3A%%2F%%2Fexample.org%%2F", strings.TrimSuffix(pagesPath, "/"))
	}
	return bounded(page, content)
}

func bounded(page, content string) (string, string, *web.Problem) {
	if len(page) > maxURL {
		return "", "", wrong("url", "the URL has %d bytes; the limit is %d", len(page), maxURL)
	}
	return page, content, nil
}

// onlyContent reads the parameter content and, unless page is nil, the parameter url. There are no
// others.
func onlyContent(raw string, content, page *string) *web.Problem {
	all, err := url.ParseQuery(raw)
	if err != nil {
		return wrong("", "the parameters are not valid: escape the whole URL")
	}
	for name, values := range all {
		switch {
		case len(values) > 1:
			return wrong(shown(name), "%s is given %d times: give it once", shown(name), len(values))
		case name == "content" && (values[0] == "text" || values[0] == "html" || values[0] == "markdown"):
			*content = values[0]
		case name == "content":
			return wrong(name, "content is %q; use text, markdown or html", shown(values[0]))
		case name == "url" && page != nil:
			*page = values[0]
		default:
			return wrong(shown(name), "there is no parameter %q; there are url and content", shown(name))
		}
	}
	return nil
}
