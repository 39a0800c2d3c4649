package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/catalog"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/spf13/cobra"
)

func (a *app) datasetsCommand() *cobra.Command {
	cmd := a.datasetsList()
	cmd.AddCommand(a.datasetsGet(), a.datasetsVerify())
	return cmd
}

func (a *app) datasetsList() *cobra.Command {
	var asJSON bool
	var want wanted
	cmd := &cobra.Command{
		Use:   "datasets [WORD...]",
		Short: "List the datasets that sites announce",
		Long: `List the datasets that sites announce: in /data.txt, in their pages (schema.org and Croissant as JSON-LD), in a portal's
data.json, in data packages. A dataset that several documents of its site tell of is listed once; --json shows which of them says what, and
where they contradict one another. What other sites say of it changes nothing: they are named under also_described_at.

With words, only datasets that have all of them in title, name, description, keywords, publisher or columns. The words get and verify
are commands, unless they stand behind --.`,
		Example: `  curtsy datasets rain --license CC-BY-4.0,CC0-1.0
  curtsy datasets get --dir rain ID`,
		Args: cobra.ArbitraryArgs,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON Lines, one dataset a line")
	want.flags(cmd)
	return a.reading(cmd, func(cmd *cobra.Command, from *asker.Crawl, words []string) error {
		if err := want.check(); err != nil {
			return err
		}
		defer want.tell(a.stderr)
		if asJSON {
			return want.datasets(cmd.Context(), from, words, func(d crawl.DatasetInfo) error { return a.printJSON(d) })
		}
		t, n := newTable(a.stdout, "ID", "ORIGIN", "NAME", "LICENSE", "TITLE", "URL"), int64(0)
		err := want.datasets(cmd.Context(), from, words, func(d crawl.DatasetInfo) error {
			n++
			return t.row(d.ID, d.Origin, short(d.Name, 40), short(licenseOf(&d), 30), short(d.Title, 50), strings.Join(d.URLs, " "))
		})
		if ferr := t.flush(); err == nil {
			err = ferr
		}
		fmt.Fprintln(a.stderr, count(n, "dataset"))
		return err
	})
}

// licenseOf is a licence by its identifier, or as the site writes it.
func licenseOf(d *crawl.DatasetInfo) string {
	if d.SPDX != nil {
		return *d.SPDX
	}
	return d.License
}

// wanted says which datasets are.
type wanted struct {
	licenses []string
	leftOut  map[string]int // by document: datasets that are past what one site may tell
}

// note remembers what a dataset's documents tell of more.
func (w *wanted) note(d *crawl.DatasetInfo) {
	for _, s := range d.Sources {
		if s.LeftOut > 0 {
			if w.leftOut == nil {
				w.leftOut = map[string]int{}
			}
			w.leftOut[s.Document] += s.LeftOut
		}
	}
}

// tell says which documents are not listed whole.
func (w *wanted) tell(to io.Writer) {
	for i, document := range slices.Sorted(maps.Keys(w.leftOut)) {
		if i == 10 {
			fmt.Fprintf(to, "and so of %d documents more\n", len(w.leftOut)-i)
			break
		}
		fmt.Fprintf(to, "%s tells of more datasets than are read of it (%d or more are left out)\n", clean(document), w.leftOut[document])
	}
}

func (w *wanted) flags(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&w.licenses, "license", nil, "only under one of these licences, by their `SPDX` identifiers, said by the host of the files itself (unknown: those whose licence is none that is known, or is said by others only)")
	completes(cmd, "license", append(catalog.Licenses(), "unknown")...)
}

// catalogue is what lists datasets: an asker.Crawl.
type catalogue interface {
	Datasets(context.Context, func(crawl.DatasetInfo) error) error
}

// datasets calls each for the datasets wanted.
func (w *wanted) datasets(ctx context.Context, from catalogue, words []string, each func(crawl.DatasetInfo) error) error {
	if err := w.check(); err != nil {
		return err
	}
	return from.Datasets(ctx, func(d crawl.DatasetInfo) error {
		w.note(&d)
		if !catalog.Licensed(&d, w.licenses) || !catalog.HasWords(&d, words) {
			return nil
		}
		return each(d)
	})
}

