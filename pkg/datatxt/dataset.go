package datatxt

import (
	"net/url"
	"strconv"
	"strings"
)

// newDataset makes a dataset with the properties that all datasets of a file share.
func (f *File) newDataset(line int) Dataset {
	d := Dataset{Line: line, Allowed: true}
	if f.base != nil {
		d.Origin = origin(f.base)
	}
	return d
}

// addURL adds a location, parsed and as text, and sets the fields that depend on it.
func (f *File) addURL(d *Dataset, u *url.URL, text string) {
	d.URLs = append(d.URLs, text)
	if len(d.URLs) == 1 {
		d.Name, d.NameImplied = lastSegment(u), true
	}
	if !strings.EqualFold(u.Hostname(), f.base.Hostname()) {
		d.External = true
	}
	if origin(u) == d.Origin { // the rules of this file apply to its origin only
		if ok, _ := f.Allowed(u.EscapedPath()); !ok {
			d.Allowed = false
		}
	}
}

// describe fills a dataset from its keys, in order. Known keys are recognised in any case, and the
// first of equal ones counts. Other keys are stored unchanged in Extra.
func (f *File) describe(d *Dataset, fields []Field) {
	d.Type, d.TypeImplied = TypeFiles, true
	given := map[string]bool{}
	for _, field := range fields {
		name := lower(field.Name)
		if !isKnown(name) {
			d.Extra = append(d.Extra, field)
			continue
		}
		if given[name] {
			f.diagnose(field.Line, "%s is given twice; the first one is used", field.Name)
			continue
		}
		given[name] = true
		switch name {
		case "columns":
			f.setColumns(d, field)
		default:
			f.setText(d, name, field)
		}
	}
}

func isKnown(name string) bool {
	switch name {
	case "name", "title", "description", "license", "type", "source", "rows", "cols", "columns":
		return true
	}
	return false
}

// setText sets a field whose value should be text. A list or a map is stored with the other keys.
func (f *File) setText(d *Dataset, name string, field Field) {
	if field.Value.List != nil || field.Value.Map != nil {
		f.diagnose(field.Line, "%s is not text", name)
		d.Extra = append(d.Extra, field)
		return
	}
	text := strings.Trim(field.Value.Text, blanks+"\r\n")
	if text == "" {
		return
	}
	switch name {
	case "name":
		d.Name, d.NameImplied = text, false
	case "title":
		d.Title = text
	case "description":
		d.Description = text
	case "license":
		d.License = text
	case "type":
		d.Type, d.TypeImplied = text, false
	case "source":
		d.Source = text
	case "rows":
		d.Rows, d.RowsText = f.count(field, text), text
	case "cols":
		d.Cols, d.ColsText = f.count(field, text), text
	}
}

// count parses a non-negative integer, which has only digits.
func (f *File) count(field Field, text string) *int64 {
	// 63 bits: ParseUint accepts neither a sign nor, in base 10, underscores.
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		f.diagnose(field.Line, "%s is not a number", lower(field.Name))
		return nil
	}
	i := int64(n)
	return &i
}

// setColumns parses a list of {name, type, description}, or of names, or a mapping from names to
// types or to {type, description}.
func (f *File) setColumns(d *Dataset, field Field) {
	v := field.Value
	switch {
	case v.List != nil:
		for _, item := range v.List {
			col := Column{Name: item.Text}
			col.set(item.Map)
			f.addColumn(d, col, field.Line)
		}
	case v.Map != nil:
		for _, item := range v.Map {
			col := Column{Type: item.Value.Text}
			col.set(item.Value.Map)
			col.Name = item.Name
			f.addColumn(d, col, item.Line)
		}
	default:
		if v.Text != "" {
			f.diagnose(field.Line, "columns is neither a list nor a mapping")
			d.Extra = append(d.Extra, field)
		}
	}
}

func (f *File) addColumn(d *Dataset, col Column, line int) {
	if col.Name == "" {
		f.diagnose(line, "a column has no name")
		return
	}
	d.Columns = append(d.Columns, col)
}

func (c *Column) set(fields []Field) {
	for _, field := range fields {
		switch lower(field.Name) {
		case "name":
			c.Name = field.Value.Text
		case "type":
			c.Type = field.Value.Text
		case "description":
			c.Description = field.Value.Text
		}
	}
}

// seen finds entries that repeat an earlier one, with the same path and name (formats §5.4).
type seen struct {
	file *File
	keys map[string]int // line of the first
}

func newSeen(f *File) seen { return seen{f, map[string]int{}} }

// add reports whether a dataset is new.
func (s seen) add(d *Dataset) bool {
	key := strings.Join(d.URLs, "\n") + "\n\n" + d.Name
	if first, ok := s.keys[key]; ok {
		s.file.diagnose(d.Line, "repeats the dataset of line %d", first)
		return false
	}
	s.keys[key] = d.Line
	return true
}
