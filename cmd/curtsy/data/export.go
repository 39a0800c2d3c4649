package data

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/cli"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pagetext"
	use "github.com/curtsy/curtsy/pkg/usage"
	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
)

func (a *commands) exportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write pages, links or datasets to standard output",
		Example: `  curtsy export pages --format csv > pages.csv
  curtsy export links > links.jsonl
  curtsy export datasets --format dcat > datasets.json`,
	}
	cmd.AddCommand(
		a.exportPages(),
		a.exportLinks(),
		a.exportDatasets(),
	)
	return cmd
}

func (a *commands) exportPages() *cobra.Command {
	x := exporting{what: "pages", formats: []string{"jsonl", "parquet", "csv", "bulk", "files", "markdown", "chunks", "text", "html"}}
	contents := []string{"text", "markdown", "html"}
	cmd := &cobra.Command{Use: "pages", Short: "Write all pages with their text", Args: app.NoArgs,
		Long: `Write all pages with their text to standard output, or into a folder. The formats are:

  jsonl     one page a line: its record and its text
  parquet   a table, with the column names of Common Crawl's index
  csv       the same columns for a spreadsheet, with at most 32,767 characters of
            a text, and an apostrophe before text that could be a formula
  bulk      input for _bulk of Elasticsearch and OpenSearch; --index is the index;
            with --out FOLDER in files of at most --part-size
  files     one file a page in --out FOLDER, and index.jsonl, which maps files
            to pages
  markdown  jsonl with the main text as Markdown
  chunks    jsonl with the main text in pieces under their headings
  text      one text, with a form feed after each page
  html      the HTML of the pages, one after another

In parquet and csv, each field of the site rules is a column; in csv, several values are separated
by "; ". In jsonl, parquet, csv, bulk and files, --content selects what is written of each page. If a site
demands it, a page is written without content (the field withheld gives the reason) or not at all.
With --since, the format files updates its folder. The formats text and html cannot name pages that
are gone; their number is printed on standard error.`,
		Example: `  curtsy export pages > pages.jsonl
  curtsy export pages --format parquet --content markdown --for ai-train > pages.parquet
  curtsy export pages --format bulk --since 24h | curl -sH 'Content-Type: application/x-ndjson' --data-binary @- localhost:9200/pages/_bulk
  curtsy export pages --format files --content html --out site
  curtsy export pages --format chunks --for ai-input --since 24h > new.jsonl`}
	x.flags(cmd)
	cmd.Flags().StringVar(&x.content, "content", contents[0], "write this `PART` of each page in jsonl, parquet, csv, bulk and files: "+strings.Join(contents, ", "))
	cli.Completes(cmd, "content", contents...)
	cmd.Flags().StringVar(&x.out, "out", "", "with --format files or bulk: the `FOLDER` to write into, new or empty; files with --since: also that of an earlier export")
	cmd.Flags().IntVar(&x.q.ChunkSize, "chunk-size", pagetext.DefaultChunk, "with --format chunks: at most `N` characters in a chunk")
	return a.export(cmd, &x, func() error {
		switch {
		case x.q.ChunkSize < pagetext.MinChunk || x.q.ChunkSize > pagetext.MaxChunk:
			return app.Usage("--chunk-size %d is out of range; use %d to %d", x.q.ChunkSize, pagetext.MinChunk, pagetext.MaxChunk)
		case cmd.Flags().Changed("chunk-size") && x.format != "chunks":
			return app.Usage("--chunk-size needs --format chunks")
		case app.KnownWord("content", x.content, contents) != nil:
			return app.KnownWord("content", x.content, contents)
		case cmd.Flags().Changed("content") && slices.Contains([]string{"markdown", "chunks", "text", "html"}, x.format):
			return app.Usage("--content cannot be used with --format %s; use it with --format jsonl, parquet, csv, bulk or files", x.format)
		case x.out == "" && x.format == "files":
			return app.Usage("--format files needs --out: curtsy export pages --format files --out FOLDER")
		case x.out != "" && x.format != "files" && x.format != "bulk":
			return app.Usage("--out needs --format files or bulk: curtsy export pages --format files --out FOLDER; redirect other formats with > FILE")
		}
		if x.q.Format = x.format; slices.Contains([]string{"jsonl", "parquet", "csv", "bulk", "files"}, x.format) {
			x.q.Format = map[string]string{"text": "jsonl", "markdown": "markdown", "html": "source"}[x.content]
		}
		return nil
	})
}

