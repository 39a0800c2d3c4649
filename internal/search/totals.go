package search

import (
	"context"
	"database/sql"
)

// FTS5 ranks by the number of rows and their average length. In a contentless table it does not
// subtract deleted rows from these sums, since it no longer knows their length: after a year of
// daily re-crawls a page would be counted 365 times, and rare words would weigh little more than
// common ones. So we keep the sums ourselves. After a batch that deleted something they are written
// to where FTS5 keeps its own: record 1 of its data table, four varints.

// counts are numbers of rows and of words by column.
type counts struct {
	rows, titles, heads, bodies int64
}

func (c *counts) add(o counts, sign int64) {
	c.rows += sign * o.rows
	c.titles += sign * o.titles
	c.heads += sign * o.heads
	c.bodies += sign * o.bodies
}

// save adds c to the sums kept in the file.
func (c *counts) save(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, "UPDATE totals SET rows = rows + ?, titles = titles + ?, heads = heads + ?, bodies = bodies + ?",
		c.rows, c.titles, c.heads, c.bodies)
	return err
}

// correctTotals makes FTS5's sums those of the rows that are left. It is a transaction of its own,
// because FTS5 writes its record when one commits. If the process ends in between, the next batch
// corrects the record.
func correctTotals(ctx context.Context, db *sql.DB) error {
	var record []byte
	if err := db.QueryRowContext(ctx, "SELECT block FROM fts_data WHERE id = 1").Scan(&record); err != nil {
		return err
	}
	if !isTotals(record) {
		// another version of FTS5 keeps them otherwise: then ranking is inexact as
		// described, and nothing breaks
		return nil
	}
	var c counts
	if err := db.QueryRowContext(ctx, "SELECT rows, titles, heads, bodies FROM totals").Scan(&c.rows, &c.titles, &c.heads,
		&c.bodies); err != nil {
		return err
	}
	record = record[:0]
	for _, v := range [...]int64{c.rows, c.titles, c.heads, c.bodies} {
		record = appendVarint(record, uint64(max(v, 0)))
	}
	_, err := db.ExecContext(ctx, "UPDATE fts_data SET block = ? WHERE id = 1", record)
	return err
}

// isTotals reports whether a record is four varints as SQLite writes them.
func isTotals(b []byte) bool {
	n := 0
	for _, c := range b {
		if c < 0x80 {
			n++
		}
	}
	return n == 4 && len(b) > 0 && b[len(b)-1] < 0x80
}

// appendVarint writes seven bits to a byte, highest first. (SQLite's ninth byte has eight; no
// sum comes that far.)
func appendVarint(dst []byte, v uint64) []byte {
	for shift := 56; shift > 0; shift -= 7 {
		if v>>shift != 0 {
			dst = append(dst, byte(v>>shift)|0x80)
		}
	}
	return append(dst, byte(v)&0x7f)
}
