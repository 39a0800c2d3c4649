package search

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
)

const (
	// batchPages is how many changes one transaction takes. FTS5 writes a segment for each
	// transaction, and merging a few large ones costs less than merging many small ones (m: 64 →
	// 256 saves a tenth, 1,000 hardly more).
	batchPages = 256
	// linger is how long a batch that is not full waits for more.
	linger = 200 * time.Millisecond
)

// Run follows the page store until ctx ends, then returns nil. It takes what waits in batches and
// sleeps when nothing does. An error of the file is logged and the batch tried again: then search
// is behind, and the crawl goes on.
func (x *Index) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		changed := x.store.Changed()
		n, err := x.Step(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			x.o.Log.Error("search index does not follow", "file", x.path, "error", err)
			sleep(ctx, 5*time.Second)
		case n >= batchPages:
			// more waits
		case n > 0:
			sleep(ctx, linger)
		default:
			select {
			case <-ctx.Done():
			case <-changed:
				sleep(ctx, linger)
			}
		}
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// row is a page made ready for the index.
type row struct {
	page               pages.Page
	lang               string
	title, heads, body string // terms
	n                  counts // how many
}

// Step indexes one batch of changes after the cursor and returns how many there were; 0 means
// that the index is up to date. A batch is taken whole or not at all. Step must not run twice at
// once, nor beside Run.
func (x *Index) Step(ctx context.Context) (n int, err error) {
	defer x.edge(&err)()
	changes, err := x.store.Changes(x.cursor.Load(), batchPages)
	if err != nil || len(changes) == 0 {
		return 0, err
	}
	if x.o.Turn != nil {
		done, err := x.o.Turn(ctx)
		if err != nil {
			return 0, err
		}
		defer done()
	}
	// The batch is analyzed before the transaction begins, so that ctx can end it
	// between two pages.
	a := indexing.Get().(*analyzer)
	defer indexing.Put(a)
	rows := make([]row, len(changes))
	for i, p := range changes {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		rows[i] = x.analyze(a, p)
	}
	if err := x.write(context.WithoutCancel(ctx), rows); err != nil {
		return 0, fmt.Errorf("index %d pages: %w", len(rows), err)
	}
	// Before the cursor is published: a query of somebody who waited for these pages must
	// know their languages.
	if err := x.readLangs(context.WithoutCancel(ctx), x.w); err != nil {
		return 0, err
	}
	x.cursor.Store(changes[len(changes)-1].Seq)
	return len(changes), nil
}

// analyze reads a page and makes its words.
func (x *Index) analyze(a *analyzer, p pages.Page) row {
	r := row{page: p}
	if p.Deleted != "" || p.Directives&crawl.NoIndex != 0 || p.Expired(x.o.Now()) || p.IsMeta() {
		r.page.Deleted = crawl.ReasonNoindex
		return r
	}
	read := r
	if err := x.o.Read(&p, func() { read = x.readPage(a, p) }); err != nil {
		x.extract, x.buf, x.text = pages.Extractor{}, nil, nil
		r.page.Deleted, r.page.Body = crawl.ReasonUnreadable, nil
		return r
	}
	return read
}

// Try reads a page as indexing does, and keeps nothing of it.
func Try(p *pages.Page) {
	x := newIndex("", nil, Options{})
	x.readPage(newAnalyzer(12), *p)
}

// keepBuffer is the size up to which a buffer is kept from one page to the next.
const keepBuffer = 1 << 20

