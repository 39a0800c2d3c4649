package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/cli"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

//go:generate go test -run ^TestReference$ . -args -write-reference

var writeReference = flag.Bool("write-reference", false, "write the generated parts of docs/reference, and the example configuration")

// TestReference: the pages of docs/reference about commands are what the commands themselves
// describe.
func TestReference(t *testing.T) {
	root := newRoot(app.New(nil, io.Discard, io.Discard))
	whole := func(text string) func(string) string { return func(string) string { return text } }
	for name, written := range map[string]func(have string) string{
		"docs/reference/commands.md":      whole(commandsPage(root)),
		"docs/reference/exit-codes.md":    whole(exitsPage(root)),
		"docs/reference/configuration.md": withSettingsTable,
		"deploy/curtsy.example.yaml":      withSettings,
	} {
		path := "../../" + name
		have, err := os.ReadFile(path)
		text := written(string(have))
		if *writeReference {
			err = os.WriteFile(path, []byte(text), 0o644)
		} else if err == nil && string(have) != text {
			err = errors.New("the file does not agree with the code; type: go generate ./cmd/curtsy")
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

const generated = "<!-- Written by go generate ./cmd/curtsy; a test compares it with the commands. -->\n"

// common is the number of commands from which on a flag is described once for all.
const common = 8

// commandsPage is the reference of all commands.
func commandsPage(root *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n# Commands\n\n%s\n\n", generated, cli.Wrap("`curtsy help COMMAND` and `curtsy COMMAND --help` show the same on a terminal. "+
		"A setting can be given as a flag, as the environment variable beside it, or in the file of `--config`, where its key is the variable in lower case "+
		"without `CURTSY_`, such as `max-pages` or `max_pages`. A flag overrides the variable, and the variable overrides the file. [Exit codes](exit-codes.md) are the same for all commands.", 100, ""))
	groups := cli.CommandGroups(root)
	for _, g := range groups {
		links := []string{"- **" + g.Name + "**:"}
		for _, cmd := range g.Commands {
			links = append(links, fmt.Sprintf("[%s](#%s)", cmd.Name(), anchor(cmd)))
		}
		b.WriteString(strings.TrimPrefix(cli.Wrap(strings.Join(links, " "), 98, "  "), "  ") + "\n")
	}
	shared := sharedFlags(root)
	fmt.Fprintf(&b, "\nMany commands have the [flags for all](#flags-of-many-commands) below.\n")
	for _, g := range groups {
		fmt.Fprintf(&b, "\n## %s\n", g.Name)
		for _, cmd := range g.Commands {
			commandText(&b, cmd, shared)
		}
	}
	fmt.Fprintf(&b, "\n## Flags of many commands\n")
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	set.SortFlags = false
	for _, f := range shared {
		set.AddFlag(f)
	}
	flagTables(&b, set, nil)
	return b.String()
}

// anchor is what a link to a command names.
func anchor(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// sharedFlags are the flags that many commands have with the same words, in the order in which they
// come first.
func sharedFlags(root *cobra.Command) (shared []*pflag.Flag) {
	uses := map[string]int{}
	visible(root, func(cmd *cobra.Command) {
		cli.FlagsOf(cmd).VisitAll(func(f *pflag.Flag) {
			if uses[flagKey(f)]++; uses[flagKey(f)] == common {
				shared = append(shared, f)
			}
		})
	})
	at := func(f *pflag.Flag) int { return slices.Index(config.Groups, config.GroupOf(f)) }
	slices.SortStableFunc(shared, func(a, b *pflag.Flag) int { return cmp.Compare(at(a), at(b)) })
	return slices.DeleteFunc(shared, func(f *pflag.Flag) bool { return f.Hidden || config.GroupOf(f) == config.HelpFlags })
}

func flagKey(f *pflag.Flag) string {
	name, text := cli.FlagLine(f)
	return name + " " + text
}

// commandText writes a command and those below it.
func commandText(b *strings.Builder, cmd *cobra.Command, shared []*pflag.Flag) {
	fmt.Fprintf(b, "\n### %s\n\n%s\n", cmd.CommandPath(), prose(cmp.Or(cmd.Long, cmd.Short+".")))
	usage := cmd.UseLine()
	if cmd.HasAvailableSubCommands() && cmd.Args != nil && cmd.ValidateArgs(nil) != nil {
		usage = cmd.CommandPath() + " COMMAND [flags]"
	}
	fmt.Fprintf(b, "\n```\n%s\n```\n", usage)
	if cmd.HasExample() {
		fmt.Fprintf(b, "\nExamples:\n\n```\n%s\n```\n", outdent(cmd.Example))
	}
	left := flagTables(b, cli.FlagsOf(cmd), shared)
	if len(left) > 0 {
		fmt.Fprintf(b, "\n%s\n", cli.Wrap("And the [flags of many commands](#flags-of-many-commands): "+strings.Join(left, " "), 100, ""))
	}
	if exits := cli.Exits(cmd); len(exits) > 0 {
		fmt.Fprintf(b, "\n| exit code | means |\n|---|---|\n")
		for _, e := range exits {
			fmt.Fprintf(b, "| %d | %s |\n", e.Code, cell(e.Means))
		}
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			commandText(b, sub, shared)
		}
	}
}

// flagTables writes a table of flags a group, without those that are shared, which it returns.
func flagTables(b *strings.Builder, flags *pflag.FlagSet, shared []*pflag.Flag) (left []string) {
	groups, _ := cli.GroupsOf(flags, true)
	for _, g := range groups {
		if g.Name == config.HelpFlags {
			continue
		}
		begun := false
		for _, f := range g.Flags {
			name, text := cli.FlagLine(f)
			switch {
			case slices.ContainsFunc(shared, func(s *pflag.Flag) bool { return flagKey(s) == flagKey(f) }):
				left = append(left, "`--"+f.Name+"`")
				continue
			case !begun:
				fmt.Fprintf(b, "\n| %s | default | variable | |\n|---|---|---|---|\n", g.Name)
				begun = true
			}
			if f.Shorthand != "" {
				name = "-" + f.Shorthand + ", " + name
			}
			fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", name, code(cli.DefaultOf(f)), code(config.EnvOf(f)), cell(strings.TrimSuffix(text, " (default "+cli.DefaultOf(f)+")")))
		}
	}
	return left
}

// exitsPage is the reference of exit codes.
func exitsPage(root *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n# Exit codes\n\n| exit code | means |\n|---|---|\n", generated)
	for _, e := range cli.Codes {
		fmt.Fprintf(&b, "| %d | %s |\n", e.Code, cell(e.Means))
	}
	fmt.Fprintf(&b, "\n%s\n\n| command | 0 | 1 | 2 | 3 | 130 |\n|---|---|---|---|---|---|\n", cli.Wrap("Commands that read a crawl exit with 4 when some of its shards do not answer. "+
		"Some commands define their codes more exactly:", 100, ""))
	visible(root, func(cmd *cobra.Command) {
		exits := cli.Exits(cmd)
		if len(exits) == 0 {
			return
		}
		fmt.Fprintf(&b, "| [`%s`](commands.md#%s) |", cmd.CommandPath(), anchor(cmd))
		for _, code := range []int{0, 1, 2, 3, 130} {
			i := slices.IndexFunc(exits, func(e cli.ExitCode) bool { return e.Code == code })
			if i < 0 {
				b.WriteString(" |")
				continue
			}
			fmt.Fprintf(&b, " %s |", cell(exits[i].Means))
		}
		b.WriteString("\n")
	})
	return b.String()
}

// prose is text of the help as Markdown. What is indented in the help becomes code.
func prose(text string) string {
	var out []string
	block := false
	for line := range strings.Lines(cli.Fill(strings.TrimSpace(text), 95)) {
		line = strings.TrimRight(line, "\n")
		if indented := strings.HasPrefix(line, "  "); indented != block && (indented || line != "") {
			if block {
				for len(out) > 0 && out[len(out)-1] == "" {
					out = out[:len(out)-1]
				}
				out = append(out, "```", "")
			} else {
				out = append(out, "```")
			}
			block = indented
		}
		if !block {
			line = strings.NewReplacer("*", `\*`, "<", `\<`, "_", `\_`).Replace(line)
		}
		out = append(out, strings.TrimPrefix(line, "  "))
	}
	if block {
		out = append(out, "```")
	}
	return strings.Join(out, "\n")
}

func outdent(text string) string {
	var out []string
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		out = append(out, strings.TrimPrefix(strings.TrimRight(line, "\n"), "  "))
	}
	return strings.Join(out, "\n")
}

// cell is text in a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "*", `\*`, "<", `\<`, "\n", " ").Replace(text)
}

// code is a word in a table; an empty one stays empty.
func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + strings.ReplaceAll(text, "|", `\|`) + "`"
}
