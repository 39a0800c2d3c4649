// Package archive has the commands that list, read, check and pack WARC files.
package archive

import (
	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/spf13/cobra"
)

// commands makes the commands of this group.
type commands struct{ *app.App }

// Commands are the commands of this group.
func Commands(a *app.App) []*cobra.Command {
	return []*cobra.Command{(&commands{a}).archiveCommand()}
}
