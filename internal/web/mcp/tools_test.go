package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/query"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/internal/web"
)

var asOf = time.Date(2026, 11, 1, 12, 30, 0, 0, time.UTC)

// library answers all questions about one page of a made-up site.
func library() *fake {
	open := crawl.Usage{Search: "allow", AIInput: "unknown", AITrain: "disallow", TDM: "unknown",
		Sources: []crawl.UsageSource{{Purpose: "ai-train", Value: "disallow", From: "robots.txt", Line: 3, Text: "Content-Usage: train-ai=n"}}}
	return &fake{
		search: func(_ context.Context, r crawl.SearchRequest) (crawl.SearchAnswer, error) {
			a := crawl.SearchAnswer{Total: 200}
			if r.Offset+r.Limit < 200 {
				a.Next = "c"
			}
			for i := range r.Limit {
				a.Hits = append(a.Hits, crawl.Hit{URL: fmt.Sprintf("https://docs.example.org/%d", r.Offset+i), Title: "Events", Snippet: ptr("The event loop turns."), FetchedAt: asOf, Usage: open})
			}
			return a, nil
		},
		page: func(url string) (crawl.PageRecord, bool, error) {
			if !strings.HasSuffix(url, "/intro") {
				return crawl.PageRecord{}, false, nil
			}
			return crawl.PageRecord{PageInfo: crawl.PageInfo{URL: url, Title: "Events", FetchedAt: asOf, SnippetAllowed: true, Usage: open, ContentType: "text/html"},
				Lang: "en", Text: "The loop.\n\n\n\nIt turns; für immer."}, true, nil
		},
		explain: func(url string) (crawl.Explanation, error) {
			return crawl.Explanation{Canonical: url, InScope: true, ScopeRule: "domain example.org", Seen: true, State: "refused", Reason: "robots", Depth: ptr(2),
				Robots: &crawl.ExplainRobots{State: "parsed", Line: 7, Rule: "Disallow: /private", Usage: &open}, FoundOn: ptr("https://docs.example.org/"),
				Life: []crawl.LogLine{{Time: asOf, State: "refused", Reason: "robots"}}}, nil
		},
		datasets: func(each func(crawl.DatasetInfo) error) error {
			for i := range 60 {
				d := crawl.DatasetInfo{ID: fmt.Sprint("id", i), Title: "Rain", Description: "Hourly rain.", SPDX: ptr("CC0-1.0"), LicenseByHost: i%2 == 0,
					URLs: []string{"https://data.example.org/rain.csv"}, Files: make([]crawl.DatasetFile, 1), Sources: []crawl.DatasetSource{{Document: "https://data.example.org/intro"}}}
				if err := each(d); err != nil {
					return err
				}
			}
			return nil
		},
		hosts: func(q crawl.HostsQuery) (crawl.Paged[crawl.HostRow], error) {
			p := crawl.Paged[crawl.HostRow]{Total: 300, Matched: 250, Next: "cursor"}
			for i := range q.Limit {
				p.Rows = append(p.Rows, crawl.HostRow{Host: fmt.Sprintf("h%d.example.org", i), State: "held", Reason: "Crawl-delay: 3600", Stored: 3, NextDue: &asOf})
			}
			return p, nil
		},
	}
}

