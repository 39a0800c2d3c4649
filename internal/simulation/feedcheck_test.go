package simulation

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/export"
	"github.com/curtsy/curtsy/internal/feed"
	"github.com/curtsy/curtsy/internal/pages"
)

// row reads a row of an export or of a sink, without what they have differently: a page that was
// fetched again without a change keeps its date in the feed, and Parquet has no empty texts.
func (w *world) row(line []byte) map[string]any {
	w.t.Helper()
	var row map[string]any
	if err := json.Unmarshal(line, &row); err != nil {
		w.t.Errorf("%v: %s", err, line)
		return nil
	}
	for _, key := range []string{"fetched_at", "id", "version"} {
		delete(row, key)
	}
	maps.DeleteFunc(row, func(_ string, value any) bool { return value == "" })
	return row
}

// check compares each sink with an export of the running crawl. It returns the URLs of all pages
// that an export without conditions shows, with their digests.
func (f *feeds) check() (shown map[string]string) {
	w := f.w
	kv, err := w.q.JS.KeyValue(w.t.Context(), crawl.Names(w.spec.Name).Bucket())
	if err != nil {
		w.t.Fatal(err)
	}
	c := asker.Running(w.q, kv, w.spec)
	shown = map[string]string{}
	w.export(c, crawl.ExportQuery{}, func(r *crawl.PageRow) { shown[r.URL] = r.SHA256 })
	for _, fl := range f.followers {
		fl.check(c)
	}
	return shown
}

func (w *world) export(c *asker.Crawl, q crawl.ExportQuery, each func(*crawl.PageRow)) {
	var rows []crawl.PageRow
	w.patiently("export", func(ctx context.Context) error {
		rows = nil
		_, err := c.ExportPages(ctx, q, func(r *crawl.PageRow) error {
			rows = append(rows, *r)
			return nil
		})
		return err
	})
	for i := range rows {
		each(&rows[i])
	}
}

// formats are the formats of an export with the contents of a feed.
var formats = map[string]string{"text": "jsonl", "markdown": "markdown", "html": "source", "none": "jsonl"}

// check compares a sink with an export.
func (fl *follower) check(c *asker.Crawl) {
	w := fl.w
	want, digests := map[string]map[string]any{}, map[string]string{}
	w.export(c, crawl.ExportQuery{Format: formats[fl.o.Content], For: fl.o.For, UnknownToo: fl.o.UnknownToo}, func(r *crawl.PageRow) {
		text, err := json.Marshal(r)
		if err != nil {
			w.t.Error(err)
		}
		id, row := export.DocumentID(r.URL), w.row(text)
		if fl.o.Content == "none" {
			for _, key := range []string{"text", "withheld", "cut"} {
				delete(row, key)
			}
		}
		maps.DeleteFunc(row, func(key string, _ any) bool {
			return fl.o.Fields != nil && !slices.Contains(fl.o.Fields, key) || fl.keys != nil && !slices.Contains(fl.keys, key)
		})
		want[id], digests[id] = row, r.SHA256
	})
	got, dead := fl.contents(), fl.dead()
	for id, row := range want {
		why := w.refusal(id, digests[id])
		switch {
		case why == "":
			if !reflect.DeepEqual(got[id], row) {
				w.fail("feed", "%s has\n%v\nand the export\n%v", fl.kind, got[id], row)
			}
		case dead[id].Reason != why || dead[id].Version != fl.offered[id].version:
			w.fail("feed-dead", "%s refuses version %d of %v: %s; in the file is %+v", fl.kind, fl.offered[id].version, row["url"], why, dead[id])
		case got[id] != nil && got[id]["sha256"] == digests[id]:
			w.fail("feed-dead", "%s has %v, which it refuses", fl.kind, row["url"])
		}
	}
	for id, row := range got {
		if want[id] == nil {
			w.fail("feed", "%s has a page too many, version %d: %v", fl.kind, fl.offered[id].version, row)
		}
	}
	w.note("%s: %d pages, the export has %d", fl.kind, len(got), len(want))
}

// dead reads the file of refused changes: the last one of each page.
func (fl *follower) dead() map[string]feed.Refusal {
	last := map[string]feed.Refusal{}
	text, err := os.ReadFile(feed.DeadFile(fl.s.dir, fl.o.Name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		fl.w.t.Error(err)
	}
	torn := 0
	for line := range bytes.Lines(text) {
		var r feed.Refusal
		if err := json.Unmarshal(line, &r); err != nil {
			torn++ // the feeder was killed while it wrote
			continue
		}
		last[r.ID] = r
	}
	if torn > fl.s.lives {
		fl.w.fail("feed-dead", "%d lines of the file of refused changes cannot be read", torn)
	}
	return last
}

// checkStores compares what an export showed with the files of the page stores.
func (f *feeds) checkStores(shown map[string]string) {
	w := f.w
	forgotten := crawl.NewForgotten(w.spec.Forgotten)
	stored := map[string]string{}
	w.eachPage(func(p *pages.Page) {
		if p.Deleted == "" && p.AliasOf == "" && !p.Expired(time.Now()) && !forgotten.Has(p.URL) {
			stored[string(p.URL)] = hex.EncodeToString(p.SHA256[:])
		}
	})
	if !maps.Equal(stored, shown) {
		w.fail("feed", "the page stores have %d pages:\n%v\nand the export showed %d:\n%v", len(stored), stored, len(shown), shown)
	}
}
