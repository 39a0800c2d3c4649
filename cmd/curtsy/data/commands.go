// Package data has the commands that take the result of a crawl elsewhere: its datasets,
// exports of pages and links, and feeds of other systems.
package data

import (
	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/spf13/cobra"
)

// commands makes the commands of this group.
type commands struct{ *app.App }

// Commands are the commands of this group.
func Commands(a *app.App) []*cobra.Command {
	c := &commands{a}
	return []*cobra.Command{c.datasetsCommand(), c.exportCommand(), c.feedCommand()}
}