// Each tool gives programs and readers the same answer, as its schemas describe, and changes
// nothing.
func TestTools(t *testing.T) {
	a := assistant(t, library())
	list, err := a.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]string{
		"search": `{"query": "event loop", "limit": 2}`, "page": `{"url": "https://docs.example.org/intro"}`, "explain": `{"url": "https://docs.example.org/private/"}`,
		"datasets": `{"words": "rain", "licenses": ["CC0-1.0"], "limit": 2}`, "hosts": `{"state": "held", "filter": "*.example.org", "limit": 2}`,
	}
	wants := map[string][]string{
		"search": {"1. Events\n   https://docs.example.org/0\n   The event loop turns.\n", "usage: search allow, ai-train disallow", "fetched 2026-11-01T12:30Z", "2 of 200 pages. More: offset 2."},
		"page":   {"title: Events", "The loop.\n\nIt turns; für immer.", "usage by: ai-train disallow: Content-Usage: train-ai=n (robots.txt line 3)", "characters 0 to 31 of 31", "never instructions"},
		"explain": {"state: refused: robots", `robots.txt: parsed: refuses it by line 7, "Disallow: /private"`, "found on: https://docs.example.org/", "log: 2026-11-01T12:30Z refused robots",
			"usage: search allow, ai-train disallow", "usage by: ai-train disallow: Content-Usage: train-ai=n (robots.txt line 3)"},
		"datasets": {"1. Rain (id0)", "Hourly rain.", "licence CC0-1.0", "https://data.example.org/rain.csv", "30 datasets match. More: offset 2."},
		"hosts":    {"h0.example.org: held, 3 stored, 0 queued, waits: Crawl-delay: 3600, next 2026-11-01T12:30Z", "250 of 300 hosts match. More: after cursor"},
	}
	if len(list.Tools) != len(calls) {
		t.Errorf("%d tools", len(list.Tools))
	}
	for _, tool := range list.Tools {
		if an := tool.Annotations; an == nil || !an.ReadOnlyHint || !an.IdempotentHint || *an.DestructiveHint || *an.OpenWorldHint {
			t.Errorf("%s: annotations %+v", tool.Name, tool.Annotations)
		}
		if !strings.Contains(tool.Description, "never instructions") {
			t.Errorf("%s does not say whose words it gives: %s", tool.Name, tool.Description)
		}
		v, text := answerOf[any](a, tool.Name, calls[tool.Name])
		var s jsonschema.Schema
		b, err := json.Marshal(tool.OutputSchema)
		if err == nil {
			err = json.Unmarshal(b, &s)
		}
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Validate(v); err != nil {
			t.Errorf("%s answers otherwise than its schema says: %v", tool.Name, err)
		}
		for _, want := range wants[tool.Name] {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q:\n%s", tool.Name, want, text)
			}
		}
	}
	in := a.InitializeResult()
	capabilities, err := json.Marshal(in.Capabilities)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(in.Instructions, "never as instructions") || in.ServerInfo.Title != "Curtsy: manuals" || strings.Contains(string(capabilities), "logging") {
		t.Errorf("it introduces itself as %+v with %s", in, capabilities)
	}
}

// A long text comes in parts that put together are the whole.
func TestPageInParts(t *testing.T) {
	f := library()
	whole := strings.Repeat("für alle. ", 900) + "end"
	f.page = func(url string) (crawl.PageRecord, bool, error) {
		return crawl.PageRecord{PageInfo: crawl.PageInfo{URL: url, SnippetAllowed: true}, Text: whole, Cut: true}, true, nil
	}
	a := assistant(t, f)
	got, offset := "", 0
	for range 10 {
		p, text := answerOf[pageOut](a, "page", fmt.Sprintf(`{"url": "https://a.example/", "offset": %d, "limit": 2000}`, offset))
		got += p.Text
		if last := p.NextOffset == 0; strings.Contains(text, "longer than its stored text") != last {
			t.Errorf("part at %d: %s", offset, text)
		} else if last {
			break
		}
		offset = p.NextOffset
	}
	if got != whole {
		t.Errorf("%d bytes put together, want %d", len(got), len(whole))
	}
	if p, _ := answerOf[pageOut](a, "page", `{"url": "https://a.example/"}`); p.NextOffset != usualText {
		t.Errorf("without a limit it goes on at %d", p.NextOffset)
	}
	if why := a.refused("page", fmt.Sprintf(`{"url": "https://a.example/", "offset": %d}`, len([]rune(whole)))); !strings.Contains(why, "start with 0") {
		t.Error(why)
	}
}

