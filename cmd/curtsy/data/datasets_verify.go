package data

import (
	"context"
	"fmt"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/cli"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/download"
	"github.com/spf13/cobra"
)

func (a *commands) datasetsVerify() *cobra.Command {
	var asJSON, repair bool
	g := &getting{a: a.App, cfg: config.NewDownload(), all: true, only: map[string]bool{}}
	cmd := &cobra.Command{
		Use:   "verify DIR",
		Short: "Compare downloaded files with their checksums",
		Long: `Compare the files that curtsy datasets get has downloaded into a directory with SHA256SUMS and
datapackage.json there, and list what is missing, changed, incomplete or foreign. If each dataset
has its own folder, all folders are checked.

With --repair, changed files are renamed to NAME.mismatch, and changed and missing files are
downloaded again, as by curtsy datasets get; --data is the directory of the crawl.`,
		Annotations: cli.ExitCodes("0 All files are in order.", "1 Some files are not.", "2 The command line is wrong."),
		Example:     "  curtsy datasets verify ./datasets",
		Args:        app.OneArg("directory", "./datasets"),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&repair, "repair", false, "download missing and changed files again")
	return app.Configured(cmd, g.cfg, func(cmd *cobra.Command, args []string, _ *config.Source) (err error) {
		if repair && asJSON {
			return app.Usage("--json and --repair cannot be used together; use one after the other")
		}
		rep, err := download.Verify(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		if damaged := rep.Damaged(); repair && len(damaged) > 0 {
			if err := g.sends(); err != nil {
				return err
			}
			g.log, g.shown = a.Logger(g.cfg.Reader()), newDownloadLine(a.Stderr)
			return g.repair(cmd.Context(), args[0], damaged)
		}
		if asJSON {
			err = a.PrintJSON(rep)
		} else {
			err = a.printReport(rep)
		}
		if err == nil && !rep.OK {
			err = app.Exit(app.ExitFailed, nil)
		}
		return err
	})
}

// repair downloads damaged files again. It selects the datasets to which they belong, whose other
// files are already there.
func (g *getting) repair(ctx context.Context, dir string, damaged []download.Damaged) error {
	for _, d := range damaged {
		if err := download.Quarantine(dir, d); err != nil {
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

func (a *commands) printReport(rep download.Report) error {
	if !rep.OK {
		t := term.NewTable(a.Stdout, "PROBLEM", "FILE", "WHY")
		for _, p := range rep.Problems {
			if err := t.Row(p.Problem, p.Path, p.Detail); err != nil {
				return err
			}
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	said := "all in order"
	if n := len(rep.Problems); n > 0 {
		said = term.Count(int64(n), "problem")
	}
	_, err := fmt.Fprintf(a.Stderr, "%s listed in %s: %s\n", term.Count(int64(rep.Files), "file"), rep.Dir, said)
	return err
}
