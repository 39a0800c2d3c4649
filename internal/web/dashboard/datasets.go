package dashboard

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/webtext"
	"github.com/curtsy/curtsy/pkg/canon"
)

// datasetsView is what datasets.html shows.
type datasetsView struct {
	*listing[datasetRow]
	Q, License, Format, Host, Size string
	Licenses, Formats              []string // that there are
	Sizes                          []sizeRange
	Making                         bool      // there is nothing to be shown yet
	Old                            time.Time // what is shown is of then; zero: of now
}

// datasetRow is a dataset in a list.
type datasetRow struct {
	crawl.DatasetInfo
	Formats []string
	Bytes   int64 // of all its files
	Known   bool  // the size of each file is
	NFiles  int
}

// sizeRange is a choice of the filter by size: [From, To) bytes.
type sizeRange struct {
	Key, Text string
	From, To  int64
}

var sizeRanges = []sizeRange{
	{"s", "less than 1 MiB", 0, 1 << 20}, {"m", "1 to 100 MiB", 1 << 20, 100 << 20}, {"l", "100 MiB to 10 GiB", 100 << 20, 10 << 30},
	{"xl", "10 GiB and more", 10 << 30, 1<<63 - 1}, {"unknown", "not known", -1, 0},
}

// choicesKept is how many words a filter offers, and how many bytes each may have.
const choicesKept, choiceLong = 100, 60

func datasets(ctx context.Context, c *asker.Crawl, r *request) (any, error) {
	v := datasetsView{
		listing: list[datasetRow](r), Sizes: sizeRanges,
		Q: r.field("q"), License: r.field("license"), Format: r.field("format"), Host: r.field("host"), Size: r.field("size"),
	}
	filter := datasetFilter{
		words: strings.Fields(strings.ToLower(v.Q)), license: v.License, format: strings.ToLower(v.Format), host: strings.ToLower(v.Host), size: v.Size,
	}
	old, err := r.catalogue.read(ctx, c, func(t *datasetTable) error {
		var shown []int
		v.Licenses, v.Formats = t.licenses, t.formats
		err := t.each(filter, func(i int, matches bool) {
			if v.count(matches) {
				shown = append(shown, i)
			}
		})
		for _, i := range shown {
			row, bad := t.row(i)
			v.Rows, err = append(v.Rows, row), errors.Join(err, bad)
		}
		return err
	})
	v.done(r)
	if errors.Is(err, errMaking) {
		v.Making, err = true, nil
	}
	v.Old = old
	return v, err
}

// refresh is the number of seconds after which the browser requests the page again.
func (v datasetsView) refresh() int {
	if v.Making {
		return 2
	}
	return 0
}

// rowOf is a dataset as a row of a list.
func rowOf(d crawl.DatasetInfo) datasetRow {
	row := datasetRow{DatasetInfo: d, NFiles: len(d.Files), Known: len(d.Files) > 0}
	for i := range d.Files {
		f := &d.Files[i]
		if f.Bytes == nil || *f.Bytes < 0 {
			row.Known = false
		} else if row.Bytes += *f.Bytes; row.Bytes < 0 { // more than there can be
			row.Bytes, row.Known = 0, false
		}
		if name := formatOf(f); name != "" && len(row.Formats) < 20 && !slices.Contains(row.Formats, name) {
			row.Formats = append(row.Formats, name)
		}
	}
	// A page of a list shows neither the descriptions of a dataset nor its long lists.
	row.DatasetInfo = crawl.DatasetInfo{
		ID: d.ID, Title: d.Title, Name: d.Name, License: d.License, SPDX: d.SPDX, LicenseByHost: d.LicenseByHost, Origin: d.Origin,
		Modified: d.Modified, External: d.External, Allowed: d.Allowed,
	}
	return row
}

// mediaNames are short names of media types whose own name people do not know.
var mediaNames = map[string]string{
	"text/plain": "txt", "application/gzip": "gz", "application/x-gzip": "gz", "application/vnd.ms-excel": "xls",
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx", "application/x-ndjson": "jsonl",
	"application/jsonl": "jsonl", "application/vnd.apache.parquet": "parquet", "application/octet-stream": "",
}

// formatOf is the usual name of the format of a file: csv, parquet, zip. It is "" if nothing
// indicates it.
func formatOf(f *crawl.DatasetFile) string {
	media, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(f.MediaType)), ";")
	name, known := mediaNames[media]
	if _, sub, ok := strings.Cut(media, "/"); !known && ok {
		name = strings.TrimPrefix(sub, "x-")
	}
	if name == "" {
		at := f.Name
		if u, ok := webtext.URL(f.URL); ok && path.Ext(at) == "" {
			at = u.Path
		}
		name = strings.ToLower(strings.TrimPrefix(path.Ext(at), "."))
	}
	if name = webtext.Clean(name); len(name) > 20 {
		return ""
	}
	return name
}

// licenseOf is the identifier of a licence, or else its text from the site; "none" if there is
// none.
func licenseOf(d *crawl.DatasetInfo) string {
	if d.SPDX != nil {
		return *d.SPDX
	}
	return cmp.Or(text(d.License, choiceLong), "none")
}

// wordsOf is the text of a dataset in lower case.
func wordsOf(d *crawl.DatasetInfo) string {
	all := []string{d.Title, d.Name, d.Description, d.Publisher, strings.Join(d.Keywords, " ")}
	for i := range d.Columns {
		all = append(all, d.Columns[i].Name)
	}
	return strings.ToLower(strings.Join(all, "\n"))
}

// hostOf is the host of a URL; "" means that it is no URL.
func hostOf(raw string) string {
	u, err := canon.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Host().String()
}

// choices counts the values that a filter may offer.
type choices map[string]int

// add counts a value. Beyond the bound, further values are not offered, but a person may type them.
func (c choices) add(s string) {
	if _, ok := c[s]; ok || len(c) < 10*choicesKept && len(s) <= choiceLong {
		c[s]++
	}
}

// sorted are the most frequent values in alphabetical order.
func (c choices) sorted() []string {
	all := make([]string, 0, len(c))
	for s := range c {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(c[b]-c[a], strings.Compare(a, b)) })
	all, _ = cut(all, choicesKept)
	slices.Sort(all)
	return all
}
