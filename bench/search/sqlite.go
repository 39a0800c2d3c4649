package main

import (
	"context"
	"database/sql"
	"strings"
	"unicode"

	_ "modernc.org/sqlite" // the driver
)

// baseline is twenty lines of SQLite on the text that Curtsy exported: any word that is not a stop
// word, rare ones first, with words of the title counting eight times.
type baseline struct{ db *sql.DB }

// stop has the words that the baseline does not search for.
const stop = ` a an and are as at be by can do does for from how i if in is it me my not of on or that the this to was what when
 where which who why will with you your das der die den dem des ein eine einen einer eines für im in ist kann mit nicht und von
 wie wo zu au aux comment d dans de des du en est et faire l la le les un une ou par pour que sur `

func newBaseline(ctx context.Context, b *bench) (engine, error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // another connection would have another database in memory
	return baseline{db}, fill(ctx, db, b.pages)
}

// fill makes the table of pages.
func fill(ctx context.Context, db *sql.DB, pages []page) error {
	if _, err := db.ExecContext(ctx, `CREATE VIRTUAL TABLE page USING fts5(url UNINDEXED, host UNINDEXED, title, body, tokenize = 'porter unicode61')`); err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	for _, p := range pages {
		host, _, _ := strings.Cut(place(p.URL), "/")
		if _, err := tx.ExecContext(ctx, `INSERT INTO page VALUES (?, ?, ?, ?)`, p.URL, host, p.Title, p.Text); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// anyOf returns the expression of FTS5 for any word that is no stop word, or "" if there is none.
func anyOf(text string) string {
	var words []string
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }) {
		if !strings.Contains(stop, " "+w+" ") {
			words = append(words, `"`+w+`"`)
		}
	}
	return strings.Join(words, " OR ")
}

func (e baseline) ask(ctx context.Context, q query, everywhere bool) (hits []hit, err error) {
	match := anyOf(q.text)
	if match == "" {
		return nil, nil
	}
	rows, err := e.db.QueryContext(ctx, `SELECT url FROM page WHERE page MATCH ? AND (? OR host = ?) ORDER BY bm25(page, 0, 0, 8, 1) LIMIT 120`,
		match, everywhere, q.manual.host())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var u string
		if err := rows.Scan(&u); err != nil {
			return nil, err
		}
		hits = append(hits, hit{urls: []string{u}})
	}
	return hits, rows.Err()
}
