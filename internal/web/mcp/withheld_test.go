package mcp

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

// closed is a statement of a site that forbids its pages for models.
func closed() crawl.Usage {
	return crawl.Usage{Search: "allow", AIInput: "disallow", AITrain: "disallow", TDM: "unknown", Sources: []crawl.UsageSource{
		{Purpose: "search", Value: "allow", From: "robots.txt", Line: 2, Text: "Content-Signal: search=yes, ai-input=no"},
		{Purpose: "ai-input", Value: "disallow", From: "robots.txt", Line: 2, Text: "Content-Signal: search=yes, ai-input=no"},
	}}
}

// everywhere asks each tool about one page, and returns all answers: structured, and as text.
func everywhere(t *testing.T, a asks) (all string) {
	t.Helper()
	for tool, args := range map[string]string{"search": `{"query": "secret"}`, "page": `{"url": "https://a.example/"}`, "explain": `{"url": "https://a.example/"}`,
		"datasets": `{}`, "hosts": `{}`} {
		r := a.call(tool, args)
		b, err := json.Marshal(r.StructuredContent)
		if err != nil || r.IsError {
			t.Fatalf("%s: %v %s", tool, err, textOf(r))
		}
		all += string(b) + "\n" + textOf(r) + "\n"
	}
	return all
}

// about is a crawl with one page and one dataset, both of which are secret.
func about(rec crawl.PageRecord, h crawl.Hit) *fake {
	f := library()
	rec.URL, h.URL, rec.Title, h.Title = "https://a.example/", "https://a.example/", "A title", "A title"
	f.search = func(context.Context, crawl.SearchRequest) (crawl.SearchAnswer, error) {
		return crawl.SearchAnswer{Hits: []crawl.Hit{h}, Total: 1}, nil
	}
	f.page = func(string) (crawl.PageRecord, bool, error) { return rec, true, nil }
	f.datasets = func(each func(crawl.DatasetInfo) error) error {
		return each(crawl.DatasetInfo{ID: "x", Title: "A dataset", Description: "a secret", Keywords: []string{"secret"}, URLs: []string{"https://a.example/rain.csv"}, Usage: rec.Usage,
			Sources: []crawl.DatasetSource{{Document: "https://a.example/"}}})
	}
	return f
}

// TestUsage_8_3_Assistants: if a site forbids that a page is given to a model, no tool returns any
// of its text. Assistants get its title and address, which lead people to it.
func TestUsage_8_3_Assistants(t *testing.T) {
	rec := crawl.PageRecord{PageInfo: crawl.PageInfo{SnippetAllowed: true, Usage: closed(), Truncated: true}, Text: "the secret text"}
	a := assistant(t, about(rec, crawl.Hit{Snippet: ptr("a secret text"), Usage: closed()}))
	all := everywhere(t, a)
	if strings.Contains(all, "secret") {
		t.Errorf("its text is given: %s", all)
	}
	const because = "Content-Signal: search=yes, ai-input=no (robots.txt line 2)"
	if s, text := answerOf[searchOut](a, "search", `{"query": "secret"}`); s.Hits[0].Title != "A title" || s.Hits[0].URL != "https://a.example/" ||
		s.Hits[0].Withheld != "usage ai-input" || s.Hits[0].Because != because || !strings.Contains(text, "text withheld: usage ai-input, "+because) {
		t.Errorf("search: %+v\n%s", s, text)
	}
	if p, text := answerOf[pageOut](a, "page", `{"url": "https://a.example/"}`); p.Withheld != "usage ai-input" || p.Because != because || p.Title != "A title" ||
		p.Usage["ai-input"] != "disallow" || p.Characters != 0 || !strings.Contains(text, "text withheld: usage ai-input, "+because) {
		t.Errorf("page: %+v\n%s", p, text)
	}
	if d, text := answerOf[datasetsOut](a, "datasets", `{}`); d.Datasets[0].Title != "A dataset" || d.Datasets[0].Withheld != "usage ai-input" || d.Datasets[0].Because != because ||
		len(d.Datasets[0].URLs) != 1 || !strings.Contains(text, "description withheld: usage ai-input") {
		t.Errorf("datasets: %+v\n%s", d, text)
	}
}

// TestNoSnippet: no tool returns what the directives of a page forbid, whatever the indexers send.
func TestNoSnippet(t *testing.T) {
	for name, rec := range map[string]crawl.PageRecord{
		"nosnippet": {Withheld: "nosnippet"},
		"noarchive": {PageInfo: crawl.PageInfo{SnippetAllowed: true}, Withheld: "noarchive"},
		"metadata":  {PageInfo: crawl.PageInfo{SnippetAllowed: true}, Withheld: "metadata"},
	} {
		rec.Text = "secret, and sent by mistake"
		a := assistant(t, about(rec, crawl.Hit{}))
		p, text := answerOf[pageOut](a, "page", `{"url": "https://a.example/"}`)
		if p.Withheld != name || p.Text != "" || strings.Contains(text, "secret") || !strings.Contains(text, "text withheld: "+name) {
			t.Errorf("%s: %+v\n%s", name, p, text)
		}
		if s, text := answerOf[searchOut](a, "search", `{"query": "secret"}`); s.Hits[0].Withheld != "nosnippet" || s.Hits[0].Snippet != "" || !strings.Contains(text, "A title") {
			t.Errorf("%s: %s", name, text)
		}
	}
	a := assistant(t, about(crawl.PageRecord{PageInfo: crawl.PageInfo{SnippetAllowed: false}, Text: "secret"}, crawl.Hit{}))
	if p, _ := answerOf[pageOut](a, "page", `{"url": "https://a.example/"}`); p.Withheld != "nosnippet" || p.Text != "" {
		t.Errorf("a page that may not be quoted: %+v", p)
	}
	a = assistant(t, about(crawl.PageRecord{PageInfo: crawl.PageInfo{AliasOf: "https://main.example/"}, Withheld: "alias"}, crawl.Hit{}))
	if p, text := answerOf[pageOut](a, "page", `{"url": "https://a.example/"}`); p.AliasOf != "https://main.example/" || !strings.Contains(text, "use that url") {
		t.Errorf("another address: %+v", p)
	}
	// max-snippet limits all text of the page together, however it is asked for.
	a = assistant(t, about(crawl.PageRecord{PageInfo: crawl.PageInfo{SnippetAllowed: true, MaxSnippet: 6}, Text: "public secret"}, crawl.Hit{}))
	if p, _ := answerOf[pageOut](a, "page", `{"url": "https://a.example/"}`); p.Text != "public" || p.Withheld != "max-snippet:6" || p.NextOffset != 0 || p.Characters != 6 {
		t.Errorf("max-snippet: %+v", p)
	}
	a.refused("page", `{"url": "https://a.example/", "offset": 6}`)
}
