package main

import (
	"fmt"

	"github.com/curtsy/curtsy/internal/version"
	"github.com/spf13/cobra"
)

func (a *app) versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  curtsy version --json",
		Args:    no,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return a.printJSON(version.Get())
			}
			_, err := fmt.Fprintf(a.stdout, "curtsy %s\n", version.Get())
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}