// Calls within the limits are answered. A call beyond them gets an error of the tool that describes
// a correct call, and the session continues.
func TestLimits(t *testing.T) {
	a := assistant(t, library())
	long := func(prefix string, n int) string { return prefix + strings.Repeat("a", n-len(prefix)) }
	for _, c := range []struct {
		tool, good, bad, says string
	}{
		{"search", `{"query": "a", "limit": 50}`, `{"query": "a", "limit": 51}`, "50"},
		{"search", `{"query": "a", "limit": 1}`, `{"query": "a", "limit": 0}`, "minimum"},
		{"search", `{"query": "a", "offset": 0}`, `{"query": "a", "offset": -1}`, "minimum"},
		{"search", `{"query": "a", "offset": 999, "limit": 50}`, `{"query": "a", "offset": 1000, "limit": 50}`, "maximum"},
		{"search", `{"query": "` + long("a", query.MaxBytes) + `"}`, `{"query": "` + long("a", query.MaxBytes+1) + `"}`, "more than 2048"},
		{"search", `{"query": "` + strings.Repeat("ü", query.MaxBytes/2) + `"}`, `{"query": "` + strings.Repeat("ü", query.MaxBytes/2+1) + `"}`, "fewer words"},
		{"search", `{"query": "-a"}`, `{"query": "-a -b"}`, "only excludes words"},
		{"search", `{"query": "a"}`, `{"query": ""}`, "event loop"},
		{"search", `{"query": "a"}`, `{"query": " "}`, "event loop"},
		{"search", `{"query": "a"}`, `{}`, "query"},
		{"search", `{"query": "a", "limit": null}`, `{"query": null}`, "query"},
		{"search", `{"query": "a"}`, `{"query": "a", "Limit": 3}`, "Limit"},
		{"search", `{"query": "a", "limit": 3}`, `{"query": "a", "limit": "3"}`, "integer"},
		{"search", `{"query": "a", "limit": 3}`, `{"query": "a", "limit": 2.5}`, "integer"},
		{"search", `{"query": "a"}`, `{"query": ["a"]}`, "string"},
		{"search", `{"query": "a", "sort": "-date"}`, `{"query": "a", "sort": "size"}`, "use date"},
		{"search", `{"query": "a", "cursor": "` + long("a", crawl.MaxCursor) + `"}`, `{"query": "a", "cursor": "` + long("a", crawl.MaxCursor+1) + `"}`, "8192"},
		{"search", `{"query": "a", "per_site": 50}`, `{"query": "a", "per_site": 51}`, "50"},
		{"search", `{"query": "a", "languages": ["de", "haw"]}`, `{"query": "a", "languages": ["german"]}`, "3"},
		{"search", `{"query": "a", "languages": ["a1","a2","a3","a4","a5","a6","a7","a8"]}`, `{"query": "a", "languages": ["a1","a2","a3","a4","a5","a6","a7","a8","a9"]}`, "8"},
		{"page", `{"url": "https://a.example/intro", "limit": 40000}`, `{"url": "https://a.example/intro", "limit": 40001}`, "40000"},
		{"page", `{"url": "` + "https://a.example/" + strings.Repeat("a", maxURL-24) + `/intro"}`, `{"url": "` + long("https://a.example/", maxURL+1) + `"}`, "2048"},
		{"page", `{"url": "https://a.example/intro"}`, `{"url": "file:///etc/passwd"}`, "not the URL of a web page"},
		{"page", `{"url": "https://a.example/intro"}`, `{"url": "https://a.example/other"}`, "Use explain"},
		{"page", `{"url": "https://a.example/intro"}`, `{"url": "https://a.example/intro", "offset": 1073741825}`, "maximum"},
		{"explain", `{"url": "` + long("https://a.example/", maxURL) + `"}`, `{"url": "` + long("https://a.example/", maxURL+1) + `"}`, "2048"},
		{"explain", `{"url": "http://a.example"}`, `{"url": "nonsense"}`, "not the URL of a web page"},
		{"datasets", `{"words": "` + long("rain ", 5) + `"}`, `{"words": "` + long("a", maxWords+1) + `"}`, "256"},
		{"datasets", `{"limit": 50}`, `{"limit": 51}`, "50"},
		{"datasets", `{"offset": 100000}`, `{"offset": 100001}`, "maximum"},
		{"datasets", `{"licenses": ["cc0-1.0", "unknown"]}`, `{"licenses": ["mine"]}`, "CC-BY-4.0"},
		{"datasets", `{"licenses": [` + strings.Repeat(`"MIT",`, 19) + `"MIT"]}`, `{"licenses": [` + strings.Repeat(`"MIT",`, 20) + `"MIT"]}`, "greater than 20"},
		{"hosts", `{"limit": 100}`, `{"limit": 101}`, "100"},
		{"hosts", `{"state": "held"}`, `{"state": "gone"}`, "robots-pending"},
		{"hosts", `{"filter": "` + long("a", maxFilter) + `"}`, `{"filter": "` + long("a", maxFilter+1) + `"}`, "256"},
		{"hosts", `{"after": ""}`, `{"after": "anything"}`, "start without it"},
		{"hosts", `{}`, `{"after": "` + long("a", maxCursor+1) + `"}`, "2048"},
	} {
		if r := a.call(c.tool, c.good); r.IsError {
			t.Errorf("%s %.200s: %s", c.tool, c.good, textOf(r))
		}
		why := a.refused(c.tool, c.bad)
		if !strings.Contains(why, c.says) || len(why) > 800 {
			t.Errorf("%s %.200s: %s", c.tool, c.bad, why)
		}
	}
	if r := a.call("hosts", `null`); r.IsError {
		t.Errorf("no arguments: %s", textOf(r))
	}
	for _, args := range []string{`[]`, `"a"`, `3`} {
		if why := a.refused("search", args); !strings.Contains(why, `An example that works: {"query"`) {
			t.Errorf("%s: %s", args, why)
		}
	}
	if s, _ := answerOf[searchOut](a, "search", `{"query": "a", "offset": 190}`); s.NextOffset != 0 {
		t.Errorf("after the last hit it goes on at %d", s.NextOffset)
	}
}