// readPage makes the words of a page that may be found.
func (x *Index) readPage(a *analyzer, p pages.Page) row {
	r := row{page: p}
	body, err := p.Unpack(x.buf)
	if err != nil {
		x.o.Log.Warn("page is indexed by its title only", "url", p.URL, "error", err)
	} else if p.Encoding != crawl.EncodingNone && cap(body) <= keepBuffer {
		x.buf = body
	}
	text := x.extract.Text(p.ContentType, p.Charset, body)
	r.page.Body = nil
	r.lang = language(firstOf(p.Lang, text.Lang), text.Body)
	r.n.rows = 1
	r.title, r.n.titles = x.terms(a, r.lang, []byte(p.Title))
	r.heads, r.n.heads = x.terms(a, r.lang, text.Headings)
	r.body, r.n.bodies = x.terms(a, r.lang, text.Body)
	return r
}

func (x *Index) terms(a *analyzer, lang string, text []byte) (string, int64) {
	var n int64
	x.text, n = a.appendTerms(x.text[:0], lang, text)
	return string(x.text), n
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// write puts rows and the cursor into the file in one transaction.
func (x *Index) write(ctx context.Context, rows []row) error {
	tx, err := x.w.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var last sql.NullInt64
	if err := tx.QueryRowContext(ctx, "SELECT max(id) FROM docs").Scan(&last); err != nil {
		return err
	}
	b := batch{ctx: ctx, langs: make(map[string]int)}
	for _, s := range []struct {
		stmt **sql.Stmt
		text string
	}{
		{&b.forget, "DELETE FROM docs WHERE id = ? RETURNING lang, titles, heads, bodies"},
		{&b.unindex, "DELETE FROM fts WHERE rowid = ?"},
		{&b.note, "INSERT INTO docs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"},
		{&b.index, "INSERT INTO fts (rowid, title, heads, body) VALUES (?, ?, ?, ?)"},
	} {
		if *s.stmt, err = tx.PrepareContext(ctx, s.text); err != nil {
			return err
		}
		defer (*s.stmt).Close()
	}
	for i := range rows {
		if err := b.put(&rows[i], last.Int64); err != nil {
			return fmt.Errorf("%s: %w", rows[i].page.URL, err)
		}
	}
	for lang, n := range b.langs {
		if _, err := tx.ExecContext(ctx, "INSERT INTO langs VALUES (?, ?) ON CONFLICT (lang) DO UPDATE SET docs = docs + excluded.docs",
			lang, n); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, "UPDATE about SET value = ? WHERE key = 'cursor'",
		strconv.FormatUint(rows[len(rows)-1].page.Seq, 10)); err != nil {
		return err
	}
	if err := b.total.save(ctx, tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil || !b.removed {
		return err
	}
	return correctTotals(ctx, x.w)
}

// batch is the statements of one transaction.
type batch struct {
	ctx                          context.Context
	forget, unindex, note, index *sql.Stmt
	langs                        map[string]int // change in the number of pages, by language
	total                        counts         // words more or less
	removed                      bool           // something was
}

// put replaces what the index holds of a page. Pages numbered past last are new.
func (b *batch) put(r *row, last int64) error {
	id := int64(r.page.ID)
	if id <= last {
		var lang string
		n := counts{rows: 1}
		switch err := b.forget.QueryRowContext(b.ctx, id).Scan(&lang, &n.titles, &n.heads, &n.bodies); err {
		case nil:
			b.langs[lang]--
			b.total.add(n, -1)
			b.removed = true
			if _, err := b.unindex.ExecContext(b.ctx, id); err != nil {
				return err
			}
		case sql.ErrNoRows:
		default:
			return err
		}
	}
	if r.page.Deleted != "" {
		return nil
	}
	b.langs[r.lang]++
	expires := int64(0)
	if !r.page.UnavailableAfter.IsZero() {
		expires = r.page.UnavailableAfter.UnixMilli()
	}
	if _, err := b.note.ExecContext(b.ctx, id, string(r.page.URL), string(r.page.URL.Host()), r.lang, r.page.ContentType,
		expires, r.n.titles, r.n.heads, r.n.bodies); err != nil {
		return err
	}
	b.total.add(r.n, 1)
	_, err := b.index.ExecContext(b.ctx, id, r.title, r.heads, r.body)
	return err
}
