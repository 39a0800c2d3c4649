package search

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/query"
	"github.com/curtsy/curtsy/internal/web"
)

const similarPath = "/api/v1/similar"

// similarParams are the parameters of a request for similar pages.
var similarParams = []string{"url", "page", "per", "cursor", "site", "lang"}

// similar answers /api/v1/similar.
func (w *Web) similar(rw http.ResponseWriter, r *http.Request) {
	rw.Header().Add("Vary", "Accept-Language")
	p, bad := similarAsked(r.URL.RawQuery)
	var a Answer
	if bad == nil {
		a, bad = w.answer(r.Context(), w.semaphore.End(), p, nil, p.languages(r.Header), similarPath)
	}
	if bad != nil {
		web.SendProblem(rw, bad)
		return
	}
	a.head(rw.Header())
	web.SendJSON(rw, http.StatusOK, "application/json", a)
}

// similarAsked reads the parameters of a request for similar pages.
func similarAsked(raw string) (p params, bad *web.Problem) {
	all, err := url.ParseQuery(raw)
	if err != nil {
		return p, wrong("", "the parameters are not valid: escape the URL of the page")
	}
	for name := range all {
		if !slices.Contains(similarParams, name) {
			return p, wrong(shown(name), "there is no parameter %q; there are %s", shown(name), strings.Join(similarParams, ", "))
		}
	}
	p, bad = readAll(all, similarParams, nil)
	if bad == nil && p.Like == "" {
		bad = wrong("url", "name the page, for example %s?url=https%%3A%%2F%%2Fexample.org%%2F", similarPath)
	}
	return p, bad
}

// similarTo writes the parameters of the same request.
func (p params) similarTo(add func(name, value string)) {
	add("url", p.Like)
	f := query.Parse(p.Q).Filters
	for _, s := range f.Sites {
		add("site", s)
	}
	for _, l := range f.Langs {
		add("lang", l)
	}
}

// like is the search for pages that are similar to a hit, in the form in which this answer is
// shown; "" if there is none.
func (p params) like(h *crawl.Hit) string {
	if _, bad := similarAsked("url=" + url.QueryEscape(h.URL)); bad != nil {
		return ""
	}
	return params{Like: h.URL, Page: 1, Per: p.Per, Explain: p.Explain, Languages: p.Languages}.link("/search")
}
