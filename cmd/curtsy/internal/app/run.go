package app

import (
	"context"

	"github.com/curtsy/curtsy/internal/cli"
	"github.com/spf13/cobra"
)

// Run runs a command line of root, which is the command curtsy with others below it, and returns
// the exit code.
func (a *App) Run(ctx context.Context, root *cobra.Command, args []string) int {
	root.SilenceUsage, root.SilenceErrors = true, true
	// An error before this is called is one of the command line.
	root.PersistentPreRun = func(*cobra.Command, []string) { a.parsed = true }
	cli.RegisterCompletions(root, args)
	root.SetArgs(append([]string{}, args...)) // not nil, for which cobra takes those of the process
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	return a.exitCode(ctx, root.ExecuteContext(ctx))
}
