package asker

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
)

// sends makes a handler that answers with these objects.
func sends(objects ...any) ask.Handler {
	return func(_ context.Context, _ []byte, send func(any) error) error {
		for _, o := range objects {
			if err := send(o); err != nil {
				return err
			}
		}
		return nil
	}
}

// Files are asked as a crawl that runs is: objects need not be encoded, and those that
// are come out the same.
func TestAtRest(t *testing.T) {
	raw := json.RawMessage(`{"host":"b.example"}`)
	c := Stopped(crawl.Spec{Shards: 2}, func() error { return nil },
		ask.Handlers{"hosts": sends(crawl.HostInfo{Host: "a.example"}, raw), "explain": sends()},
		ask.Handlers{"pages": sends(crawl.PageInfo{URL: "https://a.example/"}), "pages-under": sends("odd")})
	var hosts []string
	err := questions.Hosts.Each(t.Context(), c, nil, func(h crawl.HostInfo) error { hosts = append(hosts, h.Host); return nil })
	if err != nil || strings.Join(hosts, " ") != "a.example b.example" {
		t.Errorf("hosts %q, %v", hosts, err)
	}
	enough := errors.New("enough")
	if err := questions.Pages.Each(t.Context(), c, nil, func(crawl.PageInfo) error { return enough }); err != enough {
		t.Errorf("pages: %v, want the caller's own error", err)
	}
	if x, err := c.Explain(t.Context(), "HTTPS://A.example"); err != nil || x.State != "unknown" || x.Canonical != "https://a.example/" {
		t.Errorf("explain what no shard knows: %+v, %v", x, err)
	}
	if _, err := c.Explain(t.Context(), "mailto:x"); err == nil {
		t.Error("what is no URL is explained")
	}
	if _, err := c.CountPrefix(t.Context(), "a.example"); !errors.Is(err, ask.ErrNobody) || !strings.Contains(err.Error(), "string instead of crawl.PrefixCount") {
		t.Errorf("a question nobody knows, and an object that is no answer: %v", err)
	}
	if !c.Stopped() {
		t.Error("it runs")
	}
}

// What indexers leave out of an export is counted, and no part of it.
func TestExport(t *testing.T) {
	left := func(n int64) crawl.LeftOut { return crawl.LeftOut{Pages: map[string]int64{"nosnippet": n}} }
	encoded, _ := json.Marshal(left(2))
	c := Stopped(crawl.Spec{}, nil, ask.Handlers{"export": sends("text\n", crawl.PageInfo{URL: "https://a.example/?a&b"}, left(1),
		json.RawMessage(`"more\n"`), json.RawMessage(`{"url":"https://b.example/"}`), json.RawMessage(encoded))})
	var b strings.Builder
	got, err := c.Export(t.Context(), crawl.ExportQuery{What: "pages", Format: "jsonl"}, &b)
	lines := strings.Split(b.String(), "\n")
	if err != nil || got.Pages["nosnippet"] != 3 || len(lines) != 5 || lines[0] != "text" || !strings.Contains(lines[1], "?a&b") || lines[2] != "more" ||
		lines[3] != `{"url":"https://b.example/"}` {
		t.Errorf("%q, %+v, %v", lines, got, err)
	}
}

// Rows are the same whether they come over NATS, as JSON, or from files, as objects.
func TestExportRows(t *testing.T) {
	on := "https://a.example/"
	page := crawl.PageRecord{PageInfo: crawl.PageInfo{URL: "https://a.example/?a&b", FoundOn: &on, FetchedAt: time.Date(2026, 11, 24, 1, 2, 3, 4e6, time.UTC), SHA256: "ab",
		Usage: crawl.Usage{Search: "allow", Sources: []crawl.UsageSource{}}}, Text: "a\nb", Withheld: "x"}
	removed := crawl.PageRemoved{URL: "https://b.example/", FetchedAt: page.FetchedAt, Removed: "noindex"}
	link := crawl.LinkRow{From: "https://a.example/", To: "https://b.example/"}
	left := crawl.LeftOut{Pages: map[string]int64{"nosnippet": 1}}
	asJSON := func(v any) json.RawMessage { b, _ := json.Marshal(v); return b }
	c := Stopped(crawl.Spec{}, nil, ask.Handlers{"export": func(ctx context.Context, req []byte, send func(any) error) error {
		if strings.Contains(string(req), `"links"`) {
			return sends(link, asJSON(link), left)(ctx, req, send)
		}
		return sends(page, asJSON(page), removed, asJSON(removed), left, asJSON(left))(ctx, req, send)
	}})
	var rows []crawl.PageRow
	got, err := c.ExportPages(t.Context(), crawl.ExportQuery{Format: "jsonl"}, func(r *crawl.PageRow) error { rows = append(rows, *r); return nil })
	if err != nil || got.Pages["nosnippet"] != 2 || len(rows) != 4 {
		t.Fatalf("%d rows, %v, %v", len(rows), got, err)
	}
	if !reflect.DeepEqual(rows[0], rows[1]) || !reflect.DeepEqual(rows[2], rows[3]) || rows[0].Text != page.Text || rows[2].Removed != "noindex" || rows[0].Removed != "" {
		t.Errorf("%+v", rows)
	}
	var links []crawl.LinkRow
	if _, err := c.ExportLinks(t.Context(), crawl.ExportQuery{}, func(r crawl.LinkRow) error { links = append(links, r); return nil }); err != nil || len(links) != 2 || links[0] != link || links[1] != link {
		t.Errorf("%+v, %v", links, err)
	}
	enough := errors.New("enough")
	if _, err := c.ExportPages(t.Context(), crawl.ExportQuery{}, func(*crawl.PageRow) error { return enough }); err != enough {
		t.Errorf("%v, want the caller's own error", err)
	}
}

// A page is preferred to what is only another address of it, whichever comes first.
func TestPage(t *testing.T) {
	alias := crawl.PageRecord{PageInfo: crawl.PageInfo{URL: "https://m.example/", AliasOf: "https://a.example/"}, Withheld: "alias"}
	page := crawl.PageRecord{PageInfo: crawl.PageInfo{URL: "https://m.example/"}, Text: "words"}
	missing := &ask.IncompleteError{Question: "page", Missing: []int{1}, Shards: 2}
	for _, c := range []struct {
		sent    []any
		end     error
		text    string
		found   bool
		partial bool
	}{
		{nil, nil, "", false, false},
		{nil, missing, "", false, true},
		{[]any{alias}, nil, "", true, false},
		{[]any{alias}, missing, "", true, true},
		{[]any{alias, page}, nil, "words", true, false},
		{[]any{page, alias}, missing, "words", true, false},
	} {
		asked := Stopped(crawl.Spec{}, nil, ask.Handlers{"page": func(ctx context.Context, req []byte, send func(any) error) error {
			if string(req) != `{"format":"text","url":"HTTPS://m.example"}` {
				t.Errorf("asked %s", req)
			}
			return errors.Join(sends(c.sent...)(ctx, req, send), c.end)
		}})
		rec, found, err := asked.Page(t.Context(), "HTTPS://m.example", "text")
		if rec.Text != c.text || found != c.found || errors.Is(err, ask.ErrIncomplete) != c.partial {
			t.Errorf("%+v: %+v, %v, %v", c, rec, found, err)
		}
	}
	if _, _, err := Stopped(crawl.Spec{}, nil).Page(t.Context(), "mailto:x", "text"); err == nil || errors.Is(err, ask.ErrNobody) {
		t.Errorf("what is no URL is asked for: %v", err)
	}
}
