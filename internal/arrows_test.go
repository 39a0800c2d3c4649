// Package internal_test holds the house to its plan: imports point one way.
package internal_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/curtsy/curtsy/"

// siblings are the services: they meet in crawl and on the queue, never in each other's code.
var siblings = map[string]bool{"frontier": true, "fetcher": true, "indexer": true}

// lower are the internal packages that hold nouns and mechanisms: no service and no command
// glue may be under them.
var lower = map[string][]string{
	"crawl":                 {"pkg/canon", "pkg/usage"},
	"scope":                 {"internal/crawl", "internal/siterules", "pkg/canon"},
	"hours":                 {},
	"hooks":                 {"internal/backoff", "internal/version"},
	"indexnow":              {"pkg/canon"},
	"websub":                {"pkg/canon"},
	"disk":                  {},
	"fair":                  {"internal/disk", "pkg/canon"},
	"confine":               {},
	"render":                {},
	"render/browser":        {"internal/confine", "internal/render"},
	"version":               {},
	"boltfile":              {"internal/disk"},
	"likeness":              {"internal/html"},
	"document":              {"internal/document/pdf"},
	"document/pdf":          {},
	"document/worker":       {"internal/confine", "internal/document", "internal/fair"},
	"document/documenttest": {},
	"catalog/shapes":        {},
	"catalog/written":       {"pkg/canon"},
	"query":                 {"internal/crawl", "pkg/canon"},
	"queryreport":           {"internal/boltfile", "internal/query"},
	"backoff":               {},
	"ask":                   {"internal/crawl", "pkg/queue", "pkg/canon"},
	"questions":             {"internal/ask", "internal/crawl", "pkg/canon"},
	"asker": {"internal/ask", "internal/catalog", "internal/crawl", "internal/query", "internal/questions", "internal/search", "internal/searchrules", "internal/service",
		"internal/siterules", "pkg/canon", "pkg/queue"},
	"settings": {"internal/crawl", "internal/hours", "internal/render", "internal/rulefile", "internal/siterules", "internal/websub", "pkg/canon", "pkg/usage"},
	"control": {"internal/ask", "internal/asker", "internal/crawl", "internal/scope", "internal/searchrules", "internal/service", "internal/settings", "internal/siterules", "internal/webtext",
		"pkg/canon"},
	"html":     {},
	"htmlscan": {"internal/html", "pkg/canon", "pkg/robotstag", "pkg/usage"},
	"uses":     {"internal/htmlscan", "pkg/robots", "pkg/robotstag", "pkg/usage"},
	"pages":    {"internal/boltfile", "internal/crawl", "internal/disk", "pkg/canon", "pkg/usage"},
	"pagetext": {"internal/crawl", "internal/html", "internal/lenientjson", "internal/rdf", "pkg/canon"},
	"archive":  {"internal/crawl", "internal/disk", "internal/pages", "internal/warc", "pkg/canon"},
	"warc":     {"pkg/canon"},
	"engine": {"internal/ask", "internal/asker", "internal/crawl", "internal/disk", "internal/fair", "internal/fetcher", "internal/frontier",
		"internal/indexer", "internal/query", "internal/questions", "internal/searchrules", "internal/service", "internal/control", "internal/tracing", "internal/updates", "pkg/canon", "pkg/queue", "pkg/queue/embedded"},
	"tracing":    {"internal/crawl"},
	"web":        {"internal/ask", "internal/crawl", "internal/fair"},
	"web/search": {"internal/ask", "internal/crawl", "internal/query", "internal/queryreport", "internal/web", "internal/webtext", "pkg/canon"},
	"web/mcp":    {"internal/ask", "internal/catalog", "internal/crawl", "internal/query", "internal/questions", "internal/web", "internal/webtext", "pkg/canon", "pkg/usage"},
	"web/dashboard": {"internal/ask", "internal/asker", "internal/crawl", "internal/disk", "internal/feed", "internal/query", "internal/queryreport", "internal/questions", "internal/searchrules", "internal/service", "internal/control", "internal/settings", "internal/web", "internal/web/mcp",
		"internal/web/search", "internal/webtext", "pkg/canon", "pkg/robots"},
	"webtext":     {},
	"searchrules": {"internal/crawl", "internal/query", "internal/rulefile", "internal/search/analysis", "pkg/canon"},
	"rulefile":    {},
	"search": {"internal/boltfile", "internal/crawl", "internal/disk", "internal/pages", "internal/pagetext", "internal/query", "internal/searchrules",
		"internal/search/analysis", "internal/search/segment", "pkg/canon"},
	"search/analysis":    {"internal/search/segment"},
	"search/segment":     {},
	"simweb":             {"internal/simweb/agentserver", "internal/simweb/prose", "internal/simweb/requestlog", "pkg/atp"},
	"simweb/agentserver": {"internal/mobile", "internal/mobile/pagereader/robot", "internal/mobile/reading", "internal/simweb/requestlog", "pkg/atp", "pkg/canon"},
	"simweb/prose":       {},
	"simweb/requestlog":  {},
	"testaid":            {},
	"simnet":             {},
	"simnet/broker":      {"pkg/queue", "pkg/queue/embedded"},
	"indexer/intake":     {"internal/backoff", "internal/disk"},
	"indexer/assignment": {"internal/backoff", "internal/boltfile", "internal/crawl", "internal/pages", "internal/search", "pkg/canon",
		"pkg/queue"},
	"render/rendertest": {"internal/backoff", "internal/render"},
	"render/remote":     {"internal/backoff", "internal/crawl", "internal/render"},
	"identity":          {"pkg/botauth"},
	"updates":           {"internal/ask", "internal/crawl", "internal/disk", "internal/fair", "internal/indexnow", "internal/questions", "internal/websub", "pkg/canon", "pkg/queue", "pkg/rup", "pkg/sitemap"},
	"export":            {"internal/crawl", "internal/webtext", "pkg/canon"},
	"rdf":               {"internal/disk"},
	"catalog":           {"internal/catalog/shapes", "internal/catalog/written", "internal/crawl", "internal/disk", "internal/lenientjson", "internal/rdf", "internal/webtext", "pkg/canon", "pkg/datatxt", "pkg/usage"},
	"lenientjson":       {},
	"siterules":         {"internal/crawl", "internal/hours", "internal/html", "internal/lenientjson", "internal/rulefile", "pkg/canon", "pkg/usage"},
	"siterules/draft":   {"internal/html", "internal/siterules", "pkg/canon"},
	// Compiled into the robot, which must stay small.
	"mobile/reading":          {},
	"mobile/pagereader":       {"internal/mobile"},
	"mobile/pagereader/robot": {"internal/html", "internal/mobile/reading", "pkg/robotstag"},
	"mobile/pagereader/wasm":  {"internal/mobile/pagereader/robot"},
	"mobile/pagereader/pack":  {},
	// On the fetcher: whoever sends requests is one.
	"download": {"internal/crawl", "internal/disk", "internal/fetcher/answer", "internal/fetcher/visit", "internal/fetcher/wire", "pkg/canon"},
}

