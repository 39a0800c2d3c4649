package export

import (
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/webtext"
)

// Table writes rows of Page or Link as CSV, with the columns of their Parquet file.
type Table[T any] struct {
	csv   *webtext.CSV
	cells []string
}

// NewTable makes a writer and writes the names of the columns.
func NewTable[T any](w io.Writer) (*Table[T], error) { return newTable[T](w, reflect.TypeFor[T]()) }

// newTable makes a writer of rows of a type, which T may be an interface of.
func newTable[T any](w io.Writer, row reflect.Type) (*Table[T], error) {
	t := &Table[T]{}
	var columns []string
	for i := range row.NumField() {
		name, _, _ := strings.Cut(row.Field(i).Tag.Get("parquet"), ",")
		columns = append(columns, name)
	}
	var err error
	t.csv, err = webtext.NewCSV(w, columns...)
	return t, err
}

// Write adds a row.
func (t *Table[T]) Write(row T) error {
	v := reflect.ValueOf(&row).Elem()
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	t.cells = t.cells[:0]
	for i := range v.NumField() {
		t.cells = append(t.cells, cellOf(v.Field(i), between(v.Type().Field(i).Name)))
	}
	return t.csv.Write(t.cells...)
}

// Close writes the rest.
func (t *Table[T]) Close() error { return t.csv.Close() }

// between is what separates several values in a cell: a blank between URLs.
func between(column string) string {
	if column == "Aliases" {
		return " "
	}
	return Between
}

// cellOf writes a field of a row.
func cellOf(v reflect.Value, between string) string {
	switch {
	case v.Kind() == reflect.Pointer && v.IsNil():
		return ""
	case v.Kind() == reflect.Pointer:
		v = v.Elem()
	case v.Kind() == reflect.Slice:
		var all []string
		for i := range v.Len() {
			all = append(all, cellOf(v.Index(i), between))
		}
		return strings.Join(all, between)
	}
	switch x := v.Interface().(type) {
	case string:
		return x
	case int32:
		return strconv.FormatInt(int64(x), 10)
	case int64:
		return strconv.FormatInt(x, 10)
	case bool:
		return strconv.FormatBool(x)
	case time.Time:
		return x.UTC().Format(time.RFC3339)
	case float64:
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	panic("export: a column of a table is " + v.Type().String())
}
