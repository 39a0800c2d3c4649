package main

import (
	"fmt"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/version"
	"github.com/spf13/cobra"
)

func (a *commands) versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  curtsy version --json",
		Args:    app.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return a.PrintJSON(version.Get())
			}
			_, err := fmt.Fprintf(a.Stdout, "curtsy %s\n", version.Get())
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}
