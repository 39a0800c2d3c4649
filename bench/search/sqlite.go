package main

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"

	_ "modernc.org/sqlite" // the driver
)

// baseline is twenty lines of SQLite on the text that Curtsy exported: any word, rare ones first,
// words of the title eight times.
type baseline struct{ db *sql.DB }

// stop holds words that the baseline does not look for.
var stop = words(`a an and are as at be by can do does for from how i if in is it me my not of on or that the this to was what
	when where which who why will with you your
	das der die den dem des ein eine einen einer eines für im in ist kann mit nicht und von wie wo zu
	au aux comment d dans de des du en est et faire l la le les un une ou par pour que sur`)

func words(s string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.FieldsFunc(strings.ToLower(s), notWord) {
		set[w] = true
	}
	return set
}

func notWord(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }

func newSQLite(ctx context.Context, b bench) (engine, error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // another connection would be another memory
	if _, err := db.ExecContext(ctx, `CREATE VIRTUAL TABLE page USING fts5(url UNINDEXED, host UNINDEXED, title, body, tokenize = 'porter unicode61')`); err != nil {
		return nil, err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	err = b.each(func(p page) error {
		host, _, _ := strings.Cut(place(p.URL), "/")
		_, err := tx.ExecContext(ctx, `INSERT INTO page VALUES (?, ?, ?, ?)`, p.URL, host, p.Title, p.Text)
		return err
	})
	if err != nil {
		return nil, err
	}
	return baseline{db}, tx.Commit()
}

func (e baseline) ask(ctx context.Context, q query, everywhere bool) (hits []hit, cpu time.Duration, err error) {
	var quoted []string
	for _, w := range slices.Sorted(maps.Keys(words(q.text))) {
		if !stop[w] {
			quoted = append(quoted, `"`+w+`"`)
		}
	}
	if quoted == nil {
		return nil, 0, nil
	}
	start := cpuTime()
	rows, err := e.db.QueryContext(ctx, `SELECT url FROM page WHERE page MATCH ? AND (? OR host = ?) ORDER BY bm25(page, 0, 0, 8, 1) LIMIT ?`,
		strings.Join(quoted, " OR "), everywhere, q.manual.host(), depth)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var u string
		if err := rows.Scan(&u); err != nil {
			return nil, 0, err
		}
		hits = append(hits, hit{u})
	}
	return hits, cpuTime() - start, rows.Err()
}

// cpuTime is what this process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it cannot fail for oneself
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
