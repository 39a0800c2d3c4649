package asker

import (
	"context"
	"encoding/json"
	"io"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
)

// Export writes pages as jsonl, text or html, or links as jsonl. Pages that state nosnippet or
// noarchive come without their content, and are left out of text and html. The answer says how many
// these are, and how many pages were left out because their sites do not allow the purposes of the
// export.
func (c *Crawl) Export(ctx context.Context, q crawl.ExportQuery, w io.Writer) (left crawl.LeftOut, err error) {
	enc := json.NewEncoder(crawl.SafeJSONTo(w))
	enc.SetEscapeHTML(false)
	return c.export(ctx, q, func(v any) error {
		switch v := v.(type) {
		case string: // written as it is
			_, err := io.WriteString(w, v)
			return err
		case json.RawMessage: // a line of JSON, which is written as it came
			if _, err := w.Write(crawl.SafeJSON(v)); err != nil {
				return err
			}
			_, err := w.Write([]byte{'\n'})
			return err
		}
		return enc.Encode(v)
	})
}

// ExportPages exports pages as jsonl, markdown or source, and calls each for every row. The row is
// valid until each returns.
func (c *Crawl) ExportPages(ctx context.Context, q crawl.ExportQuery, each func(*crawl.PageRow) error) (crawl.LeftOut, error) {
	q.What = "pages"
	return c.export(ctx, q, func(v any) error {
		var row crawl.PageRow
		switch v := v.(type) {
		case crawl.PageRecord:
			row.PageRecord = v
		case crawl.PageRemoved:
			row.URL, row.FetchedAt, row.Removed = v.URL, v.FetchedAt, v.Removed
		default:
			var err error
			if row, err = questions.Decode[crawl.PageRow](questions.Export.Name, v); err != nil {
				return err
			}
		}
		return each(&row)
	})
}

// ExportLinks exports links and calls each for every one.
func (c *Crawl) ExportLinks(ctx context.Context, q crawl.ExportQuery, each func(crawl.LinkRow) error) (crawl.LeftOut, error) {
	q.What, q.Format = "links", "jsonl"
	return exportRows(ctx, c, q, each)
}

// ExportPageLinks exports links and calls each with all links of a page at a time.
func (c *Crawl) ExportPageLinks(ctx context.Context, q crawl.ExportQuery, each func(*crawl.PageLinks) error) (crawl.LeftOut, error) {
	q.What, q.Format = "links", "grouped"
	return exportRows(ctx, c, q, func(links crawl.PageLinks) error { return each(&links) })
}

// exportRows calls each for every row of an export whose rows have one type.
func exportRows[Row any](ctx context.Context, c *Crawl, q crawl.ExportQuery, each func(Row) error) (crawl.LeftOut, error) {
	return c.export(ctx, q, func(v any) error {
		row, err := questions.Decode[Row](questions.Export.Name, v)
		if err != nil {
			return err
		}
		return each(row)
	})
}

// export calls each for the parts of an export: strings, and objects. Objects from a running crawl
// are json.RawMessage, which are valid until each returns.
func (c *Crawl) export(ctx context.Context, q crawl.ExportQuery, each func(v any) error) (left crawl.LeftOut, err error) {
	left.Pages = map[string]int64{}
	err = questions.Export.Each(ctx, c, q, func(v any) error {
		if raw, ok := v.(json.RawMessage); ok {
			var err error
			if v, err = exported(raw); err != nil {
				return err
			}
		}
		if part, ok := v.(crawl.LeftOut); ok { // of one indexer
			left.Add(part)
			return nil
		}
		return each(v)
	})
	return left, err
}

// exported decodes an object of an export unless it is a row.
func exported(raw json.RawMessage) (any, error) {
	switch {
	case crawl.IsLeftOut(raw):
		return questions.Decode[crawl.LeftOut](questions.Export.Name, raw)
	case raw[0] == '"':
		return questions.Decode[string](questions.Export.Name, raw)
	}
	return raw, nil
}
