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
func NewTable[T any](w io.Writer) (*Table[T], error) {
	t := &Table[T]{}
	var columns []string
	for i, row := 0, reflect.TypeFor[T](); i < row.NumField(); i++ {
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
	t.cells = t.cells[:0]
	for i := range v.NumField() {
		t.cells = append(t.cells, cellOf(v.Field(i)))
	}
	return t.csv.Write(t.cells...)
}

// Close writes the rest.
func (t *Table[T]) Close() error { return t.csv.Close() }

// cellOf writes a field of Page or Link.
func cellOf(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return ""
		}
		v = v.Elem()
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
	case []string:
		return strings.Join(x, " ")
	}
	panic("export: a column of a table is " + v.Type().String())
}
