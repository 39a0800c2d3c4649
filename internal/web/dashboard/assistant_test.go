package dashboard

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
)

// initialize is the first message of an assistant.
const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// program changes a request into one that a program sends, without the header fields of a browser.
func program(r *http.Request) {
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
}

// bearing is a transport that sends a token.
type bearing struct {
	token string
	over  http.RoundTripper
}

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.over.RoundTrip(r)
}

// An assistant asks over HTTP with the dashboard's token, with the client of the SDK. Without the
// token, with another one or with a cookie it gets nothing.
func TestAssistant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const token = "a long enough token"
		w := New(Options{Token: token, Name: "manuals", Ask: answering(ask.Handlers{
			"page": sends(crawl.PageRecord{PageInfo: crawl.PageInfo{URL: "https://docs.example.org/", SnippetAllowed: true}, Text: "The quiet harbor."}),
		})})
		address, client := served(t, w)
		connect := func(token string) (*mcp.ClientSession, error) {
			return mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{
				Endpoint: address + mcpPath, HTTPClient: &http.Client{Transport: bearing{token, client.Transport}}, DisableStandaloneSSE: true, MaxRetries: -1,
			}, nil)
		}
		s, err := connect(token)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "page", Arguments: map[string]any{"url": "https://docs.example.org/"}})
		if err != nil || r.IsError || !strings.Contains(r.Content[0].(*mcp.TextContent).Text, "The quiet harbor.") {
			t.Errorf("with the token: %+v, %v", r, err)
		}
		r, err = s.CallTool(t.Context(), &mcp.CallToolParams{Name: "page", Arguments: map[string]any{"url": "https://docs.example.org/", "limit": 0}})
		if err != nil || !r.IsError {
			t.Errorf("past a limit: %+v, %v", r, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if s, err := connect("another token"); err == nil {
			s.Close()
			t.Error("it answers with another token")
		}
		c := browse(t, w)
		c.ask("GET", "/login?token=a+long+enough+token", "")
		for name, change := range map[string]func(*http.Request){
			"no token": func(*http.Request) {}, "another token": header("Authorization", "Bearer another"), "another scheme": header("Authorization", "Basic "+token),
			"an empty token": header("Authorization", "Bearer "),
		} {
			resp := c.ask("POST", mcpPath, initialize, program, change) // with the cookie
			if body := read(t, resp); resp.StatusCode != http.StatusUnauthorized || !strings.Contains(resp.Header.Get("WWW-Authenticate"), "Bearer") || strings.Contains(body, "manuals") {
				t.Errorf("%s: %d %v %s", name, resp.StatusCode, resp.Header, body)
			}
		}
		// There is an end of trying tokens, but not for the right one.
		for range 20 {
			read(t, c.ask("POST", mcpPath, initialize, program, header("Authorization", "Bearer another")))
		}
		if resp := c.ask("POST", mcpPath, initialize, program, header("Authorization", "Bearer another")); resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") == "" {
			t.Errorf("after many wrong tokens: %d", resp.StatusCode)
		}
		if resp := c.ask("POST", mcpPath, initialize, program, header("Authorization", "Bearer "+token)); resp.StatusCode != http.StatusOK {
			t.Errorf("the right token after many wrong ones: %d", resp.StatusCode)
		}
	})
}

// On loopback a program needs no token. A page of another origin, or under a name that was made to
// lead here, is refused. Only messages of the protocol of a limited size are read.
func TestAssistantIsNoBrowser(t *testing.T) {
	c := browse(t, shows(Options{Hosts: []string{"crawl.example.org"}}, running()))
	for _, q := range []struct {
		name, method, body string
		change             func(*http.Request)
		want               int
	}{
		{"a program", "POST", initialize, func(*http.Request) {}, 200},
		{"by a name that is allowed", "POST", initialize, func(r *http.Request) { r.Host = "crawl.example.org" }, 200},
		{"by another name", "POST", initialize, func(r *http.Request) { r.Host = "evil.example" }, 403},
		{"from another origin", "POST", initialize, header("Origin", "https://evil.example"), 403},
		{"from a sandbox", "POST", initialize, header("Origin", "null"), 403},
		{"from another site", "POST", initialize, header("Sec-Fetch-Site", "cross-site"), 403},
		{"as a form", "POST", initialize, header("Content-Type", "text/plain"), 415},
		{"a look", "GET", "", func(*http.Request) {}, 405},
		{"an end of a session", "DELETE", "", func(*http.Request) {}, 405},
		{"no JSON", "POST", "{", func(*http.Request) {}, 400},
		{"as large as may be", "POST", initialize + strings.Repeat(" ", 64<<10-len(initialize)), func(*http.Request) {}, 200},
		{"larger", "POST", initialize + strings.Repeat(" ", 64<<10-len(initialize)+1), func(*http.Request) {}, 413},
	} {
		resp := c.ask(q.method, mcpPath, q.body, program, q.change)
		if body := read(t, resp); resp.StatusCode != q.want || strings.Contains(body, `"serverInfo"`) != (q.want == 200) {
			t.Errorf("%s: %d %s, want %d", q.name, resp.StatusCode, body, q.want)
		}
	}
}
