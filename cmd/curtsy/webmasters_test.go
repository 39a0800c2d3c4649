package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
)

// An example of docs/webmasters.md: what a site writes and where, and what Curtsy reads in it
// according to that page.
var webmasterExample = regexp.MustCompile("(?m)^```([a-z.]+)\n((?:.*\n)+?)```\n(?:\nCurtsy reads(?: for (\\S+))?: ((?:[^.]|\n)+)\\.)?")

// TestWebmasters: the instructions of docs/webmasters.md have the effect that the page describes.
func TestWebmasters(t *testing.T) {
	page, err := os.ReadFile("../../docs/webmasters.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, m := range webmasterExample.FindAllStringSubmatch(string(page), -1) {
		kind, text, url, says := m[1], m[2], m[3], strings.Join(strings.Fields(m[4]), " ")
		args := []string{"check", "usage", "--json"}
		file := filepath.Join(t.TempDir(), kind)
		switch flag := map[string]string{"robots.txt": "--robots", "html": "--html", "tdmrep.json": "--tdmrep", "rsl": "--rsl"}[kind]; {
		case kind == "header":
			args = append(args, "--header", strings.TrimSpace(text))
		case flag == "":
			t.Errorf("an example of %q: no flag takes that", kind)
			continue
		default:
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			args = append(args, flag, file)
		}
		if url == "" {
			url = "https://example.org/"
		}
		seen[kind]++
		var ans map[string]any
		if err := json.Unmarshal([]byte(curtsy(t, app.ExitOK, append(args, "--url", url)...)), &ans); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, purpose := range []string{"search", "ai-input", "ai-train", "tdm"} {
			if v := ans[purpose].(string); v != "unknown" {
				got = append(got, purpose+" "+v)
			}
		}
		if len(got) == 0 {
			got = []string{"nothing"}
		}
		terms, odd := ans["terms"].([]any), ans["diagnostics"].([]any)
		if says == "" { // it leads to a licence document
			if len(terms) != 1 || got[0] != "nothing" {
				t.Errorf("%s\nleads to %v, and is read as %q", text, terms, got)
			}
		} else if strings.Join(got, ", ") != says {
			t.Errorf("%s\nis read as %q, and the page says %q", text, got, says)
		}
		if len(odd) > 0 {
			t.Errorf("%s\nis odd: %v", text, odd)
		}
	}
	for kind, n := range map[string]int{"robots.txt": 4, "header": 6, "html": 3, "tdmrep.json": 1, "rsl": 1} {
		if seen[kind] < n {
			t.Errorf("%d examples of %s were found, want %d: is the test looking at the page?", seen[kind], kind, n)
		}
	}
}