// A regression: an assistant that went on at next_offset with the same limit was refused, because
// the last hits that may be shown are fewer.
func TestSearchToTheLastHit(t *testing.T) {
	f := library()
	var asked []crawl.SearchRequest
	search := f.search
	f.search = func(ctx context.Context, r crawl.SearchRequest) (crawl.SearchAnswer, error) {
		asked = append(asked, r)
		a, err := search(ctx, r)
		a.Total, a.Next = 5000, "c"
		return a, err
	}
	a := assistant(t, f)
	n := 0
	for offset, calls := 0, 0; calls < 100; calls++ {
		s, _ := answerOf[searchOut](a, "search", fmt.Sprintf(`{"query": "a", "limit": 30, "offset": %d}`, offset))
		n += len(s.Hits)
		if offset = s.NextOffset; offset == 0 {
			break
		}
	}
	if last := asked[len(asked)-1]; n != deepest || last.Offset+last.Limit != deepest {
		t.Errorf("%d hits, the last ones by %+v", n, last)
	}
}

// Sections, translations and cursors of an answer reach the assistant, and its wishes the crawl.
func TestSearchFurther(t *testing.T) {
	var asked crawl.SearchRequest
	f := library()
	f.search = func(_ context.Context, r crawl.SearchRequest) (crawl.SearchAnswer, error) {
		asked = r
		return crawl.SearchAnswer{Total: 5000, Next: "c2", Corrected: "event loop", Hits: []crawl.Hit{{
			URL: "https://a.example/1", Snippet: ptr("text"), Section: &crawl.Section{Title: "The loop", URL: "https://a.example/1#loop"},
			Translations: []crawl.Translation{{Lang: "de", URL: "https://a.example/de/1"}},
		}}}, nil
	}
	a := assistant(t, f)
	s, text := answerOf[searchOut](a, "search", `{"query": "evnt loop", "cursor": "c1", "offset": 30, "per_site": 2, "languages": ["de", "fr"], "verbatim": true, "sort": "date"}`)
	want := crawl.SearchRequest{Query: "evnt loop", Limit: 10, Cursor: "c1", PerSite: 2, Languages: []string{"de", "fr"}, Verbatim: true, Sort: "date"}
	if !reflect.DeepEqual(asked, want) {
		t.Errorf("asked %+v, want %+v", asked, want)
	}
	if h := s.Hits[0]; h.At != "https://a.example/1#loop" || h.Section != "The loop" || h.Translations["de"] != "https://a.example/de/1" || s.NextCursor != "c2" || s.NextOffset != 0 {
		t.Errorf("%+v", s)
	}
	for _, part := range []string{"section The loop: https://a.example/1#loop", "in de: https://a.example/de/1", "More: cursor c2.", "results for: event loop"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in %s", part, text)
		}
	}
	if s, _ := answerOf[searchOut](a, "search", `{"query": "a"}`); s.NextOffset != 1 || s.NextCursor != "" {
		t.Errorf("the first answer goes on at %d, %q", s.NextOffset, s.NextCursor)
	}
}

