//go:build external

package deploytest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/parquet-go/parquet-go"

	"github.com/curtsy/curtsy/internal/feed/directory"
	"github.com/curtsy/curtsy/internal/feed/elastic/elastictest"
)

// fedRow is a page as a sink has it.
type fedRow struct {
	version int64
	row     map[string]any // as in `curtsy export pages`; nil: only its columns are known
	columns map[string][]any
}

// decoded reads an object of JSON.
func decoded(t *testing.T, text []byte) (row map[string]any) {
	t.Helper()
	if err := json.Unmarshal(text, &row); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return row
}

// lineRow reads a line with an id and a version.
func lineRow(t *testing.T, line []byte) (id string, r fedRow) {
	t.Helper()
	row := decoded(t, line)
	id, _ = row["id"].(string)
	var head struct{ Version int64 }
	if err := json.Unmarshal(line, &head); err != nil {
		t.Fatal(err)
	}
	delete(row, "id")
	delete(row, "version")
	return id, fedRow{version: head.Version, row: row}
}

// elasticRows are the documents of an index.
func elasticRows(t *testing.T, docs map[string]elastictest.Doc) map[string]fedRow {
	t.Helper()
	all := map[string]fedRow{}
	for id, d := range docs {
		row := decoded(t, d.Source)
		for _, own := range []string{"crawl", "shard", "generation", "host"} {
			delete(row, own)
		}
		all[id] = fedRow{version: d.Version, row: row}
	}
	return all
}

// folderRows are the pages of a folder in JSON lines.
func folderRows(t *testing.T, dir string) map[string]fedRow {
	t.Helper()
	lines, err := directory.Fold(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]fedRow{}
	for _, line := range lines {
		id, r := lineRow(t, line)
		all[id] = r
	}
	return all
}

