package export

import (
	"fmt"
	"io"
	"reflect"
	"strconv"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/curtsy/curtsy/internal/crawl"
)

// FieldColumn is a column of the table of pages for a field of site rules. Its cells are text,
// numbers of 64 bits, times in milliseconds, or booleans, and lists of these if a page may have
// several values. A value that is not of the type of the field is left out.
type FieldColumn struct {
	Name string
	Type crawl.FieldType
	Many bool
}

// Between is what separates several values of a field in a cell of CSV.
const Between = "; "

// RuledPages makes rows of the table of pages that have the columns of Page, and after them those
// of fields.
type RuledPages struct {
	fields []FieldColumn
	row    reflect.Type
}

// NewRuledPages makes a RuledPages. No field may have the name of a column of Page.
func NewRuledPages(fields []FieldColumn) *RuledPages {
	var columns []reflect.StructField
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Page]()) {
		columns = append(columns, reflect.StructField{Name: f.Name, Type: f.Type, Tag: f.Tag})
	}
	for i, f := range fields {
		columns = append(columns, f.column(i))
	}
	return &RuledPages{fields, reflect.StructOf(columns)}
}

// column is the column as a field of a struct.
func (f FieldColumn) column(i int) reflect.StructField {
	types := map[crawl.FieldType]reflect.Type{
		crawl.FieldNumber: reflect.TypeFor[float64](), crawl.FieldDate: reflect.TypeFor[time.Time](), crawl.FieldBoolean: reflect.TypeFor[bool](),
	}
	typ, ok := types[f.Type]
	if !ok {
		typ = reflect.TypeFor[string]()
	}
	element := ""
	switch f.Type {
	case crawl.FieldDate:
		element = ",timestamp(millisecond)"
	case crawl.FieldKeyword:
		element = ",dict"
	}
	column := reflect.StructField{Name: "Field" + strconv.Itoa(i)}
	if f.Many {
		column.Type, column.Tag = reflect.SliceOf(typ), reflect.StructTag(fmt.Sprintf(`parquet:"%s,list"`, f.Name))
		if element != "" {
			column.Tag += reflect.StructTag(fmt.Sprintf(` parquet-element:"%s"`, element))
		}
		return column
	}
	column.Type, column.Tag = reflect.PointerTo(typ), reflect.StructTag(fmt.Sprintf(`parquet:"%s,optional%s"`, f.Name, element))
	return column
}

// Row makes the row of a page.
func (r *RuledPages) Row(p *crawl.PageRow) any {
	page := reflect.ValueOf(PageOf(p))
	row := reflect.New(r.row).Elem()
	n := page.NumField()
	for i := range n {
		row.Field(i).Set(page.Field(i))
	}
	for i, f := range r.fields {
		cell := row.Field(n + i)
		for _, text := range p.Fields.Get(f.Name) {
			v, ok := f.value(text)
			switch {
			case !ok:
			case f.Many:
				cell.Set(reflect.Append(cell, reflect.ValueOf(v)))
			case cell.IsNil():
				cell.Set(reflect.New(cell.Type().Elem()))
				cell.Elem().Set(reflect.ValueOf(v))
			}
		}
	}
	return row.Interface()
}

// value reads a value in its canonical form.
func (f FieldColumn) value(text string) (v any, ok bool) {
	var err error
	switch f.Type {
	case crawl.FieldNumber:
		v, err = strconv.ParseFloat(text, 64)
	case crawl.FieldDate:
		v, err = time.Parse(time.RFC3339, text)
	case crawl.FieldBoolean:
		v, err = strconv.ParseBool(text)
	default:
		v = valid(text)
	}
	return v, err == nil
}

// Parquet makes a writer of the rows.
func (r *RuledPages) Parquet(w io.Writer) *Parquet[any] {
	return newParquet[any](w, parquet.SchemaOf(reflect.New(r.row).Interface()))
}

// Table makes a writer of the rows as CSV, and writes the names of the columns.
func (r *RuledPages) Table(w io.Writer) (*Table[any], error) { return newTable[any](w, r.row) }
