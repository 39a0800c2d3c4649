package main

import (
	"io"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/version"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// missingFrom names the commands and flags below root that the manual pages do not mention.
func missingFrom(pages map[string]string, root *cobra.Command) (missing []string) {
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		page := pages[strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1"]
		if page == "" {
			missing = append(missing, cmd.CommandPath())
		}
		parts := func(f *pflag.Flag) {
			if f.Deprecated == "" && !f.Hidden && !strings.Contains(page, `\-\-`+strings.ReplaceAll(f.Name, "-", `\-`)) {
				missing = append(missing, cmd.CommandPath()+" --"+f.Name)
			}
		}
		cmd.LocalFlags().VisitAll(parts)
		cmd.InheritedFlags().VisitAll(parts)
		for _, sub := range cmd.Commands() {
			if sub.Hidden {
				continue
			}
			if name := strings.TrimPrefix(sub.CommandPath(), "curtsy "); !strings.Contains(page, `.B "`+strings.ReplaceAll(name, "-", `\-`)+`"`) {
				missing = append(missing, sub.CommandPath()+" in the page of "+cmd.CommandPath())
			}
			walk(sub)
		}
	}
	walk(root)
	return missing
}

// The manual has every command and every flag that is not hidden, as pages that man can read.
func TestManual(t *testing.T) {
	root := newRoot(app.New(nil, io.Discard, io.Discard))
	pages := manual(root, version.Info{Version: "1.0", Date: "2026-11-27T06:12:24Z"})
	for _, what := range missingFrom(pages, root) {
		t.Errorf("the manual has no %s", what)
	}
	if len(pages) < 60 {
		t.Errorf("there are %d pages", len(pages))
	}
	for name, page := range pages {
		if so, ok := strings.CutPrefix(page, ".so man1/"); ok {
			if pages[strings.TrimSpace(so)] == "" {
				t.Errorf("%s leads to %s", name, so)
			}
			continue
		}
		if !strings.HasPrefix(page, `.TH "CURTSY`) || !strings.Contains(page, `"1" "2026\-11\-27" "Curtsy 1.0"`) {
			t.Errorf("%s begins with %.80q", name, page)
		}
		for line := range strings.Lines(page) {
			if rest, ok := strings.CutPrefix(line, "."); ok && !strings.HasPrefix(rest, "SH ") && !strings.HasPrefix(rest, "SS ") &&
				!strings.HasPrefix(rest, "TH ") && !strings.HasPrefix(rest, "B ") && !strings.HasPrefix(rest, "I ") && rest != "ad l\n" && rest != "nh\n" &&
				rest != "TP\n" && rest != "PP\n" && rest != "br\n" && rest != "nf\n" && rest != "fi\n" {
				t.Errorf("%s: %q is read as a macro", name, line)
			}
		}
	}
	for _, want := range []string{".SH \"EXIT STATUS\"\n", ".SH \"COMMANDS\"\n", "curtsy\\-crawl(1)"} {
		if !strings.Contains(pages["curtsy.1"], want) {
			t.Errorf("curtsy.1 has no %q", want)
		}
	}
}

// The check of the manual finds missing commands, and text cannot begin a macro.
func TestManualCanFail(t *testing.T) {
	root := &cobra.Command{Use: "curtsy", Short: "X", Long: ".TH of text\n\n  'quoted' \\example\n"}
	sub := &cobra.Command{Use: "look", Short: "Look", Run: func(*cobra.Command, []string) {}}
	sub.Flags().Int("far", 3, "as `N` far")
	root.AddCommand(sub)
	pages := manual(root, version.Info{})
	if missing := missingFrom(pages, root); len(missing) != 0 {
		t.Errorf("missing: %q", missing)
	}
	if page := pages["curtsy.1"]; !strings.Contains(page, "\n\\&.TH of text\n") || !strings.Contains(page, "\n\\&'quoted' \\eexample\n") {
		t.Errorf("text is read as macros:\n%s", page)
	}
	if page := pages["curtsy-look.1"]; !strings.Contains(page, `.B "\-\-far N"`+"\nas N far (default 3)\n") {
		t.Errorf("the flag is\n%s", page)
	}
	sub.Flags().Bool("near", false, "near")
	root.AddCommand(&cobra.Command{Use: "listen", Run: func(*cobra.Command, []string) {}})
	if missing := missingFrom(pages, root); len(missing) != 3 {
		t.Errorf("missing: %q", missing)
	}
}
