package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/curtsy/curtsy/internal/feed"
)

// statement is a change in SQL.
type statement struct {
	change *feed.Change
	sql    string
	args   []any
}

// Write stores and deletes in one transaction. If the server refuses a page, the transaction is
// repeated with a savepoint for each page, to find out which ones.
func (s *Sink) Write(ctx context.Context, b feed.Batch) (refused []feed.Refused, err error) {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	var list []statement
	upsert, remove := s.table.upsert(), s.table.remove()
	for i := range b.Changes {
		c := &b.Changes[i]
		if c.Row.Removed != "" {
			list = append(list, statement{c, remove, []any{c.ID, c.Version}})
			continue
		}
		args, err := arguments(&b, c)
		if err != nil {
			refused = append(refused, feed.Refused{Change: c, Reason: err.Error()})
			continue
		}
		list = append(list, statement{c, upsert, args})
	}
	lock := s.shardLock(b.Crawl, b.Shard)
	err = s.in(ctx, lock, func(tx pgx.Tx) error {
		var all pgx.Batch
		for _, one := range list {
			all.Queue(one.sql, one.args...)
		}
		return tx.SendBatch(ctx, &all).Close()
	})
	if _, ok := reason(err); !ok {
		if err != nil {
			return nil, err
		}
		return refused, nil
	}
	var more []feed.Refused
	err = s.in(ctx, lock, func(tx pgx.Tx) (err error) {
		more, err = oneByOne(ctx, tx, list)
		return err
	})
	if err != nil {
		return nil, err
	}
	return append(refused, more...), nil
}

// oneByOne leaves out what the server refuses.
func oneByOne(ctx context.Context, tx pgx.Tx, list []statement) (refused []feed.Refused, err error) {
	for _, one := range list {
		err := pgx.BeginFunc(ctx, tx, func(save pgx.Tx) error { // a savepoint
			_, err := save.Exec(ctx, one.sql, one.args...)
			return err
		})
		why, ok := reason(err)
		switch {
		case ok:
			refused = append(refused, feed.Refused{Change: one.change, Reason: why})
		case err != nil:
			return nil, err
		}
	}
	return refused, nil
}

// arguments are the parameters of the upsert.
func arguments(b *feed.Batch, c *feed.Change) ([]any, error) {
	row, err := c.JSON()
	if err != nil {
		return nil, err
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(withoutNUL(row), &keys); err != nil {
		return nil, err
	}
	var values []any
	for _, col := range columns {
		v, err := col.value(keys[col.name])
		if err != nil {
			return nil, fmt.Errorf("the column %s: %w", col.name, err)
		}
		values = append(values, v)
		delete(keys, col.name)
	}
	more, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	host := ""
	if u, err := url.Parse(c.Row.URL); err == nil {
		host = u.Hostname()
	}
	args := append([]any{c.ID, c.Version, b.Crawl, b.Shard, b.Generation, host, more}, values...)
	return append(args, searchConfig(c.Row.Lang)), nil
}

// value is a value for a column, nil if the page has none.
func (c column) value(raw json.RawMessage) (any, error) {
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil, nil
	}
	switch c.kind {
	case "text":
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err
	case "bigint":
		var n int64
		err := json.Unmarshal(raw, &n)
		return n, err
	case "timestamptz":
		var t time.Time
		err := json.Unmarshal(raw, &t)
		return t, err
	case "jsonb":
		return []byte(raw), nil
	}
	return nil, errors.New("unknown type " + c.kind)
}

// withoutNUL replaces NUL in JSON by the replacement character, because no text and no jsonb of
// PostgreSQL may have one. JSON has NUL only as \u0000, and a backslash of a text as two.
func withoutNUL(b []byte) []byte {
	nul := []byte(`\u0000`)
	if !bytes.Contains(b, nul) {
		return b
	}
	out := make([]byte, 0, len(b))
	for len(b) > 0 {
		n := bytes.IndexByte(b, '\\')
		if n < 0 || n+1 == len(b) {
			break
		}
		out = append(out, b[:n]...)
		if b = b[n:]; bytes.HasPrefix(b, nul) {
			out = append(out, `\ufffd`...)
			b = b[len(nul):]
			continue
		}
		out = append(out, b[:2]...)
		b = b[2:]
	}
	return append(out, b...)
}

// searchConfigs are configurations of the text search that every server has, by language.
var searchConfigs = map[string]string{
	"da": "danish", "nl": "dutch", "en": "english", "fi": "finnish", "fr": "french", "de": "german", "hu": "hungarian", "it": "italian",
	"no": "norwegian", "nb": "norwegian", "nn": "norwegian", "pt": "portuguese", "ro": "romanian", "ru": "russian", "es": "spanish", "sv": "swedish", "tr": "turkish",
}

// searchConfig is the configuration for a language. It is qualified, so that no other one of the
// same name is taken.
func searchConfig(lang string) string {
	if name, ok := searchConfigs[lang]; ok {
		return "pg_catalog." + name
	}
	return "pg_catalog.simple"
}
