package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
)

// Wrong arguments are reported before any question is asked.
func TestSearchTypedWrong(t *testing.T) {
	for typed, says := range map[string]string{
		"":                             "a search needs words",
		"-a -b":                        "only excludes words",
		"--limti 3 x":                  "did you mean --limit",
		"--limit 0 x":                  "use 1 to 1000",
		"--limit 1001 x":               "use 1 to 1000",
		"--limit":                      "--limit needs a value",
		"--page -1 x":                  "--page 2",
		"--offset -1 x":                "--offset cannot be negative",
		"--page 2 --offset 3 x":        "use one of them",
		"--page 101 x":                 "first 1000 hits",
		"--page 9223372036854775807 x": "first 1000 hits",
		"--offset 991 x":               "first 1000 hits",
		"--json --facets x":            "--facets",
	} {
		var out, errs bytes.Buffer
		code := runs(t, t.Context(), append([]string{"search"}, strings.Fields(typed)...), nil, &out, &errs)
		if code != app.ExitUsage || !strings.Contains(errs.String(), says) {
			t.Errorf("search %s: exit code %d\n%s", typed, code, &errs)
		}
	}
	for _, typed := range []string{"--page 100 x", "--offset 990 x", "-Wall", "site:example.org", "x --limit 1000 -full"} {
		var out, errs bytes.Buffer
		code := runs(t, t.Context(), append([]string{"search", "--dir", t.TempDir()}, strings.Fields(typed)...), nil, &out, &errs)
		if code != app.ExitFailed || !strings.Contains(errs.String(), "curtsy crawl --dir") {
			t.Errorf("search %s: exit code %d\n%s", typed, code, &errs)
		}
	}
}

func TestSearchHelp(t *testing.T) {
	out := curtsy(t, 0, "search", "--help")
	for _, says := range []string{"site:example.org", "title:word", "curtsy search -- ", "everything after --",
		// The table of the language has lines of its own.
		"\n  title:word             in the title;", "\n  site:example.org       on this host and its subdomains; also\n                         site:example.org/docs/\n"} {
		if !strings.Contains(out, says) {
			t.Errorf("the help does not say %s:\n%s", says, out)
		}
	}
}
