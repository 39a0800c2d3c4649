package main

import (
	"slices"
	"testing"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
)

// Formats §8.23: statements of sites in files of their own that no specification asks us to read.
func TestUsage_8_23_NotFetched(t *testing.T) {
	virtual(t, func(t *testing.T) {
		for _, security := range []bool{false, true} {
			w := crawlUsagePolicies(t, "search")
			if security {
				curtsy(t, app.ExitFailed, "crawl", "--dir", w.dir, "--allow-private", "--resolve", w.web.Resolve(), "--security-txt")
			}
			var paths []string
			for _, r := range w.web.Log() {
				paths = append(paths, r.Path)
			}
			for _, path := range []string{"/ai.txt", "/.well-known/ai.txt", "/.well-known/security.txt", "/robots.txt"} {
				want := path == "/robots.txt" || security && path == "/.well-known/security.txt"
				if slices.Contains(paths, path) != want {
					t.Errorf("%s was asked for: %v; with --security-txt: %v", path, !want, security)
				}
			}
		}
	})
}
