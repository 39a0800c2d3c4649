package data

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/catalog"
	"github.com/curtsy/curtsy/internal/cli"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/spf13/cobra"
)

func (a *commands) datasetsCommand() *cobra.Command {
	cmd := a.datasetsList()
	cmd.AddCommand(a.datasetsGet(), a.datasetsVerify())
	return cmd
}

func (a *commands) datasetsList() *cobra.Command {
	var asJSON bool
	var want wanted
	cmd := &cobra.Command{
		Use:   "datasets [WORD...]",
		Short: "List and download the datasets that sites publish",
		Long: `List the datasets that sites publish: in /data.txt, in their pages (schema.org and Croissant as
JSON-LD), in the data.json of a portal, and in data packages. A dataset that several documents of
its site describe is listed once: MERGED shows how many, and the fields in which they contradict
one another. --json has the documents, the source of each value and all contradicting values.
Descriptions on other sites change nothing; they are listed under also_described_at.

With words, only datasets are listed that have all of them in title, name, description, keywords,
publisher or columns. The words get and verify are commands, unless they follow --.`,
		Example: `  curtsy datasets rain --license CC-BY-4.0,CC0-1.0
  curtsy datasets get --dir rain ID`,
		Args: cobra.ArbitraryArgs,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines, one dataset a line")
	want.flags(cmd)
	cmd.PreRunE = func(*cobra.Command, []string) error { return want.check() }
	return a.Reading(cmd, func(cmd *cobra.Command, from *asker.Crawl, words []string) error {
		defer want.print(a.Stderr)
		if asJSON {
			return want.datasets(cmd.Context(), from, words, func(d crawl.DatasetInfo) error { return a.PrintJSON(d) })
		}
		t, n := term.NewTable(a.Stdout, "ID", "ORIGIN", "NAME", "LICENSE", "TITLE", "MERGED", "URL"), int64(0)
		err := want.datasets(cmd.Context(), from, words, func(d crawl.DatasetInfo) error {
			n++
			return t.Row(d.ID, d.Origin, term.Short(d.Name, 40), term.Short(licenseOf(&d), 30), term.Short(d.Title, 50), mergedOf(&d), strings.Join(d.URLs, " "))
		})
		if ferr := t.Flush(); err == nil {
			err = ferr
		}
		fmt.Fprintln(a.Stderr, term.Count(n, "dataset"))
		return err
	})
}

// mergedOf is how many documents a dataset is merged from, and the fields in which they contradict
// one another.
func mergedOf(d *crawl.DatasetInfo) string {
	note := ""
	if n := len(d.Sources); n > 1 {
		note = fmt.Sprintf("%d documents", n)
	}
	if len(d.Conflicts) > 0 {
		note = strings.TrimPrefix(note+", conflicts: "+strings.Join(slices.Sorted(maps.Keys(d.Conflicts)), " "), ", ")
	}
	return term.Short(cmp.Or(note, "-"), 60)
}

// licenseOf is the identifier of a licence, or else its text from the site.
func licenseOf(d *crawl.DatasetInfo) string {
	if d.SPDX != nil {
		return *d.SPDX
	}
	return d.License
}

// wanted selects datasets.
type wanted struct {
	licenses []string
	about    string         // what selects the crawl, behind another command
	leftOut  map[string]int // by document: datasets beyond the limit for one site
	unread   []string       // documents that could not be read whole, with the reason
	unnamed  int            // further ones
}

// maxUnread is how many documents are named that could not be read whole.
const maxUnread = 1000

// noteUnread remembers a document that could not be read whole.
func (w *wanted) noteUnread(document, why string) {
	if len(w.unread) == maxUnread {
		w.unnamed++
		return
	}
	w.unread = append(w.unread, fmt.Sprintf("%s could not be read whole: %s", document, why))
}

// note remembers how many datasets of a document are not listed.
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

// print reports the documents that could not be read whole, or whose datasets are not all listed.
func (w *wanted) print(to io.Writer) {
	slices.Sort(w.unread)
	for _, line := range slices.Compact(w.unread) {
		fmt.Fprintln(to, term.Clean(line))
	}
	if w.unnamed > 0 {
		fmt.Fprintf(to, "and %d more documents could not be read whole\n", w.unnamed)
	}
	for i, document := range slices.Sorted(maps.Keys(w.leftOut)) {
		if i == 10 {
			fmt.Fprintf(to, "and %d more documents\n", len(w.leftOut)-i)
			break
		}
		fmt.Fprintf(to, "%s describes more datasets than are read from one document (at least %d are left out)\n", term.Clean(document), w.leftOut[document])
	}
}

func (w *wanted) flags(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&w.licenses, "license", nil, "only datasets under one of these licences, given as `SPDX` identifiers and stated by the host of the files (unknown: no known licence, or stated by others only)")
	cli.Later(cmd, func() { cli.Completes(cmd, "license", append(catalog.Licenses(), "unknown")...) })
}

// catalogue is what lists datasets: an asker.Crawl.
type catalogue interface {
	Datasets(context.Context, func(crawl.DatasetInfo) error) error
	DatasetsAndUnread(context.Context, func(crawl.DatasetInfo) error, func(document, why string)) error
}

// datasets calls each for the selected datasets.
func (w *wanted) datasets(ctx context.Context, from catalogue, words []string, each func(crawl.DatasetInfo) error) error {
	if err := w.check(); err != nil {
		return err
	}
	return from.DatasetsAndUnread(ctx, func(d crawl.DatasetInfo) error {
		w.note(&d)
		if !catalog.Licensed(&d, w.licenses) || !catalog.HasWords(&d, words) {
			return nil
		}
		return each(d)
	}, w.noteUnread)
}

// check refuses unknown licences.
func (w *wanted) check() error {
	for _, l := range w.licenses {
		if l != catalog.UnknownLicense && catalog.SPDX(l) == "" {
			return app.Usage("--license %q is not a known SPDX identifier; use for example CC-BY-4.0, CC0-1.0, ODbL-1.0, or unknown", l)
		}
	}
	return nil
}
