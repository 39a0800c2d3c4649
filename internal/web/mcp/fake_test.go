package mcp

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/query"
	"github.com/curtsy/curtsy/internal/web"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a crawl with the answers of a test.
type fake struct {
	search   func(context.Context, crawl.SearchRequest) (crawl.SearchAnswer, error)
	fields   query.Schema
	page     func(url string) (crawl.PageRecord, bool, error)
	explain  func(url string) (crawl.Explanation, error)
	datasets func(each func(crawl.DatasetInfo) error) error
	hosts    func(crawl.HostsQuery) (crawl.Paged[crawl.HostRow], error)
}

func (f *fake) Search(ctx context.Context, r crawl.SearchRequest) (crawl.SearchAnswer, error) {
	return f.search(ctx, r)
}

func (f *fake) Fields(context.Context) (query.Schema, error) { return f.fields, nil }

func (f *fake) Page(_ context.Context, url, content string) (crawl.PageRecord, bool, error) {
	if content != "text" {
		panic(content)
	}
	return f.page(url)
}

func (f *fake) Explain(_ context.Context, url string) (crawl.Explanation, error) {
	return f.explain(url)
}

func (f *fake) Datasets(_ context.Context, each func(crawl.DatasetInfo) error) error {
	return f.datasets(each)
}

func (f *fake) HostsPage(_ context.Context, q crawl.HostsQuery) (crawl.Paged[crawl.HostRow], error) {
	return f.hosts(q)
}

// asks is an assistant: the client of the SDK.
type asks struct {
	t *testing.T
	*mcp.ClientSession
}

// assistant connects one to a crawl.
func assistant(t *testing.T, c Crawl, taking ...*web.Semaphore) asks {
	t.Helper()
	o := Options{Name: "manuals", Ask: func(ctx context.Context, do func(context.Context, Crawl) error) error { return do(ctx, c) }}
	if len(taking) > 0 {
		o.Semaphore = taking[0]
	}
	ours, theirs := mcp.NewInMemoryTransports()
	served, err := New(o).mcp.Connect(t.Context(), ours, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), theirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		served.Wait()
	})
	return asks{t, s}
}

// call calls a tool; args are JSON. An error of the protocol, rather than of the tool, is a
// failure.
func (a asks) call(tool, args string) *mcp.CallToolResult {
	a.t.Helper()
	r, err := a.CallTool(a.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
	if err != nil {
		a.t.Fatalf("%s %s: %v", tool, args, err)
	}
	return r
}

// answer calls a tool that must answer, and returns its answer for programs and as text.
func answerOf[T any](a asks, tool, args string) (v T, text string) {
	a.t.Helper()
	r := a.call(tool, args)
	text = textOf(r)
	if r.IsError {
		a.t.Fatalf("%s %s: %s", tool, args, text)
	}
	b, err := json.Marshal(r.StructuredContent)
	if err == nil {
		err = json.Unmarshal(b, &v)
	}
	if err != nil {
		a.t.Fatal(err)
	}
	return v, text
}

// refused calls a tool that must refuse, and returns why.
func (a asks) refused(tool, args string) string {
	a.t.Helper()
	r := a.call(tool, args)
	if !r.IsError || r.StructuredContent != nil {
		a.t.Fatalf("%s %.200s is answered: %s", tool, args, textOf(r))
	}
	return textOf(r)
}

func textOf(r *mcp.CallToolResult) string {
	var all []string
	for _, c := range r.Content {
		all = append(all, c.(*mcp.TextContent).Text)
	}
	return strings.Join(all, "\n")
}

func ptr[T any](v T) *T { return &v }
