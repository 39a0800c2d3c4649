package search

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/queryreport"
	"github.com/curtsy/curtsy/internal/web"
)

func TestSuggest(t *testing.T) {
	var asked []crawl.SuggestRequest
	answer := crawl.SuggestAnswer{Queries: []string{"event loop", "event log"}, Pages: []crawl.SuggestedPage{{Title: "Event l\u202eoops", URL: "https://a.example/"}}}
	var err error
	w := New(Options{Crawl: &fake{suggest: func(r crawl.SuggestRequest) (crawl.SuggestAnswer, error) {
		asked = append(asked, r)
		return answer, err
	}}})
	long := strings.Repeat("x", maxTyped)
	for query, want := range map[string]crawl.SuggestRequest{
		"q=event+lo":       {Typed: "event lo", Limit: 8},
		"q=++event+":       {Typed: "event ", Limit: 8},
		"q=a%00b&limit=20": {Typed: "ab", Limit: 20},
		"q=" + long:        {Typed: long, Limit: 8},
	} {
		asked = nil
		code, s := getJSON[Suggestions](t, w, "/api/v1/suggest?"+query)
		if code != 200 || len(asked) != 1 || asked[0] != want || s.Query != want.Typed || !reflect.DeepEqual(s.SuggestAnswer, answer) {
			t.Errorf("%s: %d, asked %+v, answered %+v", query, code, asked, s)
		}
	}
	asked = nil
	if code, _, body := get(t, w, "/api/v1/suggest?q="); code != 200 || len(asked) > 0 || body != `{"query":"","queries":[],"pages":[]}`+"\n" {
		t.Errorf("nothing typed: %d %s, asked %v", code, body, asked)
	}
	for query, c := range map[string]struct{ parameter, says string }{
		"":                {"q", "?q=wor"},
		"q=" + long + "x": {"q", "257 bytes; suggestions are for at most 256"},
		"q=%ff":           {"q", "UTF-8"},
		"q=a&limit=0":     {"limit", "1 to 20"},
		"q=a&limit=21":    {"limit", "1 to 20"},
		"q=a&format=xml":  {"format", "json or opensearch"},
		"q=a&q=b":         {"q", "once"},
		"q=a&per=3":       {"per", "q, limit and format"},
		"q=%zz":           {"", "not valid"},
	} {
		code, p := getJSON[web.Details](t, w, "/api/v1/suggest?"+query)
		if code != 400 || p.Parameter != c.parameter || !strings.Contains(p.Detail, c.says) || len(asked) > 0 {
			t.Errorf("%s: %d %+v, asked %v", shown(query), code, p, asked)
		}
	}
	// OpenSearch Suggestions 1.1: the query, then an array of completions.
	code, header, body := get(t, w, "/api/v1/suggest?format=opensearch&q="+url.QueryEscape("event lo"))
	if code != 200 || header.Get("Content-Type") != "application/x-suggestions+json" || body != `["event lo",["event loop","event log"]]`+"\n" {
		t.Errorf("%d %v %s", code, header, body)
	}
	err = &ask.IncompleteError{Question: "search", Missing: []int{2}, Shards: 3}
	if code, header, body := get(t, w, "/api/v1/suggest?q=a"); code != 200 || header.Get("Curtsy-Incomplete") != "shards=2" || !strings.Contains(body, `"missing":[2],"incomplete":true`) {
		t.Errorf("%d %v %s", code, header, body)
	}
	err = errors.New("/secret/file is damaged")
	if code, p := getJSON[web.Details](t, w, "/api/v1/suggest?q=a"); code != 500 || strings.Contains(p.Detail, "secret") {
		t.Errorf("%d %+v", code, p)
	}
}

// TestSuggestFrequent: of a server that records queries, at most three frequent ones that begin as
// typed come first, none of them twice, and never the one that was typed.
func TestSuggestFrequent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := queryreport.New(t.TempDir(), slog.New(slog.DiscardHandler))
		over, stop := context.WithCancel(t.Context())
		stop()
		for day := range 2 {
			for q, times := range map[string]int{"event": 9, "event loops": 6, "event log": 5, "event bus": 4, "event sink": 3, "event rare": 2, "other": 8} {
				for i := range times {
					if (i == 0) == (day == 0) {
						r.Asked(q, 5, false)
					}
				}
			}
			for range 2 { // it writes them, and reads them again
				if err := r.Run(over); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(24 * time.Hour)
		}
		asked := crawl.SuggestAnswer{Queries: []string{"event loop", "event log"}, Pages: []crawl.SuggestedPage{}}
		w := New(Options{Recorder: r, Crawl: &fake{suggest: func(crawl.SuggestRequest) (crawl.SuggestAnswer, error) { return asked, nil }}})
		for path, want := range map[string]string{
			"q=Event":                        `{"query":"Event","frequent":["event loops","event log","event bus"],"queries":["event loop"],"pages":[]}`,
			"q=event+&limit=1":               `{"query":"event ","frequent":["event loops"],"queries":["event loop","event log"],"pages":[]}`,
			"q=event+r":                      `{"query":"event r","queries":["event loop","event log"],"pages":[]}`,
			"q=+":                            `{"query":"","queries":[],"pages":[]}`,
			"q=ev&limit=5":                   `{"query":"ev","frequent":["event","event loops","event log"],"queries":["event loop"],"pages":[]}`,
			"q=ev&format=opensearch&limit=4": `["ev",["event","event loops","event log","event loop"]]`,
			"q=ev&format=opensearch&limit=3": `["ev",["event","event loops","event log"]]`,
		} {
			if code, _, body := get(t, w, "/api/v1/suggest?"+path); code != 200 || strings.TrimSpace(body) != want {
				t.Errorf("%s: %d %s want %s", path, code, body, want)
			}
		}
	})
}
