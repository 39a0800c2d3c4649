// Package check has the commands that read the files of a site as the crawler does, that query its
// update server, and that serve a simulated web to test a crawler with.
package check

import (
	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/spf13/cobra"
)

// commands makes the commands of this group.
type commands struct{ *app.App }

// Commands are the commands of this group.
func Commands(a *app.App) []*cobra.Command {
	c := &commands{a}
	return []*cobra.Command{c.checkCommand(), c.rupCommand(), c.simwebCommand()}
}
