package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// laterTree makes a tree of commands whose flags are made later. made has the names of those whose
// flags were made.
func laterTree() (root *cobra.Command, made *[]string) {
	made = new([]string)
	command := func(name string) *cobra.Command {
		cmd := &cobra.Command{Use: name, Short: "Do it", Run: func(*cobra.Command, []string) {}}
		Later(cmd, func() { cmd.Flags().Bool("first-of-"+name, false, "") })
		Later(cmd, func() { *made = append(*made, name) })
		return cmd
	}
	root = &cobra.Command{Use: "r"}
	top, alias := command("top"), command("alias")
	top.AddCommand(command("below"))
	alias.Aliases = []string{"also"}
	root.AddCommand(top, alias, command("other"))
	return root, made
}

func TestDressFor(t *testing.T) {
	for line, want := range map[string]string{
		"":                    "",
		"--help":              "",
		"unknown":             "",
		"unknown top":         "",
		"top":                 "below top",
		"top below --x other": "below top",
		"also":                "alias",
		"--flag top":          "alias below other top",
		"help top":            "alias below other top",
		"manual dir":          "alias below other top",
		"__complete top --f":  "alias below other top",
	} {
		root, made := laterTree()
		DressFor(root, strings.Fields(line))
		slices.Sort(*made)
		if got := strings.Join(*made, " "); got != want {
			t.Errorf("%q makes the flags of %q, want %q", line, got, want)
		}
		for _, cmd := range root.Commands() {
			has := cmd.Flags().Lookup("first-of-"+cmd.Name()) != nil && cmd.Flags().Lookup("help") != nil
			if want := slices.Contains(*made, cmd.Name()); has != want && cmd.Name() != "help" && cmd.Name() != "completion" {
				t.Errorf("%q: %s has its flags: %v", line, cmd.Name(), has)
			}
		}
		Prepare(root)
		if len(*made) != 4 {
			t.Errorf("%q: afterwards the flags of %q are made; each is made once", line, *made)
		}
	}
}

// An error about a flag names commands that have it, although their flags were not needed so far.
func TestHintKnowsFlagsOfOtherCommands(t *testing.T) {
	root, _ := laterTree()
	root.SilenceErrors, root.SilenceUsage = true, true
	args := []string{"top", "--first-of-other"}
	DressFor(root, args)
	root.SetArgs(args)
	if err := root.Execute(); err == nil || !strings.Contains(err.Error(), "it is a flag of r other") {
		t.Error(err)
	}
}
