package mcp

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// A program that pipes requests in gets all answers, even if the input ends before they are found,
// or in a line that is no message. A request whose id is already in use has no answer to wait for.
func TestAnsweredBeforeTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const asked = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"hosts","arguments":{}}}
`
		for _, c := range []struct{ more, wrong string }{
			{"", ""},
			{`{"jsonrpc":"2.0","id":2,"method":"tools/list"}` + "\n", ""},
			{"no JSON\n", "something else than a message of the protocol"},
			{"{}\n", "something else than a message of the protocol"},
		} {
			f := &fake{hosts: func(crawl.HostsQuery) (crawl.Paged[crawl.HostRow], error) {
				time.Sleep(50 * time.Millisecond) // the input has ended by then
				return crawl.Paged[crawl.HostRow]{Rows: []crawl.HostRow{{Host: "found.example"}}}, nil
			}}
			s := New(Options{Ask: func(ctx context.Context, do func(context.Context, Crawl) error) error { return do(ctx, f) }})
			var out bytes.Buffer
			err := s.Talk(t.Context(), strings.NewReader(asked+c.more), &out)
			if !strings.Contains(out.String(), `"id":1,"result"`) || !strings.Contains(out.String(), "found.example") {
				t.Errorf("%q: answered %s", c.more, &out)
			}
			if c.wrong == "" && err != nil || c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
				t.Errorf("%q: ends with %v", c.more, err)
			}
		}
	})
}
