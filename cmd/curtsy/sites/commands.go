// Package sites has the commands about files of site rules: one shows what a file makes of pages,
// one writes a first file, and one applies a changed file to a crawl.
package sites

import (
	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/spf13/cobra"
)

// commands makes the commands of this group.
type commands struct{ *app.App }

// Commands are the commands of this group.
func Commands(a *app.App) []*cobra.Command {
	c := &commands{a}
	cmd := &cobra.Command{
		Use:   "sites",
		Short: "Write, test and apply files of site rules",
		Long: `Write, test and apply files of site rules (crawl --sites FILE): which fields the pages of a site
have, what their main text is, which pages are skipped.`,
		Example: `  curtsy sites init --contact me@example.org https://docs.example.org/ > sites.yaml
  curtsy sites test --contact me@example.org sites.yaml https://docs.example.org/intro.html
  curtsy sites apply sites.yaml`,
	}
	cmd.AddCommand(c.testCommand(), c.initCommand(), c.applyCommand())
	return []*cobra.Command{cmd}
}