func (a *commands) exportLinks() *cobra.Command {
	x := exporting{what: "links", formats: []string{"jsonl", "parquet", "csv", "bulk"}}
	cmd := &cobra.Command{Use: "links", Short: "Write which page links to which URL", Args: app.NoArgs,
		Long: `Write which page links to which URL to standard output, one link a line or row; in bulk, one
document is a page with all its links. With --since, the links of pages are written that were
stored or have changed since then. A line with "removed": "changed" before the links of a page
states that all earlier links of that page are void. Pages that are gone have such a line too. In
bulk, the new document replaces the earlier one, or the earlier one is deleted.`,
		Example: `  curtsy export links > links.jsonl
  curtsy export links --format parquet > links.parquet`}
	x.flags(cmd)
	cmd.Flags().StringVar(&x.out, "out", "", "with --format bulk: the `FOLDER` to write into, new or empty, in files of at most --part-size")
	return a.export(cmd, &x, func() error {
		if x.out != "" && x.format != "bulk" {
			return app.Usage("--out needs --format bulk; redirect other formats with > FILE")
		}
		x.q.Format = "jsonl"
		return nil
	})
}

// exporting is an export of pages or links as it was typed.
type exporting struct {
	what, format, content, index, out, since string

	partSize  string
	partBytes int64
	tooLarge  func(url string) // reports an item that is larger than a part

	formats []string
	q       crawl.ExportQuery
	uses    exportUses
}

func (x *exporting) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&x.format, "format", x.formats[0], "write this `FORMAT`: "+strings.Join(x.formats, ", "))
	cli.Completes(cmd, "format", x.formats...)
	sinceFlag(cmd, &x.since, "and what is gone")
	bulkFlag(cmd, &x.index)
	cmd.Flags().StringVar(&x.partSize, "part-size", "10MB", "with --format bulk and --out: at most this `SIZE` of a file; a larger document is reported and left out")
	x.uses.flags(cmd)
}

// The limits of --part-size, in bytes. Elasticsearch and OpenSearch refuse requests above 100 MB
// unless they are configured otherwise, and services that run them those above 10 MiB.
const (
	leastPart = 1000
	mostPart  = 100_000_000
)

// check checks what all exports have.
func (x *exporting) check() (err error) {
	if err := app.KnownWord("format", x.format, x.formats); err != nil {
		return err
	}
	if x.q.Since, err = parseSince(x.since, time.Now()); err != nil {
		return err
	}
	if err := checkIndex(x.index, x.format); err != nil {
		return err
	}
	if err := x.uses.check(); err != nil {
		return err
	}
	if size, err := humanize.ParseBytes(x.partSize); err != nil || size < leastPart || size > mostPart {
		return app.Usage("--part-size %q is not a size from 1kB to 100MB; use for example 10MB", x.partSize)
	} else if x.partBytes = int64(size); x.partSize != "10MB" && (x.format != "bulk" || x.out == "") {
		return app.Usage("--part-size needs --format bulk and --out FOLDER")
	}
	x.q.What, x.q.For, x.q.UnknownToo = x.what, x.uses.purposes, x.uses.unknownToo
	return nil
}

