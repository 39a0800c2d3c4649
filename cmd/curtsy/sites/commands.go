// Package sites has the commands that help to write a file of site rules: one shows what a file
// makes of pages, and one writes a first file.
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
		Short: "Write and test files of site rules",
		Long: `Write and test files of site rules (crawl --sites FILE): which fields the pages of a site have,
what their main text is, which pages are skipped.`,
		Example: `  curtsy sites init --contact me@example.org https://docs.example.org/ > sites.yaml
  curtsy sites test --contact me@example.org sites.yaml https://docs.example.org/intro.html`,
	}
	cmd.AddCommand(c.testCommand(), c.initCommand())
	return []*cobra.Command{cmd}
}