// rooms are the packages that a service is made of, and on which of the others each may stand.
// Nobody outside the service imports a room, but who is listed in lower, and commands.
var rooms = map[string][]string{
	"internal/fetcher":               roomsOf("internal/fetcher", "claims visit dispatch answer requests robots metrics wire"),
	"internal/fetcher/claims":        roomsOf("internal/fetcher", "wire"),
	"internal/fetcher/visit":         roomsOf("internal/fetcher", "page dispatch wellknown robots publish requests answer metrics wire"),
	"internal/fetcher/dispatch":      roomsOf("internal/fetcher", "page robots publish requests answer wire"),
	"internal/fetcher/page":          roomsOf("internal/fetcher", "robots publish requests resources answer metrics wire"),
	"internal/fetcher/wellknown":     roomsOf("internal/fetcher", "robots publish requests answer wire"),
	"internal/fetcher/robots":        roomsOf("internal/fetcher", "requests answer wire"),
	"internal/fetcher/publish":       roomsOf("internal/fetcher", "metrics wire"),
	"internal/fetcher/requests":      roomsOf("internal/fetcher", "answer metrics wire"),
	"internal/fetcher/answer":        roomsOf("internal/fetcher", "wire"),
	"internal/fetcher/resources":     roomsOf("internal/fetcher", "answer"),
	"internal/fetcher/metrics":       {},
	"internal/fetcher/wire":          {"internal/fetcher/wire/response"},
	"internal/fetcher/wire/response": {},
	"internal/fetcher/wiretest":      {},

	"internal/frontier":           roomsOf("internal/frontier", "restore shard schedule dispatch updates mirrors wellknown urls polite hosts store mirror judge budget times"),
	"internal/frontier/restore":   roomsOf("internal/frontier", "shard schedule urls polite hosts store mirror times"),
	"internal/frontier/shard":     roomsOf("internal/frontier", "schedule dispatch updates mirrors wellknown urls polite hosts store mirror judge"),
	"internal/frontier/schedule":  roomsOf("internal/frontier", "wellknown urls polite hosts store budget times"),
	"internal/frontier/dispatch":  roomsOf("internal/frontier", "urls polite hosts store mirror times"),
	"internal/frontier/updates":   roomsOf("internal/frontier", "wellknown urls polite hosts store mirror times"),
	"internal/frontier/mirrors":   roomsOf("internal/frontier", "urls polite hosts store mirror"),
	"internal/frontier/wellknown": roomsOf("internal/frontier", "urls polite hosts store mirror times"),
	"internal/frontier/urls":      roomsOf("internal/frontier", "polite hosts store judge times"),
	"internal/frontier/polite":    roomsOf("internal/frontier", "hosts store mirror times"),
	"internal/frontier/hosts":     roomsOf("internal/frontier", "store budget mirror judge times"),
	"internal/frontier/shardtest": roomsOf("internal/frontier", "urls polite hosts store budget judge"),
	"internal/frontier/store":     roomsOf("internal/frontier", "judge times"),
	"internal/frontier/budget":    roomsOf("internal/frontier", "times"),
	"internal/frontier/mirror":    roomsOf("internal/frontier", "times"),
	"internal/frontier/judge":     {},
	"internal/frontier/times":     {},

	"internal/indexer":            {"internal/indexer/assignment", "internal/indexer/intake"},
	"internal/indexer/intake":     {},
	"internal/indexer/assignment": {},
}

