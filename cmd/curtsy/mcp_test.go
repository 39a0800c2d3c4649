package main

import (
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simweb"
)

// assistant runs curtsy mcp and connects to it with the client of the SDK, as assistants do.
func assistant(t *testing.T, args ...string) *helper {
	t.Helper()
	fromUs, toIt := io.Pipe()
	fromIt, toUs := io.Pipe()
	var log strings.Builder
	ended := make(chan int, 1)
	go func() {
		ended <- runs(t, context.WithoutCancel(t.Context()), append([]string{"mcp"}, args...), fromUs, toUs, &log)
		toUs.Close()
	}()
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), &mcp.IOTransport{Reader: fromIt, Writer: toIt}, nil)
	if err != nil {
		toIt.Close()
		<-ended
		t.Fatalf("%v\n%s", err, &log)
	}
	t.Cleanup(func() {
		err := s.Close()
		if code := <-ended; err != nil || code != app.ExitOK {
			t.Errorf("curtsy mcp ends with %d, %v\n%s", code, err, &log)
		}
	})
	return &helper{t, s}
}

type helper struct {
	t *testing.T
	s *mcp.ClientSession
}

// mcpAnswer is the answer of any tool, which is the same as text.
type mcpAnswer struct {
	Hits       []mcpHit
	Datasets   []mcpHit
	Hosts      []mcpHit
	Total      int64
	URL, Text  string
	State      string
	Withheld   string
	Because    string
	NextOffset int `json:"next_offset"`
}

type mcpHit struct{ URL, ID, Host, Title, Snippet, Description, Withheld, Because string }

// asks calls a tool that must answer.
func (h *helper) asks(tool string, args map[string]any) (v mcpAnswer, text string) {
	h.t.Helper()
	v, text, failed := h.call(tool, args)
	if failed {
		h.t.Fatalf("%s %v: %s", tool, args, text)
	}
	return v, text
}

