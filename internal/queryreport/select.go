package queryreport

import (
	"cmp"
	"slices"
)

// Which are the queries that somebody wants to see.
type Which int

// The selections of Select.
const (
	Frequent  Which = iota // all, the most frequent first
	NoResults              // that found nothing, most often first
	NotOpened              // whose hits were shown but none was opened, most often first
)

// Select returns the selected queries in their order.
func Select(all []Query, which Which) (some []Query) {
	rank := func(q Query) int64 {
		switch {
		case which == NoResults:
			return q.None
		case which == NotOpened && q.Opens > 0:
			return 0
		case which == NotOpened:
			return q.Listed
		}
		return q.Asked
	}
	for _, q := range all {
		if rank(q) > 0 {
			some = append(some, q)
		}
	}
	slices.SortFunc(some, func(a, b Query) int { return cmp.Or(cmp.Compare(rank(b), rank(a)), cmp.Compare(a.Query, b.Query)) })
	return some
}
