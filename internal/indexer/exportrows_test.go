package indexer

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/export"
	"github.com/curtsy/curtsy/internal/simnet"
)

// A running crawl, asked over NATS, and its files after it has ended give the same table, byte for
// byte. A caller that wants no more gets no more.
func TestExportIsTheSame(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		dir := t.TempDir()
		x, stop := w.start(Options{Dir: dir, Embedded: true})
		var all []crawl.Page
		for i := range 60 {
			p := page(fmt.Sprintf("https://h%d.example/%d", i%9, i), 1, `<html lang="de"><title>T`+fmt.Sprint(i)+"\u202e</title><p>"+strings.Repeat("wörd ", 100*i))
			p.Directives = map[int]crawl.DirectiveBits{7: crawl.NoSnippet, 8: crawl.NoArchive}[i]
			all = append(all, p)
		}
		w.hand(all...)
		w.settled(x)
		table := func(c *asker.Crawl, format string) string {
			t.Helper()
			var b bytes.Buffer
			to := export.NewParquet[export.Page](&b)
			left, err := c.ExportPages(t.Context(), crawl.ExportQuery{Format: format}, func(p *crawl.PageRow) error { return to.Write(export.PageOf(p)) })
			if err = errors.Join(err, to.Close()); err != nil || left.Pages["nosnippet"] != 1 || left.Pages["noarchive"] != 1 {
				t.Errorf("%s: %v, left out %v", format, err, left)
			}
			return b.String()
		}
		running := asker.Running(w.q, nil, crawl.Spec{Name: "test", Shards: 2})
		formats := []string{"jsonl", "markdown", "source"}
		over := map[string]string{}
		for _, format := range formats {
			over[format] = table(running, format)
		}
		enough, n := errors.New("enough"), 0
		if _, err := running.ExportPages(t.Context(), crawl.ExportQuery{Format: "source"}, func(*crawl.PageRow) error { n++; return enough }); err != enough || n != 1 {
			t.Errorf("%v after %d rows", err, n)
		}
		stop()
		r, err := OpenDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for _, format := range formats {
			if got := table(stoppedCrawl(r), format); got != over[format] || len(got) < 10_000 {
				t.Errorf("%s: %d bytes over NATS, %d from the files", format, len(over[format]), len(got))
			}
		}
	})
}
