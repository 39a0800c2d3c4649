// Package internal_test holds the house to its plan: imports point one way.
package internal_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/curtsy/curtsy/"

// siblings are the services: they meet in crawl and on the queue, never in each other's code.
var siblings = map[string]bool{"frontier": true, "fetcher": true, "indexer": true}

// lower are the internal packages that hold nouns and mechanisms: no service and no command glue may be under them.
var lower = map[string][]string{
	"crawl":    {"pkg/canon"},
	"scope":    {"pkg/canon"},
	"disk":     {},
	"likeness": {},
	"ask":      {"internal/crawl", "pkg/queue", "pkg/canon"},
	"htmlscan": {"internal/crawl", "pkg/canon", "pkg/robotstag"},
	"pages":    {"internal/crawl", "pkg/canon"},
	"search":   {"internal/crawl", "internal/pages", "pkg/canon"},
	"simweb":   {},
	"updates":  {"internal/crawl", "pkg/canon", "pkg/queue", "pkg/rup"},
	"catalog":  {"internal/crawl", "pkg/canon", "pkg/datatxt"},
	"download": {"internal/crawl", "internal/disk", "internal/fetcher", "pkg/canon"}, // on the fetcher: whoever sends requests is one
}

// TestArrows walks every file of the module, tests included only where the rule is about them.
func TestArrows(t *testing.T) {
	root := ".."
	seen := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "bench" || strings.HasPrefix(d.Name(), ".") && path != root) {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, imp := range f.Imports {
			p, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				return err
			}
			to, ours := strings.CutPrefix(p, module)
			if why := forbidden(filepath.ToSlash(filepath.Dir(rel)), to, p, ours); why != "" {
				t.Errorf("%s imports %s: %s", rel, p, why)
			}
			seen++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 100 {
		t.Errorf("only %d imports seen: is the test looking at the module?", seen)
	}
}

// forbidden says why from may not import to, or nothing.
func forbidden(from, to, full string, ours bool) string {
	part := strings.Split(from, "/")
	if full == "github.com/spf13/viper" && from != "internal/config" {
		return "only internal/config knows viper"
	}
	if full == "github.com/spf13/cobra" && part[0] != "cmd" {
		return "only commands know cobra"
	}
	if !ours {
		return ""
	}
	switch part[0] {
	case "pkg":
		if strings.HasPrefix(to, from+"/") || strings.HasPrefix(from, to+"/") {
			return "" // queue and queue/embedded are one package in two folders
		}
		return "a pkg package imports none of ours"
	case "internal":
		if strings.HasPrefix(to, "cmd/") {
			return "arrows point from cmd to internal"
		}
		if to == "internal/config" {
			return "config fills in each package's Options; no package imports it"
		}
		other := strings.Split(to, "/")
		if siblings[part[1]] && other[0] == "internal" && siblings[other[1]] && other[1] != part[1] {
			return "frontier, fetcher and indexer meet in crawl and on the queue"
		}
		if allowed, ok := lower[part[1]]; ok {
			for _, a := range allowed {
				if to == a {
					return ""
				}
			}
			return "not among what this package may stand on: " + strings.Join(allowed, ", ")
		}
	}
	return ""
}

func TestArrowsCanFail(t *testing.T) {
	for _, c := range [][2]string{
		{"pkg/robots", "pkg/canon"}, {"internal/fetcher", "internal/frontier"}, {"internal/crawl", "internal/scope"},
		{"internal/indexer", "internal/config"}, {"internal/simweb", "pkg/robots"},
	} {
		if forbidden(c[0], c[1], module+c[1], true) == "" {
			t.Errorf("%s may import %s?", c[0], c[1])
		}
	}
}
