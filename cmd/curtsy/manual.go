package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/cli"
	"github.com/curtsy/curtsy/internal/daemons"
	"github.com/curtsy/curtsy/internal/version"
	"github.com/spf13/cobra"
)

// manualCommand is for those who package Curtsy: a release has the pages that it writes.
func (a *commands) manualCommand() *cobra.Command {
	return &cobra.Command{
		Use: "manual DIR", Short: "Write the manual pages of all commands to a folder", Hidden: true,
		Example: "  curtsy manual /usr/local/share/man/man1",
		Args:    app.OneArg("folder", "/usr/local/share/man/man1"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			for name, page := range manual(cmd.Root(), version.Get()) {
				if err := os.WriteFile(filepath.Join(args[0], name), []byte(page), 0o644); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// manual returns the manual pages of root and of all commands below it that are not hidden, by file
// name. A daemon has a page by its own name as well.
func manual(root *cobra.Command, v version.Info) map[string]string {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	day, _, _ := strings.Cut(v.Date, "T")
	pages := map[string]string{}
	var add func(cmd *cobra.Command)
	add = func(cmd *cobra.Command) {
		m := &manPage{}
		m.macro("TH", strings.ToUpper(pageName(cmd)), "1", day, "Curtsy "+v.Version, "Curtsy")
		m.WriteString(".ad l\n.nh\n") // flags and addresses have no place to break a line
		m.describe(cmd)
		pages[pageName(cmd)+".1"] = m.String()
		for _, sub := range documented(cmd) {
			add(sub)
		}
	}
	add(root)
	for _, d := range daemons.Commands(nil) {
		pages[d.Name()+".1"] = ".so man1/curtsy-" + d.Name() + ".1\n"
	}
	return pages
}

// pageName is the name of a command's page: "curtsy-export-pages".
func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// documented are the subcommands that have a page.
func documented(cmd *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(slices.Clone(cmd.Commands()), func(c *cobra.Command) bool { return c.Hidden || c.Deprecated != "" })
}

// describe writes the sections of a command's page.
func (m *manPage) describe(cmd *cobra.Command) {
	m.macro("SH", "NAME")
	m.line(pageName(cmd) + " - " + strings.TrimSuffix(strings.ToLower(cmd.Short[:1])+cmd.Short[1:], "."))
	m.macro("SH", "SYNOPSIS")
	if cmd.Runnable() {
		m.macro("B", cmd.UseLine())
	}
	if subs := documented(cmd); len(subs) > 0 {
		if cmd.Runnable() {
			m.macro("br")
		}
		m.macro("B", cmd.CommandPath()+" COMMAND [flags]")
	}
	m.macro("SH", "DESCRIPTION")
	about := cmd.Long
	if about == "" {
		about = strings.TrimSuffix(cmd.Short, ".") + "."
	}
	m.text(about)
	m.commands(cmd)
	m.flags(cmd)
	if exits := cli.Exits(cmd); len(exits) > 0 {
		m.macro("SH", "EXIT STATUS")
		m.exits(exits)
	}
	if cmd.Example != "" {
		m.macro("SH", "EXAMPLES")
		m.text(cmd.Example)
	}
	if !cmd.HasParent() {
		m.about()
	}
	m.macro("SH", "SEE ALSO")
	var also []string
	if cmd.HasParent() {
		also = append(also, pageName(cmd.Parent())+"(1)")
	}
	for _, sub := range documented(cmd) {
		also = append(also, pageName(sub)+"(1)")
	}
	if !cmd.HasParent() {
		also = append(also, "/usr/share/doc/curtsy/docs/operations.md")
	}
	m.line(strings.Join(also, ", "))
}

// exits lists exit codes.
func (m *manPage) exits(codes []cli.ExitCode) {
	for _, e := range codes {
		m.macro("TP")
		m.macro("B", strconv.Itoa(e.Code))
		m.line(e.Means)
	}
}

// commands lists the commands of cmd under their headings.
func (m *manPage) commands(cmd *cobra.Command) {
	groups := cli.CommandGroups(cmd)
	if len(groups) > 0 {
		m.macro("SH", "COMMANDS")
	}
	for _, g := range groups {
		if len(groups) > 1 {
			m.macro("SS", g.Name)
		}
		for _, sub := range g.Commands {
			m.macro("TP")
			m.macro("B", strings.TrimPrefix(sub.CommandPath(), cmd.Root().Name()+" "))
			m.line(sub.Short)
		}
	}
}

// flags lists the flags of cmd under their headings, also those that the short help leaves out.
func (m *manPage) flags(cmd *cobra.Command) {
	groups, _ := cli.GroupsOf(cli.FlagsOf(cmd), true)
	if len(groups) > 0 {
		m.macro("SH", "OPTIONS")
	}
	for _, g := range groups {
		if len(groups) > 1 {
			m.macro("SS", g.Name)
		}
		for _, f := range g.Flags {
			name, text := cli.FlagLine(f)
			if f.Shorthand != "" {
				name = "-" + f.Shorthand + ", " + name
			}
			m.macro("TP")
			m.macro("B", name)
			m.line(text)
		}
	}
}

// about writes what holds for all commands.
func (m *manPage) about() {
	m.macro("SH", "SETTINGS")
	m.text("Every flag can also be in the environment (CURTSY_MAX_PAGES=500 is --max-pages 500) or in the file that --config names. " +
		"A flag counts before the environment, and the environment before the file.")
	m.macro("SH", "EXIT STATUS")
	m.exits(cli.Codes)
	m.macro("SH", "FILES")
	for _, f := range []struct{ name, text string }{
		{"./curtsy-data", "what a crawl stores, unless --dir names another folder"},
		{"/etc/curtsy/curtsy.yaml", "settings of the daemons (curtsy.target), from the Debian package"},
		{"/etc/curtsy/crawl.yaml", "settings of the crawl in one process (curtsy-crawl.service)"},
		{"/etc/curtsy/seeds.txt", "the URLs at which that crawl begins; the service does not start without them"},
		{"/var/lib/curtsy", "what these services store; the package does not delete it when it is removed"},
	} {
		m.macro("TP")
		m.macro("I", f.name)
		m.line(f.text)
	}
}

// manPage is a page in the language of man(7).
type manPage struct{ strings.Builder }

// roff escapes what man(7) would read as a command. A hyphen stays one that can be searched for and
// copied.
var roff = strings.NewReplacer(`\`, `\e`, `-`, `\-`, `"`, `\(dq`)

// macro writes a line that is a macro with its arguments.
func (m *manPage) macro(name string, args ...string) {
	m.WriteString("." + name)
	for _, a := range args {
		m.WriteString(` "` + roff.Replace(a) + `"`)
	}
	m.WriteString("\n")
}

// line writes a line of text.
func (m *manPage) line(s string) {
	s = roff.Replace(strings.ReplaceAll(s, "\n", " "))
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	m.WriteString(s + "\n")
}

// text writes paragraphs. Lines that begin with a space are shown as they are.
func (m *manPage) text(s string) {
	shown := false // whether the lines before are shown as they are
	for line := range strings.SplitSeq(strings.TrimRight(s, "\n"), "\n") {
		asIs := strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")
		switch {
		case asIs && !shown:
			m.macro("PP")
			m.macro("nf")
		case !asIs && shown:
			m.macro("fi")
			m.macro("PP")
		}
		if shown = asIs; line == "" {
			m.macro("PP")
			continue
		}
		m.line(strings.TrimPrefix(line, "  "))
	}
	if shown {
		m.macro("fi")
	}
}
