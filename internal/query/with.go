package query

import (
	"strings"
	"time"
)

// With returns the query narrowed by a filter, for a link beside an answer: With("site",
// "docs.example.org"), With("-lang", "de"), With("year", "2024"). A site, language, type, day or
// year takes the place of the one there was; parts of addresses and what is left out add up. The
// query itself comes back when the name is no filter's, the value makes no sense, or the result
// would be beyond the limits.
func (q Query) With(name, value string) Query {
	n := q
	if strings.EqualFold(name, "year") {
		first, ok := day(value)
		if !ok {
			return q
		}
		n.Filters.After = time.Date(first.Year(), 1, 1, 0, 0, 0, 0, time.UTC)
		n.Filters.Before = n.Filters.After.AddDate(1, 0, 0)
	} else {
		f, ok := named(name, value)
		if !ok {
			return q
		}
		switch f.name {
		case "before":
			n.Filters.Before = f.day
		case "after":
			n.Filters.After = f.day
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
// Without("-lang", "de"). An empty value takes all filters of that name away, and so does any value
// of "before", "after", and "year", which is both.
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
		return q
	case value == "":
		*n.Filters.list(plain, not) = nil
	default:
		f, ok := named(name, value)
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

// named is the filter of a name that may begin with a minus.
func named(name, value string) (filter, bool) {
	plain, not := strings.CutPrefix(strings.ToLower(name), "-")
	if !isFilter(plain) {
		return filter{}, false
	}
	// As Parse would read it, so that the spelling of the result is read again.
	value, _ = tidy(strings.Map(func(r rune) rune {
		if isQuote(r) {
			return ' '
		}
		return r
	}, value), MaxBytes)
	return newFilter(plain, strings.Join(strings.Fields(value), " "), not)
}
