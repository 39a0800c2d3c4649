package main

import (
	"context"
	"fmt"

	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/download"
	"github.com/spf13/cobra"
)

func (a *app) datasetsVerify() *cobra.Command {
	var asJSON, repair bool
	g := &getting{a: a, cfg: config.NewDownload(), all: true, only: map[string]bool{}}
	cmd := &cobra.Command{
		Use:   "verify DIR",
		Short: "Check that the files which datasets get put into a directory are what they were",
		Long: `Read the files that curtsy datasets get put into a directory, and compare them with SHA256SUMS and datapackage.json there: what is
missing, has changed, is not finished, or was not put there by it. Where each dataset has a folder of its own, all folders are read.

With --repair, files that have changed get .mismatch behind their names, and they and those that are missing are got anew, as curtsy
datasets get would: --data names the crawl's directory.

Exit codes: 0 all is as it should be, 1 something is not, 2 typed wrong.`,
		Example: "  curtsy datasets verify ./datasets",
		Args:    one("directory", "./datasets"),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as one JSON object")
	cmd.Flags().BoolVar(&repair, "repair", false, "get anew what is missing or has changed")
	return configured(cmd, g.cfg, func(cmd *cobra.Command, args []string, _ *config.Source) (err error) {
		if repair && asJSON {
			return usage("--json says what is wrong, and --repair what comes of it: use one after the other")
		}
		rep, err := download.Verify(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		if damaged := rep.Damaged(); repair && len(damaged) > 0 {
			if err := g.sends(); err != nil {
				return err
			}
			g.log, g.shown = a.logger(g.cfg.Reader()), newDownloadLine(a.stderr)
			return g.repair(cmd.Context(), args[0], damaged)
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
	})
}

// repair gets damaged files anew: the datasets they are of, of which all else is there.
func (g *getting) repair(ctx context.Context, dir string, damaged []download.Damaged) error {
	for _, d := range damaged {
		if err := download.SetAside(dir, d); err != nil {
			return err
		}
		if d.Dataset != "" && !g.only[d.Dataset] {
			g.only[d.Dataset] = true
			g.ids = append(g.ids, d.Dataset)
		}
	}
	g.out, g.all = dir, damaged[0].Dir != ""
	return g.run(ctx)
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
