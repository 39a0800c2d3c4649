package export

import (
	"io"
	"reflect"

	"github.com/parquet-go/parquet-go"
)

const (
	// A row group is written when its texts have this many bytes, or it has this many rows. It is
	// in memory until then, and a reader reads it as a whole.
	groupBytes = 16 << 20
	groupRows  = 100_000
	rowBytes   = 64 // the approximate size of a row without its texts

	// Rows are passed on in batches of so many rows, or bytes. Single rows take three times as
	// long.
	batchRows  = 64
	batchBytes = 1 << 20
)

// Parquet writes rows of one type (Page, Link, Dataset) as a Parquet file, in pages compressed with
// Zstandard. One row group is in memory at a time, and until Close a few kilobytes for each group
// that the end of the file needs.
type Parquet[T any] struct {
	w     *parquet.GenericWriter[T]
	batch []T
	size  int // bytes in the row group, the batch included
	rows  int // likewise
	given int // of size, before the batch
}

// NewParquet makes a writer. Until Close the file has no end and cannot be read.
func NewParquet[T any](w io.Writer) *Parquet[T] { return newParquet[T](w) }

// newParquet makes a writer. more has the schema if T is an interface.
func newParquet[T any](w io.Writer, more ...parquet.WriterOption) *Parquet[T] {
	options := []parquet.WriterOption{
		parquet.Compression(NewParquetCodec()), parquet.DataPageVersion(1),
		parquet.DefaultEncodingFor(parquet.ByteArray, &parquet.Plain), // all readers support it
	}
	for _, name := range bulky {
		options = append(options, parquet.SkipPageBounds(name), parquet.SkipPageStatistics(name))
	}
	return &Parquet[T]{w: parquet.NewGenericWriter[T](w, append(options, more...)...)}
}

// Write adds a row.
func (p *Parquet[T]) Write(row T) error {
	p.batch = append(p.batch, row)
	p.size += rowBytes + textBytes(reflect.ValueOf(&row).Elem())
	p.rows++
	full := p.size >= groupBytes || p.rows >= groupRows
	if !full && len(p.batch) < batchRows && p.size-p.given < batchBytes {
		return nil
	}
	if err := p.hand(); err != nil || !full {
		return err
	}
	p.size, p.given, p.rows = 0, 0, 0
	return p.w.Flush()
}

// hand passes the batch on.
func (p *Parquet[T]) hand() error {
	_, err := p.w.Write(p.batch)
	clear(p.batch)
	p.batch, p.given = p.batch[:0], p.size
	return err
}

// Close writes the rest and the end of the file.
func (p *Parquet[T]) Close() error {
	if err := p.hand(); err != nil {
		return err
	}
	return p.w.Close()
}

// textBytes adds up the texts of a row.
func textBytes(v reflect.Value) (n int) {
	switch v.Kind() {
	case reflect.String:
		return v.Len()
	case reflect.Interface:
		return textBytes(v.Elem())
	case reflect.Pointer:
		if !v.IsNil() && v.Elem().Kind() == reflect.String {
			return v.Elem().Len()
		}
	case reflect.Slice:
		for i := range v.Len() {
			n += rowBytes + textBytes(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				n += textBytes(v.Field(i))
			}
		}
	}
	return n
}