// groups are the command groups of curtsy and which of its packages each may import.
var groups = map[string][]string{
	"cmd/curtsy/look":         {"cmd/curtsy/control", "cmd/curtsy/internal/app", "cmd/curtsy/internal/term"},
	"cmd/curtsy/control":      {"cmd/curtsy/internal/app", "cmd/curtsy/internal/term"},
	"cmd/curtsy/data":         {"cmd/curtsy/internal/app", "cmd/curtsy/internal/term"},
	"cmd/curtsy/archive":      {"cmd/curtsy/internal/app", "cmd/curtsy/internal/term"},
	"cmd/curtsy/check":        {"cmd/curtsy/internal/app", "cmd/curtsy/internal/term"},
	"cmd/curtsy/sites":        {"cmd/curtsy/internal/app", "cmd/curtsy/internal/term"},
	"cmd/curtsy/atp":          {"cmd/curtsy/internal/app"},
	"cmd/curtsy/tune":         {"cmd/curtsy/internal/app", "cmd/curtsy/internal/term"},
	"cmd/curtsy/internal/app": {"cmd/curtsy/internal/term"},
}

// roomsOf are some rooms of a service, by the last part of their paths.
func roomsOf(service, names string) (list []string) {
	for _, name := range strings.Fields(names) {
		list = append(list, service+"/"+name)
	}
	return list
}

