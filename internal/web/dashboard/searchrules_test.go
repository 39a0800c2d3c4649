package dashboard

import (
	"bytes"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/web"
)

const someRules = "# ours <b>\nresults:\n  - query: kiwi\n    hide: [https://docs.example/old]\n"

// The page of a crawl that does not run shows its rules, and has no form that changes anything.
func TestSearchRulesOfAStoppedCrawl(t *testing.T) {
	spec := crawl.Spec{Name: "manuals", Shards: 2, SearchSettings: crawl.SearchSettings{SearchRules: someRules}}
	c := browse(t, New(Options{Ask: Of(asker.Stopped(spec, func() error { return nil }, ask.Handlers{"search": sends()}))}))
	for _, path := range []string{"/search-rules", "/search-rules?q=kiwi", "/search-rules?q=%22%3E%3Cscript%3E"} {
		code, body := c.get(path)
		if code != http.StatusOK || !strings.Contains(body, "# ours &lt;b&gt;") || strings.Contains(body, `action="/do/search`) {
			t.Errorf("%s: %d %s", path, code, body)
		}
		if hidden := strings.Contains(body, "https://docs.example/old</bdi>"); hidden != strings.HasSuffix(path, "=kiwi") {
			t.Errorf("%s: the hidden page is shown: %v", path, hidden)
		}
		checkMarkup(t, body)
	}
}

// The page of a running crawl has forms for each result and for the text, all with the token.
func TestSearchRulesForms(t *testing.T) {
	v := searchRulesView{
		CanControl: true, Text: someRules, Mark: markOf(someRules), Q: "kiwi & more", MaxQueries: previewQueries, Wrong: []string{"search.yaml:1:1: <b>"},
		Hits:    []ruledHit{{1, "https://evil.example/%22%3E", evil, true}, {2, "https://docs.example/kiwi", "Kiwi", false}},
		Hidden:  []string{"https://docs.example/old"},
		Preview: []movedResults{{"kiwi", true, []asker.Move{{URL: evilURL, Title: evil, Was: 4, Is: 1, Pinned: true}, {URL: "https://docs.example/b", Was: 2}}}, {"b", false, nil}},
	}
	var body bytes.Buffer
	if err := pageTemplates.Of("searchrules.html").Execute(&body, web.Frame{CSRF: "token", V: v}); err != nil {
		t.Fatal(err)
	}
	page := body.String()
	checkMarkup(t, page)
	for want, times := range map[string]int{
		`action="/do/search-result"`: 4, `action="/do/search-rules"`: 1, `value="token"`: 5, `formaction="/do/preview-search-rules"`: 1, "Unpin": 1, ">Show again": 1,
		`value="/search-rules?q=kiwi&#43;%26&#43;more"`: 4, "up 3, pinned": 1, "gone": 1, "No change.": 1, "&lt;b&gt;": 2, `value="` + markOf(someRules) + `"`: 1,
	} {
		if n := strings.Count(page, want); n != times {
			t.Errorf("%d times %q, want %d", n, want, times)
		}
	}
	if t.Failed() {
		t.Log(page)
	}
}

// A preview shows what was typed and its mistakes, saves nothing, and needs the token of a form.
func TestPreviewOfSearchRules(t *testing.T) {
	spec := crawl.Spec{Name: "manuals", Shards: 2, SearchSettings: crawl.SearchSettings{SearchRules: someRules}}
	c := browse(t, New(Options{Ask: Of(asker.Stopped(spec, func() error { return nil }, ask.Handlers{"search": sends()}))}))
	form := url.Values{"text": {"weights: {titel: 1}\r\n"}, "queries": {"kiwi\r\n"}}
	if resp := c.ask(http.MethodPost, previewRulesPath, form.Encode()); resp.StatusCode != http.StatusForbidden {
		t.Errorf("without a token: %d", resp.StatusCode)
	}
	if text := typedRules(form); text != "weights: {titel: 1}\n" {
		t.Errorf("the text is %q", text)
	}
	var v searchRulesView
	if err := v.preview(t.Context(), nil, form); err != nil || len(v.Wrong) != 1 || !strings.Contains(v.Wrong[0], "did you mean title?") || v.Text != "weights: {titel: 1}\n" {
		t.Errorf("%+v, %v", v, err)
	}
	form = url.Values{"text": {" \r\n"}, "queries": {strings.Repeat("kiwi\n", previewQueries+1)}}
	v = searchRulesView{}
	stopped := asker.Stopped(spec, func() error { return nil }, ask.Handlers{"search": sends()})
	if err := v.preview(t.Context(), stopped, form); err != nil || len(v.Preview) != previewQueries || v.Text != "" {
		t.Errorf("%d queries, text %q, %v", len(v.Preview), v.Text, err)
	}
	if _, err := curateResult(t.Context(), nil, url.Values{"way": {"drop"}}, by(&http.Request{})); err != errWay {
		t.Errorf("another way: %v", err)
	}
}