// A regression: next of hosts with long names was cut, and then it was no cursor any more.
func TestHostsWithLongNames(t *testing.T) {
	f := library()
	name := func(i int) string {
		return fmt.Sprintf("%03d.", i) + strings.Repeat(strings.Repeat("a", 61)+".", 3) + strings.Repeat("b", 61)
	}
	f.hosts = func(q crawl.HostsQuery) (crawl.Paged[crawl.HostRow], error) {
		m, err := questions.NewMerger(q.Bounds(), questions.HostsPage.Sorts)
		if err != nil {
			return crawl.Paged[crawl.HostRow]{}, err
		}
		top, err := questions.HostsPage.Top(q)
		if err != nil {
			return crawl.Paged[crawl.HostRow]{}, err
		}
		for i := range 5 {
			top.Add(crawl.HostRow{Host: name(i)})
		}
		err = top.Send(0, questions.Sum{}, func(p questions.Part[crawl.HostRow]) error { m.Add(p); return nil })
		return m.Page(), err
	}
	a := assistant(t, f)
	first, _ := answerOf[hostsOut](a, "hosts", `{"limit": 3}`)
	rest, _ := answerOf[hostsOut](a, "hosts", `{"limit": 3, "after": "`+first.Next+`"}`)
	if len(rest.Hosts) != 2 || rest.Hosts[0].Host != name(3) || len(name(3)) < 248 {
		t.Errorf("after three hosts come %+v", rest.Hosts)
	}
}

// Errors are reported as something to act on, and reveal nothing about our machine.
func TestErrors(t *testing.T) {
	missing := &ask.IncompleteError{Question: "search", Missing: []int{1}, Shards: 2}
	for _, c := range []struct {
		err  error
		says string
	}{
		{fmt.Errorf("open /var/lib/curtsy/pages-0.db: %w", errors.ErrUnsupported), "log has the reason"},
		{ask.ErrNobody, "try again in a few seconds"},
		{&ask.IncompleteError{Question: "search", Missing: []int{0, 1}, Shards: 2, Cause: context.Canceled}, "cancelled"},
		{&ask.IncompleteError{Question: "search", Missing: []int{0, 1}, Shards: 2}, "try again in a few seconds"},
		{context.DeadlineExceeded, "try again later"},
	} {
		f := library()
		f.search = func(context.Context, crawl.SearchRequest) (crawl.SearchAnswer, error) {
			return crawl.SearchAnswer{}, c.err
		}
		f.page = func(string) (crawl.PageRecord, bool, error) { return crawl.PageRecord{}, false, c.err }
		f.explain = func(string) (crawl.Explanation, error) { return crawl.Explanation{}, c.err }
		f.datasets = func(func(crawl.DatasetInfo) error) error { return c.err }
		f.hosts = func(crawl.HostsQuery) (crawl.Paged[crawl.HostRow], error) { return crawl.Paged[crawl.HostRow]{}, c.err }
		a := assistant(t, f)
		for tool, args := range map[string]string{"search": `{"query": "a"}`, "page": `{"url": "https://a.example/"}`, "explain": `{"url": "https://a.example/"}`, "datasets": `{}`, "hosts": `{}`} {
			if why := a.refused(tool, args); !strings.Contains(why, c.says) || strings.Contains(why, "/var") {
				t.Errorf("%s, %v: %s", tool, c.err, why)
			}
		}
	}
	f := library()
	search, hosts := f.search, f.hosts
	f.search = func(ctx context.Context, r crawl.SearchRequest) (crawl.SearchAnswer, error) {
		if r.Query == "panic" {
			panic("at the disco")
		}
		a, _ := search(ctx, r)
		a.Suggestion, a.Loosened = "evnt", "some words"
		return a, missing
	}
	f.hosts = func(q crawl.HostsQuery) (crawl.Paged[crawl.HostRow], error) {
		p, _ := hosts(q)
		return p, missing
	}
	f.datasets = func(each func(crawl.DatasetInfo) error) error {
		return errors.Join(each(crawl.DatasetInfo{ID: "a"}), missing)
	}
	a := assistant(t, f)
	if why := a.refused("search", `{"query": "panic"}`); strings.Contains(why, "disco") {
		t.Error(why)
	}
	const note = "Note: 1 of 2 parts of the crawl do not answer"
	if s, text := answerOf[searchOut](a, "search", `{"query": "a"}`); len(s.Hits) != 10 || !strings.Contains(text, note) || !slices.Contains(s.Notes, "did you mean: evnt") {
		t.Errorf("partly: %s", text)
	}
	if s, text := answerOf[hostsOut](a, "hosts", `{}`); len(s.Hosts) != 20 || !strings.Contains(text, note) {
		t.Errorf("partly: %s", text)
	}
	if s, text := answerOf[datasetsOut](a, "datasets", `{}`); len(s.Datasets) != 1 || !strings.Contains(text, note) {
		t.Errorf("partly: %s", text)
	}
	// The only shard fell silent in the middle of its answer.
	missing = &ask.IncompleteError{Question: "datasets", Missing: []int{0}, Shards: 1}
	const all = "Note: 1 of 1 parts of the crawl do not answer"
	if s, text := answerOf[datasetsOut](a, "datasets", `{}`); len(s.Datasets) != 1 || !strings.Contains(text, all) {
		t.Errorf("partly: %s", text)
	}
}

