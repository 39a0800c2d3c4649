package main

import (
	"fmt"

	"github.com/curtsy/curtsy/internal/download"
	"github.com/spf13/cobra"
)

func (a *app) datasetsVerify() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify DIR",
		Short: "Check that the files which datasets get put into a directory are what they were",
		Long: `Read the files that curtsy datasets get put into a directory, and compare them with SHA256SUMS and datapackage.json there: what is
missing, has changed, is not finished, or was not put there by it.

Exit codes: 0 all is as it should be, 1 something is not, 2 typed wrong.`,
		Example: "  curtsy datasets verify ./datasets",
		Args:    one("directory", "./datasets"),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as one JSON object")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		rep, err := download.Verify(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		if asJSON {
			err = a.printJSON(rep)
		} else {
			err = a.printReport(rep)
		}
		if err == nil && !rep.OK {
			err = &exit{code: exitFailed}
		}
		return err
	}
	return cmd
}

func (a *app) printReport(rep download.Report) error {
	if !rep.OK {
		t := newTable(a.stdout, "PROBLEM", "FILE", "WHY")
		for _, p := range rep.Problems {
			if err := t.row(p.Problem, p.Path, p.Detail); err != nil {
				return err
			}
		}
		if err := t.flush(); err != nil {
			return err
		}
	}
	said := "all as they should be"
	if n := len(rep.Problems); n > 0 {
		said = count(int64(n), "problem")
	}
	_, err := fmt.Fprintf(a.stderr, "%s listed in %s: %s\n", count(int64(rep.Files), "file"), rep.Dir, said)
	return err
}