// check refuses licences that nobody knows.
func (w *wanted) check() error {
	for _, l := range w.licenses {
		if l != catalog.UnknownLicense && catalog.SPDX(l) == "" {
			return usage("--license %q is no SPDX identifier known here; use for example CC-BY-4.0, CC0-1.0, ODbL-1.0, or unknown", l)
		}
	}
	return nil
}

func (a *app) exportDatasets() *cobra.Command {
	var format, index, since, file string
	formats := append(slices.Clone(catalog.Formats), "parquet", "bulk")
	var want wanted
	cmd := &cobra.Command{
		Use:   "datasets [WORD...]",
		Short: "Write the catalogue of datasets",
		Long: `Write the catalogue of datasets to standard output, those with all words as for curtsy datasets:

  jsonl    all that is known, a dataset a line: which document says what, and what others say instead
  csv      a table with a row a dataset; lists are separated by "; ", addresses by blanks
  dcat     linked data, a DCAT-AP 3 catalogue in JSON-LD that needs no network to be understood, with an IRI for each dataset
  datatxt  a data.txt for a site of your own; it has the datasets that have files, and crawling it gives them again
  parquet  a table, with its lists as lists; what may have any key is JSON in a column
  bulk     what _bulk of Elasticsearch and OpenSearch takes; --index names the index

With --since a dataset is written, whole, if a document that tells of it was stored or has changed since then (one that was only fetched
again has not), documents of other sites included. What a document says no more leaves no trace in the crawl: a file says what was known.
With --known FILE what this export had once and has no more is named: rows with "removed" (jsonl, parquet), deletions (bulk). FILE has
the exports before, as jsonl, one behind the other, or an id a line. Of a dataset that has only lost something a changed document tells.

All text is as the sites wrote it, but in the csv: there an apostrophe stands before what a spreadsheet might take for a formula.`,
		Example: `  curtsy export datasets --license CC-BY-4.0,CC0-1.0 --format csv > open.csv
  curtsy export datasets --since 7d --known all.jsonl > changed.jsonl`,
		Args: cobra.ArbitraryArgs,
	}
	cmd.Flags().StringVar(&format, "format", catalog.Formats[0], "one of `"+strings.Join(formats, "|")+"`")
	completes(cmd, "format", formats...)
	bulkFlag(cmd, &index)
	sinceFlag(cmd, &since, "whole; what is gone only with --known")
	cmd.Flags().StringVar(&file, "known", "", "with --since, also what is gone of the datasets in this `FILE`: exports before, as jsonl, or an id a line")
	want.flags(cmd)
	var uses exportUses
	uses.flags(cmd)
	return a.reading(cmd, func(cmd *cobra.Command, from *asker.Crawl, words []string) error {
		switch {
		case !slices.Contains(formats, format):
			return usage("--format %q: use %s", format, strings.Join(formats, "|"))
		case file != "" && since == "":
			return usage("--known is for --since: curtsy export datasets --since 7d --known all.jsonl")
		}
		after, err := parseSince(since, time.Now())
		if err := errors.Join(err, checkIndex(index, format), uses.check()); err != nil {
			return err
		}
		known, err := openKnown(file)
		if err != nil {
			return err
		}
		left, next, unnamed := map[string]int64{}, nextSince(), 0
		enough, err := a.piped(format, func(w io.Writer) error {
			out, err := datasetRows(w, format, index)
			if err != nil {
				return err
			}
			err = want.datasets(cmd.Context(), from, words, func(d crawl.DatasetInfo) error {
				why := uses.against(&d.Usage)
				known.seen(d.ID, why)
				switch {
				case d.Changed.Before(after):
				case why != "":
					left[why]++
				default:
					return out.dataset(&d)
				}
				return nil
			})
			if err == nil { // else nobody knows what is gone
				unnamed, err = known.remove(&out)
			}
			return out.end(err)
		})
		if enough {
			return nil
		}
		want.tell(a.stderr)
		a.tellUses(left, "dataset")
		switch {
		case err != nil:
			if known != nil {
				fmt.Fprintln(a.stderr, "what is gone is not named, since not all could be asked")
			}
		case since != "":
			if known == nil {
				fmt.Fprintln(a.stderr, "a dataset that no document tells of any more is not named; with what was exported before it is:  --known FILE")
			}
			if unnamed > 0 {
				fmt.Fprintf(a.stderr, "gone since then, or no part of this any more: %s; --format jsonl names them\n", count(int64(unnamed), "dataset"))
			}
			a.tellSince(next)
		}
		return err
	})
}
