package search

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	_ "modernc.org/sqlite" // the driver

	"github.com/curtsy/curtsy/internal/disk"
)

// format numbers everything a row depends on: the schema, how words are made, what of a page is
// indexed. Another one means the file is filled again.
const format = "1"

// schema of a new file. docs holds what narrows a query, what leads back to the store, and how many
// words a page has; totals holds the sums of these (see totals.go). fts holds words and no text.
// Its tokenizer only splits at spaces and the like, because words come ready-made.
const schema = `
CREATE TABLE about (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE docs (id INTEGER PRIMARY KEY, url TEXT NOT NULL, host TEXT NOT NULL, lang TEXT NOT NULL, type TEXT NOT NULL, expires INTEGER NOT NULL,
  titles INTEGER NOT NULL, heads INTEGER NOT NULL, bodies INTEGER NOT NULL);
CREATE TABLE totals (rows INTEGER NOT NULL, titles INTEGER NOT NULL, heads INTEGER NOT NULL, bodies INTEGER NOT NULL);
INSERT INTO totals VALUES (0, 0, 0, 0);
CREATE TABLE langs (lang TEXT PRIMARY KEY, docs INTEGER NOT NULL) WITHOUT ROWID;
CREATE VIRTUAL TABLE fts USING fts5(title, heads, body, content='', contentless_delete=1, tokenize='ascii');
INSERT INTO fts(fts, rank) VALUES('rank', 'bm25(8.0, 3.0, 1.0)');
INSERT INTO fts(fts, rank) VALUES('hashsize', 8388608);
INSERT INTO fts(fts, rank) VALUES('automerge', 8);
`

// hashsize above: FTS5 writes its pending words out when they take that much, so that a batch
// becomes one segment instead of several. automerge: it merges the segments of a level when there
// are eight instead of four. Together they save about a tenth of the work, as do pages of 8 KB (m).

// errStale says that a file must be filled again.
var errStale = errors.New("search: index is missing, damaged, of another format or of another page store")

// dsn names a file for the driver. Paths may hold anything, "?" and "%" included.
func dsn(path string, params url.Values) string {
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: params.Encode()}
	return u.String()
}

// openSQL opens a pool of one connection.
func openSQL(path string, params url.Values) (*sql.DB, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", dsn(abs, params))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	db.SetMaxIdleConns(1)
	if err := db.Ping(); err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

func pragmas(cacheKB int, more ...string) url.Values {
	return url.Values{"_pragma": append([]string{"busy_timeout(5000)", "temp_store(MEMORY)",
		"cache_size(-" + strconv.Itoa(cacheKB) + ")"}, more...)}
}

// openWriter opens a file for writing and creates it if necessary. WAL lets queries go on beside
// it. NORMAL means that a power cut may take the last batches; their cursor goes with them.
func openWriter(path string) (*sql.DB, error) {
	// SQLite gives its log the mode of the file, and would follow a link.
	f, err := disk.OpenRegular(path, os.O_CREATE|os.O_RDWR)
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	return openSQL(path, pragmas(8<<10, "page_size(8192)", "journal_mode(WAL)", "synchronous(NORMAL)", "wal_autocheckpoint(2000)",
		"journal_size_limit(67108864)"))
}

// openReader opens a file that exists for queries only.
func openReader(path string) (*sql.DB, error) {
	params := pragmas(8<<10, "query_only(1)")
	params.Set("mode", "ro")
	return openSQL(path, params)
}

// openLeftover opens a file that nobody writes, wherever it is. A killed process leaves a log that
// must be read with the file, and SQLite wants to create another file beside it for that. Where
// this is not allowed, file and log are copied to a temporary folder, which cleanup removes.
func openLeftover(path string) (db *sql.DB, cleanup func(), err error) {
	cleanup = func() {}
	db, err = openReader(path)
	if err == nil {
		if _, err = readAbout(context.Background(), db, "format"); err == nil {
			return db, cleanup, nil
		}
		db.Close()
	}
	if _, statErr := os.Stat(path); statErr != nil {
		return nil, cleanup, statErr
	}
	dir, tmpErr := os.MkdirTemp("", "curtsy-search-")
	if tmpErr != nil {
		return nil, cleanup, errors.Join(err, tmpErr)
	}
	cleanup = func() { os.RemoveAll(dir) }
	to := filepath.Join(dir, "search.db")
	for _, suffix := range []string{"", "-wal"} {
		if copyErr := copyFile(path+suffix, to+suffix); copyErr != nil && !(suffix != "" && errors.Is(copyErr, os.ErrNotExist)) {
			cleanup()
			return nil, func() {}, errors.Join(err, copyErr)
		}
	}
	if db, err = openReader(to); err != nil {
		cleanup()
		return nil, func() {}, err
	}
	return db, cleanup, nil
}

func copyFile(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := disk.OpenRegular(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}

// Remove deletes the index file at path with what belongs to it: the next Open fills a new one.
// Nobody may have it open.
func Remove(path string) error {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove search index: %w", err)
		}
	}
	return nil
}

type queryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func readAbout(ctx context.Context, q queryer, key string) (value string, err error) {
	err = q.QueryRowContext(ctx, "SELECT value FROM about WHERE key = ?", key).Scan(&value)
	return value, err
}

// checkAbout returns the cursor of a file that belongs to this version and this store, and errStale
// for any other file.
func checkAbout(ctx context.Context, q queryer, identity string) (cursor uint64, err error) {
	f, err := readAbout(ctx, q, "format")
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errStale, err)
	}
	id, err := readAbout(ctx, q, "store")
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errStale, err)
	}
	c, err := readAbout(ctx, q, "cursor")
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errStale, err)
	}
	cursor, err = strconv.ParseUint(c, 10, 64)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%w: cursor %q", errStale, c)
	case f != format:
		return 0, fmt.Errorf("%w: format %s, this version writes %s", errStale, f, format)
	case id != identity:
		return 0, fmt.Errorf("%w: made from another page store", errStale)
	}
	return cursor, nil
}
