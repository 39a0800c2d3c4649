package parts

import (
	"bytes"
	"slices"
	"strconv"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/export"
	"github.com/curtsy/curtsy/internal/feed"
	"github.com/curtsy/curtsy/internal/siterules"
)

// column is a column of the page. Value returns a null for a page without one.
type column struct {
	name  string
	node  parquet.Node
	value func(c *feed.Change) parquet.Value
}

// text is a column that is null if it is empty.
func text(name string, of func(r *crawl.PageRow) string) column {
	return column{name, parquet.Optional(parquet.String()), func(c *feed.Change) parquet.Value { return orNull(of(&c.Row)) }}
}

func orNull(s string) parquet.Value {
	if s == "" {
		return parquet.NullValue()
	}
	return parquet.ByteArrayValue([]byte(s))
}

// number is a column of pages that are not removed.
func number(name string, of func(r *crawl.PageRow) int64) column {
	return column{name, parquet.Optional(parquet.Int(64)), func(c *feed.Change) parquet.Value {
		if c.Row.Removed != "" {
			return parquet.NullValue()
		}
		return parquet.Int64Value(of(&c.Row))
	}}
}

// columns are those that every part has. The fields of the site rules are in the group fields.
var columns = []column{
	{"id", parquet.String(), func(c *feed.Change) parquet.Value { return parquet.ByteArrayValue([]byte(c.ID)) }},
	{"version", parquet.Int(64), func(c *feed.Change) parquet.Value { return parquet.Int64Value(c.Version) }},
	text("removed", func(r *crawl.PageRow) string { return r.Removed }),
	text("url", func(r *crawl.PageRow) string { return r.URL }),
	{"fetched_at", parquet.Optional(parquet.Timestamp(parquet.Millisecond)), func(c *feed.Change) parquet.Value {
		if c.Row.FetchedAt.IsZero() {
			return parquet.NullValue()
		}
		return parquet.Int64Value(c.Row.FetchedAt.UnixMilli())
	}},
	number("status", func(r *crawl.PageRow) int64 { return int64(r.Status) }),
	text("content_type", func(r *crawl.PageRow) string { return r.ContentType }),
	text("title", func(r *crawl.PageRow) string { return r.Title }),
	text("description", func(r *crawl.PageRow) string { return r.Description }),
	text("lang", func(r *crawl.PageRow) string { return r.Lang }),
	number("size", func(r *crawl.PageRow) int64 { return r.Size }),
	text("sha256", func(r *crawl.PageRow) string { return r.SHA256 }),
	number("depth", func(r *crawl.PageRow) int64 { return int64(r.Depth) }),
	text("canonical", func(r *crawl.PageRow) string { return r.Canonical }),
	text("text", func(r *crawl.PageRow) string { return r.Text }),
	text("markdown", func(r *crawl.PageRow) string { return r.Markdown }),
	text("html", func(r *crawl.PageRow) string { return r.HTML }),
	text("withheld", func(r *crawl.PageRow) string { return r.Withheld }),
}

// long are the columns of long texts. Of these a part has no least and greatest values, which would
// be whole texts.
var long = []string{"text", "markdown", "html"}

// schema is the columns of a part. It never changes.
type schema struct {
	parquet *parquet.Schema
	fields  []siterules.FieldInfo
	// at are the numbers of the columns, first those of columns, then those of fields.
	at    []int
	codec compress.Codec // of all parts
}