// filesOf reads the parts in a folder.
func filesOf(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "part-*"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, name := range found {
		if all[name], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// parquetRows are the pages in parts in Parquet: the row with the highest version of each, unless
// it is removed.
func parquetRows(t *testing.T, files map[string][]byte) map[string]fedRow {
	t.Helper()
	all := map[string]fedRow{}
	for name, content := range files {
		f, err := parquet.OpenFile(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, group := range f.RowGroups() {
			eachRow(t, group, func(columns map[string][]any) {
				id, version := columns["id"][0].(string), columns["version"][0].(int64)
				if version >= all[id].version {
					all[id] = fedRow{version: version, columns: columns}
				}
			})
		}
	}
	maps.DeleteFunc(all, func(_ string, r fedRow) bool { return r.columns["removed"] != nil })
	return all
}

// eachRow calls do for the rows of a group: the values of each column that has some.
func eachRow(t *testing.T, group parquet.RowGroup, do func(columns map[string][]any)) {
	t.Helper()
	names := group.Schema().Columns()
	rows := group.Rows()
	defer rows.Close()
	buf := make([]parquet.Row, 64)
	for {
		n, err := rows.ReadRows(buf)
		for _, row := range buf[:n] {
			columns := map[string][]any{}
			for _, v := range row {
				name := strings.Join(names[v.Column()], ".")
				switch {
				case v.IsNull():
				case v.Kind() == parquet.ByteArray:
					columns[name] = append(columns[name], string(v.ByteArray()))
				case v.Kind() == parquet.Int64:
					columns[name] = append(columns[name], v.Int64())
				case v.Kind() == parquet.Double:
					columns[name] = append(columns[name], v.Double())
				default:
					t.Fatalf("the column %s has a value of the kind %v", name, v.Kind())
				}
			}
			do(columns)
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// postgresRows are the rows of a table.
func (d *database) postgresRows(table string) map[string]fedRow {
	d.t.Helper()
	all := map[string]fedRow{}
	for _, line := range d.query(`SELECT id, version, ((to_jsonb(p) - '{id,version,crawl,shard,generation,host,more,search}'::text[]) || more)::text FROM ` + table + ` p`) {
		parts := strings.SplitN(line, "|", 3)
		version, err := strconv.ParseInt(parts[1], 10, 64)
		if err != nil {
			d.t.Fatal(err)
		}
		all[parts[0]] = fedRow{version: version, row: decoded(d.t, []byte(parts[2]))}
	}
	return all
}

// natsRows reads a stream as its consumers should: the last message of each page counts, and a
// sweep deletes what is of earlier generations.
func natsRows(t *testing.T, server, stream string) map[string]fedRow {
	t.Helper()
	nc, err := nats.Connect(server)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.OrderedConsumer(context.Background(), jetstream.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	type placed struct {
		fedRow
		shard      string
		generation int64
	}
	all := map[string]placed{}
	for range s.CachedInfo().State.Msgs {
		m, err := c.Next()
		if err != nil {
			t.Fatal(err)
		}
		words := strings.Split(m.Subject(), ".")
		shard, id := words[len(words)-2], words[len(words)-1]
		number := func(header string) int64 {
			n, err := strconv.ParseInt(m.Headers().Get(header), 10, 64)
			if err != nil {
				t.Fatalf("%s: %v", m.Subject(), err)
			}
			return n
		}
		generation := number("Curtsy-Generation")
		if id == "sweep" {
			maps.DeleteFunc(all, func(_ string, p placed) bool { return p.shard == shard && p.generation < generation })
			continue
		}
		version := number("Curtsy-Version")
		if version < all[id].version {
			continue
		}
		p := placed{fedRow{version: version}, shard, generation}
		if m.Headers().Get("Curtsy-Removed") == "" {
			_, p.fedRow = lineRow(t, m.Data())
			if p.version != version {
				t.Errorf("%s: version %d in the header and %d in the page", m.Subject(), version, p.version)
			}
		}
		all[id] = p
	}
	rows := map[string]fedRow{}
	for id, p := range all {
		if p.row != nil {
			rows[id] = p.fedRow
		}
	}
	return rows
}

// sameRow returns what differs between a page of a sink and that of an export. A page that was
// fetched again without a change keeps its earlier date in a feed.
func sameRow(got fedRow, want map[string]any) string {
	if got.columns != nil {
		return sameColumns(got.columns, want)
	}
	a, b := maps.Clone(got.row), maps.Clone(want)
	if d := datesDiffer(a["fetched_at"], b["fetched_at"]); d != "" {
		return d
	}
	delete(a, "fetched_at")
	delete(b, "fetched_at")
	// A null is the same as a key that is missing: a table has no other way to say it.
	null := func(_ string, v any) bool { return v == nil }
	maps.DeleteFunc(a, null)
	maps.DeleteFunc(b, null)
	if !reflect.DeepEqual(a, b) {
		return fmt.Sprintf("it has\n%v\nand the export\n%v", a, b)
	}
	return ""
}

// datesDiffer compares dates in RFC 3339.
func datesDiffer(got, want any) string {
	a, err := time.Parse(time.RFC3339, fmt.Sprint(got))
	if err != nil {
		return err.Error()
	}
	if b, err := time.Parse(time.RFC3339, fmt.Sprint(want)); err != nil || a.After(b) || a.Year() < 2020 {
		return fmt.Sprintf("it was fetched at %v, in the export at %v, %v", a, b, err)
	}
	return ""
}

// sameColumns compares the columns of a part in Parquet.
func sameColumns(got map[string][]any, want map[string]any) string {
	expected := map[string][]any{}
	for _, name := range []string{"url", "content_type", "title", "description", "lang", "sha256", "canonical", "text", "markdown", "html", "withheld"} {
		if s, _ := want[name].(string); s != "" {
			expected[name] = []any{s}
		}
	}
	for _, name := range []string{"status", "size", "depth"} {
		expected[name] = []any{int64(want[name].(float64))}
	}
	fields, _ := want["fields"].(map[string]any)
	for name, v := range fields {
		if list, many := v.([]any); many {
			expected["fields."+name+".list.element"] = list
		} else {
			expected["fields."+name] = []any{v}
		}
	}
	got = maps.Clone(got)
	ms, _ := got["fetched_at"][0].(int64)
	if d := datesDiffer(time.UnixMilli(ms).UTC().Format(time.RFC3339), want["fetched_at"]); d != "" || ms > math.MaxInt64/2 {
		return d
	}
	for _, name := range []string{"id", "version", "fetched_at"} {
		delete(got, name)
	}
	if !reflect.DeepEqual(got, expected) {
		return fmt.Sprintf("it has\n%v\nand the export\n%v", got, expected)
	}
	return ""
}
