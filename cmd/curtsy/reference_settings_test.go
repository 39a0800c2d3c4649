package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/cli"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/settings"
	"github.com/spf13/pflag"
)

// The marks around the table of settings in docs/reference/configuration.md.
const (
	tableBegins = "<!-- The settings of a crawl, written by go generate ./cmd/curtsy -->\n"
	tableEnds   = "<!-- The end of the settings of a crawl -->\n"
)

// withSettingsTable is a page with the table of settings between the marks.
func withSettingsTable(page string) string {
	before, rest, _ := strings.Cut(page, tableBegins)
	_, after, found := strings.Cut(rest, tableEnds)
	if !found {
		return "the page has no place for the settings of a crawl"
	}
	var b strings.Builder
	b.WriteString(before + tableBegins + "\n| setting | default | changed by | decided again after a change |\n|---|---|---|---|\n")
	flags := crawlFlags()
	for _, row := range settings.All() {
		by := ""
		switch {
		case row.Fixed:
			by = "fixed"
		case row.Label != "":
			by = "`curtsy set`, dashboard"
		case row.Set:
			by = "`curtsy set`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", row.Name, code(cli.DefaultOf(flags.Lookup(row.Name))), by, strings.Join(row.Decides.Names(), ", "))
	}
	return b.String() + "\n" + tableEnds + after
}

// withSettings is the example configuration in which every setting of a crawl has the comment and
// the default of the table. A setting that the file lacks is added below the one before it.
func withSettings(file string) string {
	lines := strings.Split(file, "\n")
	flags := crawlFlags()
	last := 0
	for _, row := range settings.All() {
		var block []string
		if row.Doc != "" {
			block = strings.Split(cli.Wrap(row.Doc, 100, "# "), "\n")
		}
		block = append(block, row.Name+": "+yamlDefault(flags.Lookup(row.Name)))
		at := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, row.Name+":") })
		from, to := at, at+1
		if at < 0 {
			from, to = last+1, last+1
		}
		for row.Doc != "" && at >= 0 && strings.HasPrefix(lines[from-1], "#") {
			from--
		}
		lines = slices.Replace(lines, from, to, block...)
		last = from + len(block) - 1
	}
	return strings.Join(lines, "\n")
}

func yamlDefault(f *pflag.Flag) string {
	switch {
	case f.DefValue == "":
		return `""`
	case strings.HasPrefix(f.DefValue, "["):
		return strings.ReplaceAll(f.DefValue, ",", ", ")
	}
	return f.DefValue
}

func crawlFlags() *pflag.FlagSet {
	flags := pflag.NewFlagSet("crawl", pflag.ContinueOnError)
	config.Bind(flags, config.NewCrawl())
	return flags
}

// A setting without a line in the example configuration is added below the setting before it.
func TestSettingIsAddedToTheExample(t *testing.T) {
	const file = "# --- Scope ---\n\n# Old.\nscope: host\n# Expressions.\ninclude: []\n\n# --- Limits ---\n\n# Time.\nmax-time: 0s\n"
	got := withSettings(file)
	for _, want := range []string{"# --- Scope ---\n\n# How far", "scope: domain\n# Regular expressions (RE2) for", "include: []\nexclude: []\n# A file of site rules", "# Time.\nmax-time: 0s\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if strings.Contains(got, "Old.") || withSettings(got) != got {
		t.Errorf("written twice:\n%s", got)
	}
}
