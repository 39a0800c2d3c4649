package main

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
)

// indexSQLite makes the table of the baseline in a file.
func indexSQLite(ctx context.Context, dir string, pages []page) (err error) {
	db, err := sql.Open("sqlite", filepath.Join(dir, "pages.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return fill(ctx, db, pages)
}

// openSQLite opens the file for several readers at the same time.
func openSQLite(dir string) (func(context.Context, string) (answer, error), error) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "pages.db")+"?mode=ro&_pragma=mmap_size(2147483648)")
	if err != nil {
		return nil, err
	}
	db.SetMaxIdleConns(clients)
	return func(ctx context.Context, words string) (a answer, err error) {
		match := anyOf(words)
		if match == "" {
			return a, nil
		}
		rows, err := db.QueryContext(ctx, `SELECT url, title, snippet(page, 3, '<mark>', '</mark>', '…', 32) FROM page WHERE page MATCH ?
			ORDER BY bm25(page, 0, 0, 8, 1) LIMIT 10`, match)
		if err != nil {
			return a, err
		}
		defer rows.Close()
		for rows.Next() {
			var h answered
			if err := rows.Scan(&h.URL, &h.Title, &h.Snippet); err != nil {
				return a, err
			}
			a.Hits = append(a.Hits, h)
		}
		if err := rows.Err(); err != nil {
			return a, err
		}
		a.Facets = map[string]int{}
		counts, err := db.QueryContext(ctx, `SELECT host, count(*) FROM page WHERE page MATCH ? GROUP BY host`, match)
		if err != nil {
			return a, err
		}
		defer counts.Close()
		for counts.Next() {
			var host string
			var n int
			if err := counts.Scan(&host, &n); err != nil {
				return a, err
			}
			a.Facets[host] = n
			a.Total += n
		}
		return a, counts.Err()
	}, nil
}
