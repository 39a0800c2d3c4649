package search

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/web"
	"github.com/curtsy/curtsy/internal/webtext"
)

// Suggestions are what /api/v1/suggest answers.
type Suggestions struct {
	Query string `json:"query"` // as far as it was typed
	// Frequent are queries that begin so and that several searches asked for, the most frequent
	// first. Without a Recorder there are none.
	Frequent []string `json:"frequent,omitempty"`
	crawl.SuggestAnswer
}

const (
	suggestPath = "/api/v1/suggest"
	// suggestionsType is the media type that browsers read (OpenSearch Suggestions 1.1).
	suggestionsType = "application/x-suggestions+json"
	maxTyped        = 256 // bytes; people type no more before they search
	maxSuggestions  = 20
	usualSuggested  = 8
	maxFrequent     = 3
)

// suggestParams are the parameters of a request for suggestions.
type suggestParams struct {
	typed      string
	limit      int
	openSearch bool // the answer is for a browser
}

// suggest answers /api/v1/suggest.
func (w *Web) suggest(rw http.ResponseWriter, r *http.Request) {
	p, bad := parseSuggest(r.URL.RawQuery)
	if bad != nil {
		web.SendProblem(rw, bad)
		return
	}
	a := Suggestions{Query: p.typed, SuggestAnswer: crawl.SuggestAnswer{Queries: []string{}, Pages: []crawl.SuggestedPage{}}}
	if strings.TrimSpace(p.typed) != "" {
		err := w.semaphore.Do(r.Context(), func(ctx context.Context) (err error) {
			a.SuggestAnswer, err = w.o.Crawl.Suggest(ctx, crawl.SuggestRequest{Typed: p.typed, Limit: p.limit})
			return err
		})
		var missing *ask.IncompleteError
		switch {
		case errors.As(err, &missing) && len(missing.Missing) < missing.Shards:
			a.Incomplete, a.Missing = true, missing.Missing
			rw.Header().Set(incompleteHeader, "shards="+numbers(missing.Missing))
		case err != nil:
			web.SendProblem(rw, w.failed(r.Context(), p.typed, err))
			return
		}
		a.addFrequent(w.o.Recorder, p.limit)
	}
	if !p.openSearch {
		web.SendJSON(rw, http.StatusOK, "application/json", a)
		return
	}
	queries := append(slices.Clone(a.Frequent), a.Queries...)
	web.SendJSON(rw, http.StatusOK, suggestionsType, []any{a.Query, queries[:min(len(queries), p.limit)]})
}

// addFrequent adds frequent queries, without the one that was typed and without those that complete
// its last word, which would be offered twice.
func (a *Suggestions) addFrequent(r Recorder, limit int) {
	if r == nil {
		return
	}
	typed := strings.TrimRight(a.Query, " ")
	for _, q := range r.Completions(a.Query, maxFrequent+1) {
		if !strings.EqualFold(q, typed) && len(a.Frequent) < min(limit, maxFrequent) {
			a.Frequent = append(a.Frequent, q)
		}
	}
	a.Queries = slices.DeleteFunc(slices.Clone(a.Queries), func(q string) bool {
		return slices.ContainsFunc(a.Frequent, func(f string) bool { return strings.EqualFold(f, q) })
	})
}

// parseSuggest reads the parameters of a request for suggestions.
func parseSuggest(raw string) (p suggestParams, bad *web.Problem) {
	p.limit = usualSuggested
	all, err := url.ParseQuery(raw)
	if err != nil {
		return p, wrong("", "the parameters are not valid: write them as q=words&limit=8, with %%26 for an & in a value")
	}
	for name, values := range all {
		value := values[0]
		switch {
		case len(values) > 1:
			return p, wrong(shown(name), "%s is given %d times: give it once", shown(name), len(values))
		case name == "q" && len(value) > maxTyped:
			return p, wrong(name, "q has %d bytes; suggestions are for at most %d: search with %s?q= instead", len(value), maxTyped, "/api/v1/search")
		case name == "q" && !utf8.ValidString(value):
			return p, wrong(name, "q is not UTF-8")
		case name == "q":
			p.typed = strings.TrimLeft(webtext.Clean(value), " ")
		case name == "limit":
			if bad := number(name, value, maxSuggestions, &p.limit); bad != nil {
				return p, bad
			}
		case name == "format" && (value == "json" || value == "opensearch"):
			p.openSearch = value == "opensearch"
		case name == "format":
			return p, wrong(name, "format is %q; use json or opensearch", shown(value))
		default:
			return p, wrong(shown(name), "there is no parameter %q; there are q, limit and format", shown(name))
		}
	}
	if !all.Has("q") {
		return p, wrong("q", "give what was typed, for example %s?q=wor", suggestPath)
	}
	return p, nil
}