// TestArrows walks every file of the module, tests included only where the rule is about them.
func TestArrows(t *testing.T) {
	root := ".."
	seen := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "bench" || d.Name() == "tools" || strings.HasPrefix(d.Name(), ".") && path != root) {
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
	if strings.HasPrefix(full, "go.opentelemetry.io/") && from != "internal/tracing" {
		return "only internal/tracing knows OpenTelemetry"
	}
	if full == "github.com/spf13/cobra" && part[0] != "cmd" && from != "internal/daemons" && from != "internal/cli" {
		return "only commands know cobra"
	}
	if !ours {
		return ""
	}
	if to == "internal/testaid" || to == "internal/simnet" || strings.HasPrefix(to, "internal/simnet/") {
		return "only tests import it"
	}
	if strings.HasPrefix(to, "internal/frontier/") && !strings.HasPrefix(from, "internal/frontier") {
		return "the frontier's rooms are entered through the frontier"
	}
	switch part[0] {
	case "cmd":
		if strings.HasPrefix(to, "cmd/") && from != "cmd/curtsy" && !slices.Contains(groups[from], to) {
			return "command groups meet in cmd/curtsy and in what they share"
		}
	case "pkg":
		if strings.HasPrefix(to, from+"/") || strings.HasPrefix(from, to+"/") {
			return "" // queue and queue/embedded are one package in two folders
		}
		if to == "pkg/boottime" {
			return "" // a clock, which every package may read
		}
		return "a pkg package imports none of ours"
	case "internal":
		if strings.HasPrefix(to, "cmd/") {
			return "arrows point from cmd to internal"
		}
		if to == "internal/config" && from != "internal/daemons" && from != "internal/cli" {
			return "config fills in each package's Options; only programs import it"
		}
		other := strings.Split(to, "/")
		if siblings[part[1]] && other[0] == "internal" && siblings[other[1]] && other[1] != part[1] {
			return "frontier, fetcher and indexer meet in crawl and on the queue"
		}
		if _, room := rooms[to]; room && len(other) > 1 && other[1] == part[1] && !slices.Contains(rooms[from], to) {
			return "not among the rooms that this one may stand on: " + strings.Join(rooms[from], ", ")
		}
		room := strings.TrimPrefix(from, "internal/")
		if _, ok := lower[room]; !ok {
			room = part[1]
		}
		if allowed, ok := lower[room]; ok {
			if slices.Contains(allowed, to) {
				return ""
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
		{"internal/frontier/hosts", "internal/frontier/schedule"}, {"internal/frontier/mirrors", "internal/frontier/updates"},
		{"internal/config", "internal/frontier/judge"}, {"internal/frontier/mirror", "internal/frontier/hosts"},
		{"internal/fetcher/wire", "internal/fetcher/visit"}, {"internal/fetcher/visit", "internal/fetcher"},
		{"internal/pages", "internal/fetcher/wire"}, {"internal/indexer", "internal/fetcher/wire"},
		{"internal/indexer/assignment", "internal/indexer"}, {"internal/asker", "internal/frontier"}, {"internal/engine", "internal/config"},
		{"internal/engine", "internal/simnet"}, {"cmd/curtsy/data", "cmd/curtsy/look"}, {"cmd/curtsy/internal/term", "cmd/curtsy/internal/app"},
	} {
		if forbidden(c[0], c[1], module+c[1], true) == "" {
			t.Errorf("%s may import %s?", c[0], c[1])
		}
	}
	if otel := "go.opentelemetry.io/otel"; forbidden("internal/fetcher", otel, otel, false) == "" {
		t.Error("internal/fetcher may import OpenTelemetry?")
	}
}