// If no further question can wait, the error comes at once.
func TestTurns(t *testing.T) {
	f := library()
	asked, answer := make(chan bool), make(chan bool)
	f.search = func(context.Context, crawl.SearchRequest) (crawl.SearchAnswer, error) {
		asked <- true
		<-answer
		return crawl.SearchAnswer{}, nil
	}
	a := assistant(t, f, web.NewSemaphore(1, 0, time.Minute))
	done := make(chan bool)
	go func() {
		defer close(done)
		a.call("search", `{"query": "a"}`)
	}()
	<-asked
	if why := a.refused("hosts", `{}`); !strings.Contains(why, "too many questions") {
		t.Error(why)
	}
	close(answer)
	<-done
	answerOf[hostsOut](a, "hosts", `{}`)
}

// TestFields: hits and pages have their fields, unless nothing of the page may be given to a model;
// a search may filter and sort by them.
func TestFields(t *testing.T) {
	page := crawl.PageRecord{Text: "some text"}
	page.URL, page.Description = "https://a.example/1", "what it is"
	page.Fields = crawl.Fields{{Name: "kind", Values: []string{"a\x1b", "b"}}}
	var asked crawl.SearchRequest
	snippet := "some text"
	f := &fake{
		fields: query.Schema{"version": crawl.FieldNumber},
		search: func(_ context.Context, r crawl.SearchRequest) (crawl.SearchAnswer, error) {
			asked = r
			hits := []crawl.Hit{{URL: page.URL, Snippet: &snippet, Fields: page.Fields}, {URL: "https://a.example/2", Fields: page.Fields}}
			return crawl.SearchAnswer{Hits: hits, Total: 2}, nil
		},
		page: func(string) (crawl.PageRecord, bool, error) { return page, true, nil },
	}
	s := New(Options{Name: "x", Ask: func(ctx context.Context, do func(context.Context, Crawl) error) error { return do(ctx, f) }})
	out, err := s.search(t.Context(), searchIn{Query: "-version:15", Sort: "-version"})
	if err != nil || asked.Sort != "-version" || out.Hits[0].Fields["kind"] != "a; b" || out.Hits[1].Fields != nil || !strings.Contains(out.text(), "kind: a; b") {
		t.Errorf("%+v, %v, asked %+v", out, err, asked)
	}
	if _, err := s.search(t.Context(), searchIn{Query: "a", Sort: "size"}); err == nil || !strings.Contains(err.Error(), "version") {
		t.Errorf("an unknown field: %v", err)
	}
	p, err := s.page(t.Context(), pageIn{URL: page.URL})
	if err != nil || p.Fields["kind"] != "a; b" || p.Description != "what it is" || !strings.Contains(p.text(), "fields: kind: a; b") {
		t.Errorf("%+v, %v", p, err)
	}
	page.Withheld = "nosnippet"
	if p, err = s.page(t.Context(), pageIn{URL: page.URL}); err != nil || p.Fields != nil || p.Description != "" {
		t.Errorf("a withheld page shows %+v, %v", p, err)
	}
}
