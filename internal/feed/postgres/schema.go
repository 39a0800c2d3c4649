package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/curtsy/curtsy/internal/siterules"
)

// column is a column whose value is a key of the page in JSON. A page without the key has null.
type column struct{ name, kind string }

// columns are all of them. What a page has beside them is in the column more.
var columns = []column{
	{"url", "text"},
	{"title", "text"},
	{"description", "text"},
	{"lang", "text"},
	{"status", "bigint"},
	{"content_type", "text"},
	{"fetched_at", "timestamptz"},
	{"size", "bigint"},
	{"sha256", "text"},
	{"depth", "bigint"},
	{"canonical", "text"},
	{"text", "text"},
	{"fields", "jsonb"},
}

// own are the columns that the feed fills in, in the order of the parameters of the upsert.
var own = []column{
	{"id", "text"}, {"version", "bigint"}, {"crawl", "text"}, {"shard", "bigint"}, {"generation", "bigint"}, {"host", "text"}, {"more", "jsonb"},
}

// searched is how many characters of a text are in the column search. A tsvector has a million
// bytes at most.
const searched = 200_000

// create are the statements that make what is missing. They run again each time.
func (t table) create() (list []string) {
	list = append(list,
		"CREATE TABLE IF NOT EXISTS "+t.name+" (id text PRIMARY KEY, version bigint NOT NULL)",
		"CREATE TABLE IF NOT EXISTS "+t.deleted+" (id text PRIMARY KEY, version bigint NOT NULL, at timestamptz NOT NULL DEFAULT now())",
	)
	var add []string
	for _, c := range append(own[2:len(own):len(own)], append(columns[:len(columns):len(columns)], column{"search", "tsvector"})...) {
		add = append(add, "ADD COLUMN IF NOT EXISTS "+quote(c.name)+" "+c.kind)
	}
	list = append(list, "ALTER TABLE "+t.name+" "+strings.Join(add, ", "))
	for _, index := range []struct{ name, on string }{
		{"search", "USING gin (search)"},
		{"fields", "USING gin (fields jsonb_path_ops)"},
		{"url", "USING hash (url)"}, // a B-tree has no URLs beyond 2,700 bytes
		{"generation", "(crawl, shard, generation)"},
	} {
		list = append(list, "CREATE INDEX IF NOT EXISTS "+quote(t.base+"_"+index.name+"_idx")+" ON "+t.name+" "+index.on)
	}
	return list
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

// upsert is the statement that stores a page. Its parameters are those of own, of columns, and the
// configuration of the text search. It leaves a newer row, and a newer deletion, as they are.
func (t table) upsert() string {
	var names, values, set []string
	number := map[string]int{}
	for i, c := range append(own[:len(own):len(own)], columns...) {
		number[c.name] = i + 1
		names = append(names, quote(c.name))
		values = append(values, fmt.Sprintf("$%d::%s", i+1, c.kind))
		if i > 0 {
			set = append(set, quote(c.name)+" = excluded."+quote(c.name))
		}
	}
	config := len(names) + 1
	names, set = append(names, "search"), append(set, "search = excluded.search")
	vector := func(column, weight string) string {
		return fmt.Sprintf("setweight(to_tsvector($%d::text::regconfig, left(coalesce($%d::text, ''), %d)), '%s')", config, number[column], searched, weight)
	}
	values = append(values, vector("title", "A")+" || "+vector("description", "B")+" || "+vector("text", "D"))
	return "INSERT INTO " + t.name + " AS now (" + strings.Join(names, ", ") + ") SELECT " + strings.Join(values, ", ") +
		" WHERE NOT EXISTS (SELECT FROM " + t.deleted + " d WHERE d.id = $1::text AND d.version > $2::bigint)" +
		" ON CONFLICT (id) DO UPDATE SET " + strings.Join(set, ", ") + " WHERE now.version <= excluded.version"
}

// remove is the statement that deletes a page, $1, up to a version, $2, and keeps the version.
func (t table) remove() string {
	return "WITH gone AS (DELETE FROM " + t.name + " WHERE id = $1::text AND version <= $2::bigint)" +
		" INSERT INTO " + t.deleted + " AS now (id, version) VALUES ($1::text, $2::bigint)" +
		" ON CONFLICT (id) DO UPDATE SET version = greatest(now.version, excluded.version), at = excluded.at"
}

// keptDeletions is how long the versions of deleted pages are kept.
const keptDeletions = "interval '1 day'"

// Prepare makes the tables and their indices, or what is missing of them. It may run concurrently
// in several processes. The fields of the site rules are in the column fields, whatever they are.
func (s *Sink) Prepare(ctx context.Context, _ []siterules.FieldInfo) error {
	return s.in(ctx, "tables "+s.table.name, func(tx pgx.Tx) error {
		for _, statement := range append(s.table.create(), "DELETE FROM "+s.table.deleted+" WHERE at < now() - "+keptDeletions) {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
}

// Sweep deletes what is left of earlier generations.
func (s *Sink) Sweep(ctx context.Context, crawlName string, shard int, generation int64) error {
	return s.in(ctx, s.shardLock(crawlName, shard), func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "DELETE FROM "+s.table.name+" WHERE crawl = $1 AND shard = $2 AND generation < $3", crawlName, shard, generation)
		return err
	})
}

func (s *Sink) shardLock(crawlName string, shard int) string {
	return fmt.Sprintf("%s %s %d", s.table.name, crawlName, shard)
}

// in runs a transaction with an advisory lock. Transactions with the same lock run one after
// another.
func (s *Sink) in(ctx context.Context, lock string, do func(tx pgx.Tx) error) error {
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", "curtsy feed "+lock); err != nil {
			return err
		}
		return do(tx)
	})
	return classify(err)
}
