package sinks

import (
	"net/url"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Every example can be opened, and its name is valid and has no credentials.
func TestExamples(t *testing.T) {
	for _, k := range Schemes {
		sink, name, err := Open(k.Example, Secrets{Password: "p", Token: "t", Secret: "s"})
		if err != nil || crawl.CheckFeedName(name) != nil {
			t.Errorf("%s: %q, %v", k.Example, name, err)
			continue
		}
		if err := sink.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, raw := range []string{"", "pages", "gopher://x/", "file://other.example/x", "file:///x?format=xml", "file:", "https://me:hunter2@\x7f/"} {
		_, _, err := Open(raw, Secrets{})
		if err == nil || !strings.Contains(err.Error(), "use for example") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", raw, err)
		}
	}
}

func TestNames(t *testing.T) {
	names := map[string]string{}
	for _, raw := range []string{
		"file:///srv/pages", "file:pages", "https://me:hunter2@a.example/x?y=1", "https://a.example/x?y=2", "https://a.example/x",
		"https://a.example/" + strings.Repeat("x", 100), "https://a.example/" + strings.Repeat("x", 101),
	} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		name := NameOf(u)
		if err := crawl.CheckFeedName(name); err != nil || strings.Contains(name, "hunter2") || names[name] != "" {
			t.Errorf("%s: %v; %s", raw, err, names[name])
		}
		names[name] = raw
	}
}
