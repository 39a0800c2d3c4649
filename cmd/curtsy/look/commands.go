// Package look has the commands that show a crawl, or serve it to browsers and assistants. They
// change nothing.
package look

import (
	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/spf13/cobra"
)

// commands makes the commands of this group.
type commands struct{ *app.App }

// Commands are the commands of this group.
func Commands(a *app.App) []*cobra.Command {
	c := &commands{a}
	return []*cobra.Command{
		c.statusCommand(), c.searchCommand(), c.pagesCommand(), c.hostsCommand(), c.explainCommand(), c.logCommand(), c.timelineCommand(),
		c.mirrorsCommand(), c.updatesCommand(), c.dashboardCommand(), c.serveCommand(), c.mcpCommand(), c.queriesCommand(),
	}
}
