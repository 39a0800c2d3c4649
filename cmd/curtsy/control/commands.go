// Package control has the commands by which an operator changes a crawl. Most of them are rows of
// the table actions (table.go). Package internal/control does the work, for the dashboard as well.
package control

import (
	"slices"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/spf13/cobra"
)

// commands makes the commands of this group.
type commands struct{ *app.App }

// order is the order of the commands in the reference.
var order = []string{"stop", "pause", "resume", "set", "seed", "host", "refetch", "retry", "forget", "reindex"}

// Commands are the commands of this group.
func Commands(a *app.App) []*cobra.Command {
	c := &commands{a}
	all := append(ActionsUnder(a, ""), c.setCommand(), c.seedCommand(), c.hostCommand(), c.forgetCommand(), c.reindexCommand())
	slices.SortFunc(all, func(a, b *cobra.Command) int {
		return slices.Index(order, a.Name()) - slices.Index(order, b.Name())
	})
	return all
}
