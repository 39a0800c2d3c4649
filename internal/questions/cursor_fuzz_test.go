package questions

import (
	"slices"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

// FuzzCursor: pages that follow each other by their cursors are the whole list, in order, whatever
// the rows contain; and no cursor from outside panics.
func FuzzCursor(f *testing.F) {
	f.Add("a\nb\xffc", 1.5, "", true, 2)
	f.Add("", 0.0, "eyJzIjoibiJ9", false, 1)
	sorts := Sorts[crawl.HostRow]{{Word: "n", Key: func(r *crawl.HostRow) Key { return Key{N: r.DelayS, Text: r.Reason, ID: r.Host} }}}
	f.Fuzz(func(t *testing.T, text string, n float64, outside string, descending bool, limit int) {
		if _, err := NewTop(crawl.Paging{After: outside, Descending: descending}, sorts); err != nil && outside == "" {
			t.Fatal(err)
		}
		if n != n || n > 1e300 || n < -1e300 {
			return // no number of a row
		}
		limit = max(1, min(limit, 5))
		var rows []crawl.HostRow
		for i := range 12 {
			r := crawl.HostRow{Host: string(rune('a' + i)), DelayS: n * float64(i/6), Reason: text[:len(text)*(i%3)/2]}
			rows = append(rows, r)
		}
		var got []string
		p := crawl.Paging{Descending: descending, Limit: limit}
		for range 13 {
			m, err := NewMerger(p, sorts)
			if err != nil {
				t.Fatal(err)
			}
			top, err := NewTop(p, sorts)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rows {
				top.Add(r)
			}
			if err := top.Send(0, Sum{}, func(part Part[crawl.HostRow]) error { m.Add(part); return nil }); err != nil {
				t.Fatal(err)
			}
			page := m.Page()
			for _, r := range page.Rows {
				got = append(got, r.Host)
			}
			if p.After = page.Next; p.After == "" {
				break
			}
		}
		if len(got) != len(rows) || len(slices.Compact(slices.Sorted(slices.Values(got)))) != len(rows) {
			t.Errorf("of %d rows the pages have %q", len(rows), got)
		}
	})
}
