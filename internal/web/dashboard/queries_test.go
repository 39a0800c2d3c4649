package dashboard

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/queryreport"
)

// The page of queries lists those that are frequent, that find nothing, or whose hits nobody opens;
// each leads to its search. A file that cannot be read is named.
func TestQueries(t *testing.T) {
	dir := t.TempDir()
	r := queryreport.New(dir, slog.New(slog.DiscardHandler))
	for range 3 {
		r.Asked("vacuum", 12, true)
	}
	r.Opened("vacuum", "https://a.example/<1>", 2)
	r.Asked(`vacum "<b>"`, 0, true)
	r.Asked("freeze", 7, true)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := r.Run(ctx); err != nil {
		t.Fatal(err)
	}
	c := browse(t, New(Options{Ask: answering(ask.Handlers{}), Name: "manuals", Typed: " --dir /srv/x", Queries: queryreport.File(dir)}))
	for path, want := range map[string][]string{
		"/queries":                      {`<a href="/search?q=vacuum">vacuum</a>`, "1 × hit 2:", "https://a.example/&lt;1&gt;", "vacum &#34;&lt;b&gt;&#34;", ">freeze<", "curtsy queries --dir /srv/x"},
		"/queries?show=no-results":      {"vacum", "curtsy queries --dir /srv/x"},
		"/queries?show=not-opened":      {">freeze<", "never"},
		"/queries?show=frequent&days=1": {">vacuum<"},
	} {
		code, body := c.get(path)
		if code != 200 {
			t.Errorf("%s: status %d", path, code)
		}
		checkMarkup(t, body)
		for _, text := range want {
			if !strings.Contains(body, text) {
				t.Errorf("%s lacks %q: %s", path, text, body)
			}
		}
		if path != "/queries" && !strings.Contains(path, "frequent") && strings.Contains(body, ">vacuum<") {
			t.Errorf("%s lists vacuum", path)
		}
	}
	if err := os.WriteFile(queryreport.File(dir), []byte(strings.Repeat("no bbolt ", 4000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, body := c.get("/queries"); code != 200 || !strings.Contains(body, "remove the file") {
		t.Errorf("a damaged file: %d %s", code, body)
	}
}