func (h *helper) call(tool string, args map[string]any) (v mcpAnswer, text string, failed bool) {
	h.t.Helper()
	r, err := h.s.CallTool(h.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		h.t.Fatal(err)
	}
	text = r.Content[0].(*mcp.TextContent).Text
	if r.IsError {
		return v, text, true
	}
	b, err := json.Marshal(r.StructuredContent)
	if err == nil {
		err = json.Unmarshal(b, &v)
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return v, text, false
}

// args are a tool's arguments.
type args = map[string]any

// TestMCPWishes: assistants get the text of a page if its site allows it as input of a model, or
// states nothing. Otherwise they get its title and address.
func TestMCPWishes(t *testing.T) {
	virtual(t, func(t *testing.T) {
		w := crawlUsagePolicies(t, "search")
		h := assistant(t, "--dir", w.dir)
		found := map[string]mcpHit{}
		for offset := 0; ; {
			s, _ := h.asks("search", args{"query": "wish", "limit": 20, "offset": offset})
			for _, hit := range s.Hits {
				found[hit.URL] = hit
			}
			if offset = s.NextOffset; offset == 0 {
				break
			}
		}
		open, closed := 0, 0
		for u := range w.listed("export", "pages") {
			request, ok := w.web.UsagePolicies()[u]
			if !ok {
				continue
			}
			p, text := h.asks("page", args{"url": u})
			hit, listed := found[u]
			if no := request.Preference("ai-input", "search") == "disallow"; no {
				closed++
				if p.Withheld != "usage ai-input" || p.Because == "" || p.Text != "" || strings.Contains(text, "has a wish.") {
					t.Errorf("%s is not to be read by a model: %+v", u, p)
				}
				if listed && (hit.Withheld != "usage ai-input" || hit.Snippet != "" || hit.Title == "") {
					t.Errorf("%s is not to be read by a model: %+v", u, hit)
				}
			} else {
				open++
				if p.Withheld != "" || p.Text == "" {
					t.Errorf("%s may be read: %+v", u, p)
				}
				if listed && hit.Snippet == "" {
					t.Errorf("%s may be read: %+v", u, hit)
				}
			}
		}
		if open < 5 || closed < 5 || len(found) < 5 {
			t.Errorf("%d pages are open, %d closed, %d found: too few to tell", open, closed, len(found))
		}
	})
}

// TestMCPTags: nosnippet and noarchive apply to assistants, and all tools answer for a crawl that
// does not run.
func TestMCPTags(t *testing.T) {
	virtual(t, func(t *testing.T) {
		web := startWeb(t, simweb.Config{Hosts: 1, PagesPerHost: 3, Mix: func(int) simweb.Behavior {
			return simweb.Behavior{Features: []simweb.Feature{simweb.FeatureTags, simweb.FeatureDataYAML}}
		}})
		dir := filepath.Join(t.TempDir(), "data")
		curtsy(t, 0, "crawl", "--listen", "off", "--dir", dir, "--allow-private", "--delay", "0s", "--resolve", web.Resolve(), web.Seeds()[0])
		h := assistant(t, "--dir", dir)
		tagged := 0
		for u, want := range web.Expect("curtsy") {
			if want.Class != simweb.Stored || want.Optional {
				continue
			}
			if x, _ := h.asks("explain", args{"url": u}); x.State != "stored" {
				t.Errorf("%s is explained as %+v", u, x)
			}
			p, _ := h.asks("page", args{"url": u})
			switch {
			case want.NoSnippet || want.NoArchive:
				tagged++
				if p.Text != "" || p.Withheld != "nosnippet" && p.Withheld != "noarchive" {
					t.Errorf("%s asks not to be quoted or copied: %+v", u, p)
				}
			case p.Text == "" && p.Withheld == "":
				t.Errorf("%s has no text: %+v", u, p)
			}
		}
		if tagged < 3 {
			t.Errorf("%d pages with tags: too few to tell", tagged)
		}
		if d, text := h.asks("datasets", args{}); len(d.Datasets) == 0 || d.Datasets[0].ID == "" {
			t.Errorf("datasets: %s", text)
		}
		if l, text := h.asks("hosts", args{}); len(l.Hosts) != 1 || l.Hosts[0].Host == "" {
			t.Errorf("hosts: %s", text)
		}
		if _, why, failed := h.call("page", args{"url": "https://elsewhere.example/"}); !failed || !strings.Contains(why, "Use explain") {
			t.Errorf("a page that is not there: %s", why)
		}
	})
}

// TestMCPWhileACrawlRuns: one session sees a crawl run and end.
func TestMCPWhileACrawlRuns(t *testing.T) {
	t.Parallel()
	web := web(t)
	dir := filepath.Join(t.TempDir(), "data")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan int, 1)
	go func() {
		ended <- runs(t, ctx, []string{"crawl", "--listen", "off", "--dir", dir, "--allow-private", "--delay", "200ms", "--scope", "host", "--resolve", web.Resolve(), web.Seeds()[0]},
			strings.NewReader(""), io.Discard, io.Discard)
	}()
	await(t, "the sites are asked", func() bool { return len(web.Log()) > 2 })
	h := assistant(t, "--dir", dir)
	running := 0
	await(t, "a page is found", func() bool {
		s, why, failed := h.call("search", args{"query": "quiet"})
		if failed && !strings.Contains(why, "again") {
			t.Fatal(why)
		}
		if len(ended) == 0 {
			running++
		}
		return len(s.Hits) > 0
	})
	if running == 0 {
		t.Error("nothing was asked while the crawl ran")
	}
	if code := <-ended; code != 0 {
		t.Fatalf("the crawl ends with %d", code)
	}
	var pages int
	for l := range strings.Lines(curtsy(t, 0, "pages", "--json", "--dir", dir)) {
		var p crawl.PageInfo
		if err := json.Unmarshal([]byte(l), &p); err != nil {
			t.Fatal(err)
		}
		if got, _ := h.asks("page", args{"url": p.URL}); got.Text == "" {
			t.Errorf("%s: %+v", p.URL, got)
		}
		pages++
	}
	if pages == 0 {
		t.Error("no pages")
	}
	if l, text := h.asks("hosts", args{"filter": web.Hosts()[0]}); len(l.Hosts) != 1 {
		t.Errorf("hosts: %s", text)
	}
	// A model pays for each word it reads: no hit is as long as its JSON in the API.
	hits := curtsy(t, 0, "search", "--json", "--limit", "10", "--dir", dir, "quiet")
	n := strings.Count(hits, "\n")
	r, err := h.s.CallTool(t.Context(), &mcp.CallToolParams{Name: "search", Arguments: args{"query": "quiet"}})
	if err != nil || n == 0 {
		t.Fatalf("%d hits, %v", n, err)
	}
	structured, err := json.Marshal(r.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	text := r.Content[0].(*mcp.TextContent).Text
	t.Logf("bytes a hit, of %d: %d as the API's JSON, %d structured, %d as text", n, len(hits)/n, len(structured)/n, len(text)/n)
	if len(text)*3 > len(hits)*2 || len(structured)*3 > len(hits)*2 {
		t.Errorf("an answer is not compact: %d bytes as text, %d structured, %d by the API", len(text), len(structured), len(hits))
	}
}

// assisted asks the daemons as an assistant does. Some may be away, which the answer must report.
func assisted(t *testing.T, pages []string, missing string) {
	t.Helper()
	h := assistant(t, "--crawl", "shared")
	if s, text := h.asks("search", args{"query": "quiet"}); len(s.Hits) == 0 || !strings.Contains(text, missing) {
		t.Errorf("search of daemons: %s", text)
	}
	if l, text := h.asks("hosts", args{}); len(l.Hosts) == 0 {
		t.Errorf("hosts of daemons: %s", text)
	}
	for _, u := range pages[:3] {
		if x, text := h.asks("explain", args{"url": u}); x.State != "stored" {
			t.Errorf("explain of daemons: %s", text)
		}
		if p, text, failed := h.call("page", args{"url": u}); missing == "" && p.Text == "" || failed && !strings.Contains(text, "try again") {
			t.Errorf("page of daemons: %s", text)
		}
	}
}

// TestMCPSaysNothingElse: all other messages go to standard error, a message that is too long ends
// only the session, and the end of the input is not an error.
func TestMCPSaysNothingElse(t *testing.T) {
	virtual(t, func(t *testing.T) {
		web := web(t)
		dir := filepath.Join(t.TempDir(), "data")
		curtsy(t, 0, "crawl", "--listen", "off", "--dir", dir, "--allow-private", "--delay", "0s", "--max-pages", "1000", "--scope", "host", "--resolve", web.Resolve(), web.Seeds()[0])
		const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n"
		for name, c := range map[string]struct {
			in   string
			code int
		}{
			"an end":            {hello, 0},
			"nothing":           {"", 0},
			"a long message":    {hello + `{"jsonrpc":"2.0","id":2,"method":"ping","params":{"_meta":{"x":"` + strings.Repeat("x", 4<<20) + `"}}}` + "\n", 1},
			"no JSON":           {hello + "nonsense\n", 1},
			"an unknown method": {hello + `{"jsonrpc":"2.0","id":2,"method":"nothing"}` + "\n", 0},
		} {
			var out, log strings.Builder
			code := runs(t, t.Context(), []string{"mcp", "--dir", dir, "--log-level", "debug"}, strings.NewReader(c.in), &out, &log)
			if code != c.code || log.Len() > 1<<16 {
				t.Errorf("%s: exit code %d\n%.2000s", name, code, log.String())
			}
			for l := range strings.Lines(out.String()) {
				var m struct{ JSONRPC string }
				if err := json.Unmarshal([]byte(l), &m); err != nil || m.JSONRPC != "2.0" {
					t.Errorf("%s: on standard output stands %q", name, l)
				}
			}
		}
	})
}
