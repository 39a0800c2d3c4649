package data

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/catalog"
	"github.com/curtsy/curtsy/internal/cli"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/spf13/cobra"
)

// datasetFormats are the formats of an export of datasets.
var datasetFormats = append(slices.Clone(catalog.Formats), "parquet", "bulk")

// datasetExport is an export of datasets as it was typed.
type datasetExport struct {
	format, index, since, known string

	want  wanted
	uses  exportUses
	after time.Time // what since means; zero: everything
}

func (a *commands) exportDatasets() *cobra.Command {
	x := new(datasetExport)
	cmd := &cobra.Command{
		Use:   "datasets [WORD...]",
		Short: "Write the catalogue of datasets",
		Long: `Write the catalogue of datasets to standard output. With words, only datasets that contain all
of them are written. The formats are:

  jsonl    everything that is known, one dataset a line, with the source of each
           value and contradictions
  csv      a table with one row a dataset; lists are separated by "; ", URLs
           by spaces
  dcat     linked data: a DCAT-AP 3 catalogue in JSON-LD, which can be read
           without a network, with an IRI for each dataset
  datatxt  a data.txt for your own site, with the datasets that have files; a
           crawl of it finds the same datasets
  parquet  a table, with lists as lists, and free-form values as JSON
  bulk     input for _bulk of Elasticsearch and OpenSearch; --index is the index

With --since, a dataset is written in full if a document that describes it was stored or has
changed since then, documents of other sites included. The crawl does not remember what a document
no longer describes. Give --known FILE to name the datasets that earlier exports had and that are
gone: as rows with "removed" (jsonl, parquet) or as deletions (bulk). FILE has the earlier jsonl
exports, one after another, or one id a line.

All text is as the sites wrote it, with one exception: in csv, an apostrophe stands before text
that a spreadsheet could take for a formula.`,
		Example: `  curtsy export datasets --license CC-BY-4.0,CC0-1.0 --format csv > open.csv
  curtsy export datasets --since 7d --known all.jsonl > changed.jsonl`,
		Args: cobra.ArbitraryArgs,
	}
	x.flags(cmd)
	cmd.PreRunE = func(*cobra.Command, []string) error { return x.check() }
	return a.Reading(cmd, func(cmd *cobra.Command, from *asker.Crawl, words []string) error {
		return x.write(cmd.Context(), a, from, words)
	})
}

func (x *datasetExport) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&x.format, "format", catalog.Formats[0], "write this `FORMAT`: "+strings.Join(datasetFormats, ", "))
	cli.Completes(cmd, "format", datasetFormats...)
	bulkFlag(cmd, &x.index)
	sinceFlag(cmd, &x.since, "in full; what is gone only with --known")
	cmd.Flags().StringVar(&x.known, "known", "", "with --since, name what is gone of the datasets in this `FILE`: earlier jsonl exports, or one id a line")
	x.want.flags(cmd)
	x.uses.flags(cmd)
}

// check checks the flags.
func (x *datasetExport) check() (err error) {
	if x.known != "" && x.since == "" {
		return app.Usage("--known needs --since: curtsy export datasets --since 7d --known all.jsonl")
	}
	if err := cmp.Or(app.KnownWord("format", x.format, datasetFormats), x.want.check()); err != nil {
		return err
	}
	if x.after, err = parseSince(x.since, time.Now()); err != nil {
		return err
	}
	return cmp.Or(checkIndex(x.index, x.format), x.uses.check())
}

// write writes the export to standard output, and reports on standard error what it lacks.
func (x *datasetExport) write(ctx context.Context, a *commands, from *asker.Crawl, words []string) error {
	known, err := openKnown(x.known)
	if err != nil {
		return err
	}
	left, next, unnamed := map[string]int64{}, nextSince(), 0
	enough, err := a.piped(x.format, func(w io.Writer) error {
		out, err := datasetRows(w, x.format, x.index)
		if err != nil {
			return err
		}
		err = x.want.datasets(ctx, from, words, func(d crawl.DatasetInfo) error {
			why := x.uses.against(&d.Usage)
			known.seen(d.ID, why)
			switch {
			case d.Changed.Before(x.after):
			case why != "":
				left[why]++
			default:
				return out.dataset(&d)
			}
			return nil
		})
		if err == nil { // otherwise it is unknown what is gone
			unnamed, err = known.remove(&out)
		}
		return out.end(err)
	})
	if enough {
		return nil
	}
	x.want.print(a.Stderr)
	a.reportUses(left, "dataset")
	switch {
	case err != nil:
		if known != nil {
			fmt.Fprintln(a.Stderr, "datasets that are gone are not named, because some shards did not answer")
		}
	case x.since != "":
		if known == nil {
			fmt.Fprintln(a.Stderr, "datasets that no document describes any more are not named; to name them, give the earlier export:  --known FILE")
		}
		if unnamed > 0 {
			fmt.Fprintf(a.Stderr, "gone since then, or no longer part of this export: %s; --format jsonl names them\n", term.Count(int64(unnamed), "dataset"))
		}
		a.reportSince(next)
	}
	return err
}
