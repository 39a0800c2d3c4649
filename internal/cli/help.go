package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Commands and flags are shown in the order in which they are declared.
func init() { cobra.EnableCommandSorting = false }

// helpAll is the flag that makes help show all flags.
const helpAll = "help-all"

// Dress gives a command and all commands below it our help and our errors, and prepares all of
// them. Call it when the tree is complete.
func Dress(root *cobra.Command) {
	frame(root)
	Prepare(root)
}

// DressFor is Dress for a tree that is used for one command line: it prepares only what that needs.
func DressFor(root *cobra.Command, args []string) {
	frame(root)
	prepareFor(root, args)
}

// frame sets what root and the commands below it have in common.
func frame(root *cobra.Command) {
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { printHelp(cmd.OutOrStdout(), cmd) })
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		printUsage(cmd.OutOrStderr(), cmd)
		return nil
	})
	root.SetFlagErrorFunc(flagError)
	if root.HasSubCommands() {
		root.SetHelpCommand(helpCommand(root))
		root.InitDefaultHelpCmd()
		root.InitDefaultCompletionCmd()
		completionExamples(root)
	}
}

// prepareOnly prepares one command.
func prepareOnly(cmd *cobra.Command) {
	if flags, waits := later.LoadAndDelete(cmd); waits {
		flags.(func())()
	}
	if cmd.Flags().Lookup(helpAll) != nil {
		return // it is prepared
	}
	cmd.Flags().SortFlags = false
	cmd.InitDefaultHelpFlag()
	cmd.Flags().Lookup("help").Usage = "show this help"
	if !cmd.HasParent() {
		cmd.InitDefaultVersionFlag()
		if f := cmd.Flags().Lookup("version"); f != nil {
			f.Usage = "print the version"
		}
	}
	if _, left := GroupsOf(FlagsOf(cmd), false); left > 0 {
		f := cmd.Flags().VarPF(&helpAllFlag{cmd: cmd}, helpAll, "", "show this help with all flags")
		f.NoOptDefVal = "true"
	}
	if cmd.HasSubCommands() && !cmd.Runnable() {
		needsCommand(cmd)
	}
}

// FlagsOf returns all flags of a command, including those that it shares with the commands below
// it.
func FlagsOf(cmd *cobra.Command) *pflag.FlagSet {
	cmd.LocalFlags() // adds the shared ones
	return cmd.Flags()
}

// helpAllFlag is a flag that prints help with all flags.
type helpAllFlag struct {
	cmd *cobra.Command
	on  bool
}

func (h *helpAllFlag) String() string { return fmt.Sprint(h != nil && h.on) }
func (h *helpAllFlag) Type() string   { return "bool" }
func (h *helpAllFlag) Set(string) error {
	h.on = true
	return h.cmd.Flags().Set("help", "true")
}

// wantsAll reports whether help should show all flags of a command.
func wantsAll(cmd *cobra.Command) bool {
	f := cmd.Flags().Lookup(helpAll)
	return f != nil && f.Changed
}

// printHelp prints what `curtsy help` shows about a command.
func printHelp(w io.Writer, cmd *cobra.Command) {
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	fmt.Fprintln(w, Fill(strings.TrimSpace(text), Width))
	printUsage(w, cmd)
}

// printUsage prints how a command is called.
func printUsage(w io.Writer, cmd *cobra.Command) {
	fmt.Fprint(w, "\nUsage:\n")
	if cmd.Runnable() && !onlyGroups(cmd) {
		fmt.Fprintln(w, "  "+cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintln(w, "  "+cmd.CommandPath()+" COMMAND [flags]")
	}
	if cmd.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", strings.TrimRight(cmd.Example, "\n"))
	}
	for _, g := range CommandGroups(cmd) {
		fmt.Fprintf(w, "\n%s:\n", g.Name)
		for _, sub := range g.Commands {
			fmt.Fprintf(w, "  %-*s%s\n", nameColumn(cmd), sub.Name(), hang(sub.Short, 2+nameColumn(cmd)))
		}
	}
	groups, left := GroupsOf(FlagsOf(cmd), wantsAll(cmd))
	printFlags(w, groups)
	if exits := Exits(cmd); len(exits) > 0 {
		fmt.Fprint(w, "\nExit codes:\n")
		for _, e := range exits {
			fmt.Fprintf(w, "  %-5d%s\n", e.Code, hang(e.Means, 7))
		}
	}
	if left > 0 {
		fmt.Fprintf(w, "\n%d more flags: %s --%s\n", left, cmd.CommandPath(), helpAll)
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\nHelp for a command: %s COMMAND --help\n", cmd.CommandPath())
	}
}

// hang indents all lines of a text but the first, so that it continues in its column.
func hang(text string, column int) string {
	return strings.TrimLeft(Wrap(text, Width, strings.Repeat(" ", column)), " ")
}

// nameColumn is the width of the column for the names of the commands below cmd.
func nameColumn(cmd *cobra.Command) int {
	n := 0
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			n = max(n, len(sub.Name()))
		}
	}
	return n + 2
}

// CommandGroup is a heading and the commands below it.
type CommandGroup struct {
	Name     string
	Commands []*cobra.Command
}

// CommandGroups groups the commands below cmd that are not hidden by their headings. Commands
// without a heading come last.
func CommandGroups(cmd *cobra.Command) (groups []CommandGroup) {
	by := map[string][]*cobra.Command{}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() || sub.Name() == "help" {
			by[sub.GroupID] = append(by[sub.GroupID], sub)
		}
	}
	for _, g := range cmd.Groups() {
		if len(by[g.ID]) > 0 {
			groups = append(groups, CommandGroup{g.Title, by[g.ID]})
		}
	}
	if rest := by[""]; len(rest) > 0 {
		name := "Commands"
		if len(groups) > 0 {
			name = "Other"
		}
		groups = append(groups, CommandGroup{name, rest})
	}
	return groups
}

// printFlags prints flags under their headings.
func printFlags(w io.Writer, groups []FlagGroup) {
	for _, g := range groups {
		fmt.Fprintf(w, "\n%s:\n", g.Name)
		if g.Folded != "" {
			fmt.Fprintln(w, Wrap(g.Folded, Width, "  "))
		}
		for _, f := range g.Flags {
			printFlag(w, f)
		}
	}
}

// flagColumn is the column in which the usage of a flag begins.
const flagColumn = 29

// printFlag prints a flag and its usage. A long name gets a line of its own.
func printFlag(w io.Writer, f *pflag.Flag) {
	name, text := FlagLine(f)
	short := "    "
	if f.Shorthand != "" {
		short = "-" + f.Shorthand + ", "
	}
	head := "  " + short + name
	if len(head)+2 > flagColumn {
		fmt.Fprintf(w, "%s\n%s\n", head, Wrap(text, Width, strings.Repeat(" ", flagColumn)))
		return
	}
	fmt.Fprintf(w, "%-*s%s\n", flagColumn, head, hang(text, flagColumn))
}
