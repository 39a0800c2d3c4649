package feed

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/rulefile"
	"github.com/curtsy/curtsy/internal/siterules"
)

// rowFields are the names of all fields of a row, in their order.
var rowFields = jsonNames(reflect.TypeFor[crawl.PageRecord]())

func jsonNames(of reflect.Type) (names []string) {
	for f := range of.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous:
			names = append(names, jsonNames(f.Type)...)
		case name != "" && name != "-":
			names = append(names, name)
		}
	}
	return names
}

// CheckFields checks names for Options.Fields. A name is that of a field of `curtsy export pages`,
// or that of a field of the site rules of the crawl. Those two have no name in common. The error
// names the field that may have been meant.
func CheckFields(names []string, spec crawl.Spec) error {
	rules, err := siterules.Of(&spec)
	if err != nil {
		return err
	}
	known := slices.Clone(rowFields)
	for _, f := range rules.Schema() {
		known = append(known, f.Name)
	}
	for _, name := range names {
		switch {
		case slices.Contains(known, name):
		case name == "id" || name == "version":
			return fmt.Errorf("%s is sent with every page, and is not to be named", name)
		default:
			return fmt.Errorf("neither a page nor a site rule of the crawl has a field %q; %s", name, rulefile.Suggest(name, known))
		}
	}
	return nil
}

// selection is what is passed on of a row.
type selection struct {
	row []string // names in JSON; nil: all fields
	own []string // fields of the site rules, in their order; nil: all of them, if row has "fields"
}

// newSelection makes a selection of names that CheckFields accepts, all fields if there are none.
func newSelection(names []string) (s selection) {
	if names == nil {
		return s
	}
	s.row = []string{}
	for _, name := range names {
		if slices.Contains(rowFields, name) {
			s.row = append(s.row, name)
		} else {
			s.own = append(s.own, name)
		}
	}
	switch {
	case slices.Contains(s.row, "fields"):
		s.own = nil
	case s.own != nil:
		s.row = append(s.row, "fields")
	}
	return s
}

// change makes a change of a row, and leaves out the fields of the site rules that are not sent.
func (s selection) change(id string, version int64, row *crawl.PageRow) Change {
	c := Change{ID: id, Version: version, Row: *row, Fields: s.row}
	if s.own != nil {
		c.Row.Fields = slices.DeleteFunc(slices.Clone(row.Fields), func(f crawl.Field) bool { return !slices.Contains(s.own, f.Name) })
	}
	return c
}
