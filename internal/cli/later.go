package cli

import (
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
)

// later has, by command, the function that makes the flags of a command that is not prepared yet.
// cobra has no place for it in a command.
var later sync.Map

// Later calls flags when cmd is prepared, after the functions that it was given before. Making the
// flags of all commands would take longer than most commands need.
func Later(cmd *cobra.Command, flags func()) {
	if before, waits := later.Load(cmd); waits {
		first, next := before.(func()), flags
		flags = func() { first(); next() }
	}
	later.Store(cmd, flags)
}

// Prepare makes the flags of a command and of all commands below it, with their help. It does
// nothing for commands that are prepared.
func Prepare(cmd *cobra.Command) {
	prepareOnly(cmd)
	for _, sub := range cmd.Commands() {
		Prepare(sub)
	}
}

// aboutOthers are the commands that show something about other commands.
var aboutOthers = []string{"help", "manual", "completion", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd}

// prepareFor prepares what a command line needs of the tree below root: the command that it names,
// and the commands below that one.
func prepareFor(root *cobra.Command, args []string) {
	prepareOnly(root)
	isFlag := func(a string) bool { return strings.HasPrefix(a, "-") }
	switch {
	case !slices.ContainsFunc(args, func(a string) bool { return !isFlag(a) }): // root itself
	case isFlag(args[0]) || slices.Contains(aboutOthers, args[0]):
		Prepare(root)
	default:
		for _, cmd := range root.Commands() {
			if cmd.Name() == args[0] || cmd.HasAlias(args[0]) {
				Prepare(cmd)
			}
		}
	}
}