func newSchema(fields []siterules.FieldInfo) *schema {
	group := parquet.Group{}
	for _, c := range columns {
		group[c.name] = c.node
	}
	own := parquet.Group{}
	for _, f := range fields {
		node := fieldNode(f.Type)
		if f.Many {
			own[f.Name] = parquet.List(node)
		} else {
			own[f.Name] = parquet.Optional(node)
		}
	}
	if len(own) > 0 { // a group without columns is not a valid one
		group["fields"] = own
	}
	s := &schema{parquet: parquet.NewSchema("page", group), fields: fields, codec: export.NewParquetCodec()}
	for _, c := range columns {
		leaf, _ := s.parquet.Lookup(c.name)
		s.at = append(s.at, leaf.ColumnIndex)
	}
	for _, f := range fields {
		path := []string{"fields", f.Name}
		if f.Many {
			path = append(path, "list", "element")
		}
		leaf, _ := s.parquet.Lookup(path...)
		s.at = append(s.at, leaf.ColumnIndex)
	}
	return s
}

// fieldNode is the type of the values of a field.
func fieldNode(t crawl.FieldType) parquet.Node {
	switch t {
	case crawl.FieldNumber:
		return parquet.Leaf(parquet.DoubleType)
	case crawl.FieldDate:
		return parquet.Timestamp(parquet.Millisecond)
	case crawl.FieldBoolean:
		return parquet.Leaf(parquet.BooleanType)
	default:
		return parquet.String()
	}
}

// fieldValue is a value in the type of its column, a null if it is of another one.
func fieldValue(t crawl.FieldType, v string) parquet.Value {
	switch t {
	case crawl.FieldNumber:
		if n, err := strconv.ParseFloat(v, 64); err == nil {
			return parquet.DoubleValue(n)
		}
	case crawl.FieldDate:
		if d, err := time.Parse(time.RFC3339, v); err == nil {
			return parquet.Int64Value(d.UnixMilli())
		}
	case crawl.FieldBoolean:
		if b, err := strconv.ParseBool(v); err == nil {
			return parquet.BooleanValue(b)
		}
	default:
		return parquet.ByteArrayValue([]byte(v))
	}
	return parquet.NullValue()
}

// encode makes a Parquet file of a batch.
func (s *schema) encode(b *feed.Batch) ([]byte, error) {
	var out bytes.Buffer
	options := []parquet.WriterOption{ // as in package export
		s.parquet, parquet.Compression(s.codec), parquet.DataPageVersion(1), parquet.DefaultEncodingFor(parquet.ByteArray, &parquet.Plain),
	}
	for _, name := range long {
		options = append(options, parquet.SkipPageBounds(name), parquet.SkipPageStatistics(name))
	}
	w := parquet.NewWriter(&out, options...)
	for i := range b.Changes {
		if _, err := w.WriteRows([]parquet.Row{s.row(&b.Changes[i])}); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// passedOn reports whether a field of the page is among those that the feed passes on. A deletion
// has no others.
func passedOn(c *feed.Change, name string) bool {
	return c.Fields == nil || c.Row.Removed != "" || slices.Contains(c.Fields, name)
}

// row is a change in the form of Dremel: each value with its repetition level and its definition
// level, in the order of the columns.
func (s *schema) row(c *feed.Change) parquet.Row {
	values := make([][]parquet.Value, len(s.at))
	for i, col := range columns {
		v, defined := col.value(c), 0
		if col.node.Optional() && col.name != "removed" && !passedOn(c, col.name) {
			v = parquet.NullValue()
		}
		if col.node.Optional() && !v.IsNull() {
			defined = 1
		}
		values[s.at[i]] = []parquet.Value{v.Level(0, defined, s.at[i])}
	}
	for i, f := range s.fields {
		at := s.at[len(columns)+i]
		for _, text := range c.Row.Fields.Get(f.Name) {
			if !passedOn(c, "fields") {
				break
			}
			v := fieldValue(f.Type, text)
			if has := len(values[at]); !v.IsNull() && (has == 0 || f.Many) {
				values[at] = append(values[at], v.Level(min(has, 1), 1, at))
			}
		}
		if len(values[at]) == 0 {
			values[at] = []parquet.Value{parquet.NullValue().Level(0, 0, at)}
		}
	}
	var row parquet.Row
	for _, v := range values {
		row = append(row, v...)
	}
	return row
}
