package query

import (
	"strings"
	"time"
)

// With returns the query with another filter, for links beside an answer: With("site",
// "docs.example.org"), With("-lang", "de"), With("year", "2024"). A site, language, type, day, year
// or field replaces an earlier one. Parts of addresses, and filters with a minus, are added. With
// returns the query itself if there is no such filter, the value is invalid, or the result would be
// over the limits.
func (q Query) With(name, value string) Query { return q.with(name, value, true) }

// Also is With, but no filter is replaced: a page may have this value or an earlier one. Of several
// days the strictest counts.
func (q Query) Also(name, value string) Query { return q.with(name, value, false) }

func (q Query) with(name, value string, replace bool) Query {
	n := q
	if strings.EqualFold(name, "year") {
		first, ok := day(value)
		if !ok {
			return q
		}
		n.Filters.After = time.Date(first.Year(), 1, 1, 0, 0, 0, 0, time.UTC)
		n.Filters.Before = n.Filters.After.AddDate(1, 0, 0)
	} else {
		f, ok := q.schema.named(name, value)
		if !ok {
			return q
		}
		switch {
		case !replace:
			n.Filters.add(f)
		case f.name == "before":
			n.Filters.Before = f.day
		case f.name == "after":
			n.Filters.After = f.day
		case f.field.Name != "":
			if !f.not {
				n.Filters.dropFields(f.name, false, "")
			}
			n.Filters.add(f)
		default:
			if !f.not && f.name != "inurl" {
				*n.Filters.list(f.name, false) = nil
			}
			n.Filters.add(f)
		}
	}
	if n.terms() > MaxTerms || len(n.String()) > MaxBytes {
		return q
	}
	return n
}

// Without returns the query without a filter: Without("site", "docs.example.org"),
// Without("-lang", "de"). An empty value removes all filters of that name. So does any value of
// "before", "after" and "year"; "year" is both of the others.
func (q Query) Without(name, value string) Query {
	n := q
	plain, not := strings.CutPrefix(strings.ToLower(name), "-")
	switch {
	case plain == "year":
		n.Filters.Before, n.Filters.After = time.Time{}, time.Time{}
	case plain == "before":
		n.Filters.Before = time.Time{}
	case plain == "after":
		n.Filters.After = time.Time{}
	case !isFilter(plain):
		field, _, ok := q.schema.find(plain)
		f, valid := q.schema.named(name, value)
		if !ok || value != "" && !valid {
			return q
		}
		n.Filters.dropFields(field, not, f.field.Text)
	case value == "":
		*n.Filters.list(plain, not) = nil
	default:
		f, ok := q.schema.named(name, value)
		if !ok {
			return q
		}
		list := n.Filters.list(plain, not)
		var kept []string
		for _, v := range *list {
			if v != f.value {
				kept = append(kept, v)
			}
		}
		*list = kept
	}
	return n.settled()
}

// Typed returns a filter as somebody would type it: kind:"SQL command". The canonical spelling has
// no upper-case letters in the value, this one has. It is empty if there is no such filter, or if
// the value is invalid for it.
func (s Schema) Typed(name, value string) string {
	canonical := s.Parse("").With(name, value).String()
	key, folded, _ := strings.Cut(canonical, ":")
	quoted := strings.HasPrefix(folded, `"`)
	value, _ = tidy(value, MaxBytes)
	if shown := strings.Join(strings.Fields(value), " "); Fold(shown) == strings.Trim(folded, `"`) {
		if quoted {
			shown = `"` + shown + `"`
		}
		if typed := key + ":" + shown; s.Parse(typed).String() == canonical {
			return typed
		}
	}
	return canonical
}

// named makes a filter. Its name may begin with a minus.
func (s Schema) named(name, value string) (filter, bool) {
	plain, not := strings.CutPrefix(strings.ToLower(name), "-")
	if !s.has(plain) {
		return filter{}, false
	}
	// The value is read as Parse reads it, so that Parse can read the result.
	value, _ = tidy(strings.Map(func(r rune) rune {
		if isQuote(r) {
			return ' '
		}
		return r
	}, value), MaxBytes)
	return s.newFilter(plain, strings.Join(strings.Fields(value), " "), not)
}
