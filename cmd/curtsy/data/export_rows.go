package data

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/catalog"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/export"
	"github.com/curtsy/curtsy/internal/siterules"
)

// write asks for an export and writes it. Text is written as it comes. Rows are converted to other
// formats here, so that a cluster and the directory of a crawl that does not run give the same
// result.
func (x *exporting) write(ctx context.Context, from *asker.Crawl, w io.Writer) (crawl.LeftOut, error) {
	rules, err := from.Rules(ctx)
	if err != nil {
		return crawl.LeftOut{}, err
	}
	rows, err := x.writer(w, rules.Schema())
	if err != nil {
		return crawl.LeftOut{}, err
	}
	var left crawl.LeftOut
	switch {
	case rows.page != nil:
		left, err = from.ExportPages(ctx, x.q, rows.page)
	case rows.link != nil:
		left, err = from.ExportLinks(ctx, x.q, rows.link)
	case rows.links != nil:
		left, err = from.ExportPageLinks(ctx, x.q, rows.links)
	default:
		return from.Export(ctx, x.q, w)
	}
	return left, rows.end(err)
}

// rows write an export, row by row, and end it.
type rows struct {
	page    func(*crawl.PageRow) error
	link    func(crawl.LinkRow) error
	links   func(*crawl.PageLinks) error
	dataset func(*crawl.DatasetInfo) error
	removed func(id, why string) error // of a dataset; nil: there is no place for it

	close   func() error
	partial bool // what was written is to be closed whatever happened
}

// end closes what was written, unless the export failed: a table with its end would look complete.
// If shards are missing, the rows of the others are still wanted.
func (r *rows) end(err error) error {
	var missing *ask.IncompleteError
	if r.close == nil || err != nil && !r.partial && !(errors.As(err, &missing) && missing.Cause == nil) {
		return err
	}
	return errors.Join(err, r.close())
}

// writer makes the rows of the format; a format that is text already has none.
func (x *exporting) writer(w io.Writer, fields []siterules.FieldInfo) (r rows, err error) {
	var columns []export.FieldColumn
	for _, f := range fields {
		columns = append(columns, export.FieldColumn(f))
	}
	table := export.NewRuledPages(columns)
	if x.format == "bulk" && x.out != "" {
		return x.parts()
	}
	switch x.what + " as " + x.format {
	case "pages as parquet":
		p := table.Parquet(w)
		r.page, r.close = func(row *crawl.PageRow) error { return p.Write(table.Row(row)) }, p.Close
	case "links as parquet":
		p := export.NewParquet[export.Link](w)
		r.link, r.close = func(row crawl.LinkRow) error { return p.Write(export.LinkOf(row)) }, p.Close
	case "pages as csv":
		t, err := table.Table(w)
		if err != nil {
			return r, err
		}
		r.page, r.close = func(row *crawl.PageRow) error { return t.Write(table.Row(row)) }, t.Close
	case "links as csv":
		t, err := export.NewTable[export.Link](w)
		if err != nil {
			return r, err
		}
		r.link, r.close = func(row crawl.LinkRow) error { return t.Write(export.LinkOf(row)) }, t.Close
	case "pages as bulk":
		r.page = export.NewBulk(w, x.index).Page
	case "links as bulk":
		r.links = export.NewBulk(w, x.index).Links
	case "pages as files":
		f, err := export.OpenFiles(x.out, !x.q.Since.IsZero())
		if errors.Is(err, export.ErrNotEmpty) {
			return r, app.Usage("--out %v: use a new folder, or add --since to update the folder of an earlier export", err)
		} else if err != nil {
			return r, err
		}
		r = rows{page: f.Page, close: f.Close, partial: true}
	}
	return r, nil
}

// parts makes the rows of an export in bulk that is divided into files.
func (x *exporting) parts() (r rows, err error) {
	p, err := export.OpenParts(x.out, x.partBytes)
	if errors.Is(err, export.ErrNotEmpty) {
		return r, app.Usage("--out %v: use a new folder", err)
	} else if err != nil {
		return r, err
	}
	b := export.NewBulk(p, x.index)
	report := func(url string, write func() error) error {
		before := p.TooLarge
		err := write()
		if p.TooLarge > before {
			x.tooLarge(url)
		}
		return err
	}
	r = rows{close: p.Close, partial: true}
	if x.what == "links" {
		r.links = func(row *crawl.PageLinks) error { return report(row.From, func() error { return b.Links(row) }) }
	} else {
		r.page = func(row *crawl.PageRow) error { return report(row.URL, func() error { return b.Page(row) }) }
	}
	return r, nil
}

// datasetRows makes the rows of an export of datasets. Formats that are one document are written at
// the end.
func datasetRows(w io.Writer, format, index string) (r rows, err error) {
	switch format {
	case "parquet":
		p := export.NewParquet[export.Dataset](w)
		r.dataset = func(d *crawl.DatasetInfo) error {
			row, err := export.DatasetOf(d)
			if err != nil {
				return err
			}
			return p.Write(row)
		}
		r.removed = func(id, why string) error { return p.Write(export.DatasetGone(id, why)) }
		r.close = p.Close
	case "bulk":
		b := export.NewBulk(w, index)
		r.dataset, r.removed = b.Dataset, func(id, _ string) error { return b.DatasetGone(id) }
	default:
		x, err := catalog.NewExporter(w, format)
		if err != nil {
			return r, err
		}
		if r.dataset, r.close = x.Write, x.Close; format == "jsonl" {
			r.removed = x.Remove
		}
	}
	return r, nil
}

func bulkFlag(cmd *cobra.Command, index *string) {
	cmd.Flags().StringVar(index, "index", "", "with --format bulk: the `NAME` of the index in each action; without it, the URL of the request names it: .../pages/_bulk")
}

func checkIndex(index, format string) error {
	if index != "" && format != "bulk" {
		return app.Usage("--index needs --format bulk")
	}
	if err := export.IndexName(index); err != nil {
		return app.Usage("--index %q: %v", index, err)
	}
	return nil
}

// piped writes an export to standard output. If its reader wants no more (curtsy export pages |
// head), the export ends without an error, and enough is true.
func (a *commands) piped(format string, write func(w io.Writer) error) (enough bool, err error) {
	if f, ok := a.Stdout.(*os.File); ok && format == "parquet" && isatty.IsTerminal(f.Fd()) {
		return false, app.Usage("--format parquet cannot be shown on a terminal; redirect it: > pages.parquet")
	}
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE) // so that a write fails, and does not end the process
	defer signal.Stop(pipe)
	out := &reader{to: a.Stdout}
	w := bufio.NewWriterSize(out, 64<<10)
	err = errors.Join(write(w), w.Flush())
	return out.gone, err
}

// reader is standard output; gone reports that its reader has closed it.
type reader struct {
	to   io.Writer
	gone bool
}

func (r *reader) Write(b []byte) (int, error) {
	n, err := r.to.Write(b)
	r.gone = r.gone || errors.Is(err, syscall.EPIPE)
	return n, err
}
