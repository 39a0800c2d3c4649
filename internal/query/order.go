package query

import (
	"fmt"
	"strings"
)

// CheckOrder returns an error if answers cannot be sorted by a name that somebody typed. They can
// be sorted by date and by the fields of the schema, with a minus for the highest first; an empty
// name means that the best hit is first. The error wraps ErrSort and says what works.
func (s Schema) CheckOrder(by string) error {
	if name := strings.TrimPrefix(by, "-"); strings.EqualFold(name, "date") {
		return nil
	}
	if _, err := s.Sort(by); err != nil {
		return fmt.Errorf("%w; date works for every crawl, and -date is newest first", err)
	}
	return nil
}

// Filters reports whether a name before a colon is that of a filter, or title.
func (s Schema) Filters(name string) bool {
	name = strings.ToLower(name)
	return name == "title" || s.has(name)
}