// export makes the command of an export. check checks the flags of that command, and sets the
// format that the indexers send.
func (a *commands) export(cmd *cobra.Command, x *exporting, check func() error) *cobra.Command {
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if err := x.check(); err != nil {
			return err
		}
		return check()
	}
	return a.Reading(cmd, func(cmd *cobra.Command, from *asker.Crawl, _ []string) error {
		next := nextSince()
		x.tooLarge = func(url string) {
			fmt.Fprintf(a.Stderr, "left out, because it is larger than --part-size %s: %s\n", x.partSize, term.Clean(url))
		}
		var left crawl.LeftOut
		enough, err := a.piped(x.format, func(w io.Writer) (err error) {
			left, err = x.write(cmd.Context(), from, w)
			return err
		})
		if enough {
			return nil
		}
		for _, why := range slices.Sorted(maps.Keys(left.Pages)) {
			if why == crawl.PagesGone {
				fmt.Fprintf(a.Stderr, "gone since then, or no longer part of this export: %s; --format jsonl names them\n", term.Count(left.Pages[why], "page"))
				continue
			}
			fmt.Fprintf(a.Stderr, "%s without content: %s\n", term.Count(left.Pages[why], "page"), why)
		}
		a.reportUses(left.Usage, "page")
		if err == nil && !x.q.Since.IsZero() {
			a.reportSince(next)
		}
		return err
	})
}

// sinceMargin is how far an export reaches back before the beginning of the one before it, because
// of pages that were being written then and of clocks that differ. A page that is exported twice is
// the same twice.
const sinceMargin = 2 * time.Minute

// nextSince is the --since of the next export after one that begins now.
func nextSince() time.Time { return time.Now().Add(-sinceMargin).UTC().Truncate(time.Second) }

// reportSince prints how to continue after an export of changes.
func (a *commands) reportSince(next time.Time) {
	fmt.Fprintf(a.Stderr, "to export later changes:  --since %s\n", next.Format(time.RFC3339))
}

func sinceFlag(cmd *cobra.Command, since *string, and string) {
	cmd.Flags().StringVar(since, "since", "", "only what has changed since this `TIME` (2026-11-30, 2026-11-30T08:00:00Z, or 24h for a day ago), "+and)
}

// parseSince reads a time, a day, or how long ago; "" is the zero time.
func parseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && 0 < n && n < 36500 {
			return now.AddDate(0, 0, -n).UTC(), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(-d).UTC(), nil
	}
	return time.Time{}, app.Usage("--since %q is not a time; use for example 2026-11-30, 2026-11-30T08:00:00Z (UTC), or 24h or 7d for a time ago", text)
}

// exportUses are the flags that limit an export to what sites allow for a purpose.
type exportUses struct {
	purposes   []string
	unknownToo bool
}

func (u *exportUses) flags(cmd *cobra.Command) {
	names := strings.Join(use.PurposeNames(), ", ")
	cmd.Flags().StringSliceVar(&u.purposes, "for", nil, "only what its site allows for this `PURPOSE`: "+names+" (repeatable)")
	cmd.Flags().BoolVar(&u.unknownToo, "unknown-too", false, "with --for: also what the rules of its site do not mention")
	cli.Completes(cmd, "for", use.PurposeNames()...)
}

func (u *exportUses) check() error {
	all, err := use.ParsePurposes(u.purposes)
	if err != nil {
		return app.Usage("--for: %v", err)
	}
	u.purposes = use.Names(all)
	if u.unknownToo && len(u.purposes) == 0 {
		return app.Usage("--unknown-too needs --for: curtsy export pages --for ai-train --unknown-too")
	}
	return nil
}

// against returns the purpose that excludes something from the export, and the value that does; "":
// none. It decides as the indexer does for pages.
func (u *exportUses) against(said *crawl.Usage) string {
	for _, name := range u.purposes {
		p, err := use.ParsePurpose(name)
		if err != nil {
			continue // checked before
		}
		switch v := said.Of(p); {
		case v == use.Disallow.String(), v == use.Unknown.String() && p != use.Search && !u.unknownToo:
			return name + " " + v
		}
	}
	return ""
}

// reportUses prints what an export left out because a site does not allow it.
func (a *commands) reportUses(left map[string]int64, thing string) {
	unknown := false
	for _, why := range slices.Sorted(maps.Keys(left)) {
		fmt.Fprintf(a.Stderr, "%s left out: %s\n", term.Count(left[why], thing), why)
		unknown = unknown || strings.HasSuffix(why, " "+use.Unknown.String())
	}
	if unknown {
		fmt.Fprintln(a.Stderr, "to include those that no rule mentions:  --unknown-too")
	}
}
