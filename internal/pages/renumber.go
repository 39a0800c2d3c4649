package pages

import (
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// renumber gives a page of its own a new number in the change feed, because what is shown with it
// has changed.
func (ch *change) renumber(u canon.URL) error {
	w := &write{key: appendKey(nil, u), page: Page{Page: crawl.Page{URL: u}}, numbered: true}
	if err := ch.read(w); err != nil || !w.old.listed() {
		return err
	}
	w.page = w.old
	ch.c.LastSeq++
	w.page.Seq = ch.c.LastSeq
	return ch.apply([]*write{w})
}

// Renumber gives all pages of their own for which match returns true a new number in the change
// feed, because what is shown of them has changed. It runs in several transactions: after an error
// or a crash some of them have their number.
func (s *Store) Renumber(match func(*Page) bool) error {
	var due []canon.URL
	flush := func() error {
		all := due
		due = due[:0]
		if len(all) == 0 {
			return nil
		}
		return s.update(func() string { return "renumber pages" }, func(ch *change) error {
			for _, u := range all {
				if err := ch.renumber(u); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := s.Each(func(p Page) error {
		if !match(&p) {
			return nil
		}
		if due = append(due, p.URL); len(due) < chunkPages {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}
