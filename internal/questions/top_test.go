package questions

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

// TestPagesAreTheListInOrder offers random rows in shards, follows the cursors to the end, and
// compares what came with the list sorted whole; also with every row offered twice, and with
// offsets.
func TestPagesAreTheListInOrder(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	sorts := Sorts[Key]{{"n", func(k *Key) Key { return *k }}}
	for round := range 200 {
		p := crawl.Paging{Sort: "n", Descending: round%2 == 1, Limit: 1 + rnd.IntN(40)}
		const shards = 3
		var all []Item[Key]
		for i := range rnd.IntN(300) {
			k := Key{N: float64(rnd.IntN(9)), Text: string(rune('a' + rnd.IntN(3))), ID: fmt.Sprint("host", i)}
			all = append(all, Item[Key]{k, k})
		}
		want := slices.Clone(all)
		slices.SortFunc(want, func(a, b Item[Key]) int { return a.Key.compare(&b.Key, p.Descending) })

		page := func(p crawl.Paging) crawl.Paged[Key] {
			m, err := NewMerger(p, sorts)
			if err != nil {
				t.Fatal(err)
			}
			for range 1 + round%3/2 { // sometimes twice, as when shards move
				for k := range shards {
					top, err := NewTop(p, sorts)
					if err != nil {
						t.Fatal(err)
					}
					sum := Sum{Epoch: 1}
					for i, item := range all {
						if i%shards == k {
							sum.Total++
							top.Add(item.Row)
						}
					}
					if top.Send(k, sum, func(p Part[Key]) error { m.Add(p); return nil }) != nil {
						t.Fatal("send failed")
					}
				}
			}
			return m.Page()
		}
		var got []Key
		for q := p; ; {
			part := page(q)
			if int(part.Total) != len(all) || len(part.Rows) > p.Limit {
				t.Fatalf("%d rows of %d, want at most %d of %d", len(part.Rows), part.Total, p.Limit, len(all))
			}
			got = append(got, part.Rows...)
			if q.After = part.Next; q.After == "" {
				break
			}
		}
		if len(got) != len(want) {
			t.Fatalf("%d rows in all, want %d", len(got), len(want))
		}
		for i := range want {
			if got[i] != want[i].Row {
				t.Fatalf("row %d is %v, want %v", i, got[i], want[i].Row)
			}
		}
		p.Offset = rnd.IntN(300)
		rest := want[min(p.Offset, len(want)):]
		rows := page(p).Rows
		if len(rows) != min(p.Limit, len(rest)) || len(rows) > 0 && rows[0] != rest[0].Row {
			t.Fatalf("offset %d: %v", p.Offset, rows)
		}
	}
}

func TestLimitsOfAPaging(t *testing.T) {
	byID := func(row *string) Key { return Key{ID: *row} }
	sorts := Sorts[string]{{"a", byID}, {"b", byID}}
	for _, tt := range []struct {
		p  crawl.Paging
		ok bool
	}{
		{crawl.Paging{}, true},
		{crawl.Paging{Sort: "b", Limit: crawl.MaxLimit, Offset: crawl.MaxOffset}, true},
		{crawl.Paging{Sort: "c"}, false},
		{crawl.Paging{Limit: crawl.MaxLimit + 1}, false},
		{crawl.Paging{Limit: -1}, false},
		{crawl.Paging{Offset: crawl.MaxOffset + 1}, false},
		{crawl.Paging{Offset: -1}, false},
		{crawl.Paging{After: "nonsense"}, false},
		{crawl.Paging{After: strings.Repeat("A", 1<<20)}, false},
	} {
		if _, err := NewTop(tt.p, sorts); (err == nil) != tt.ok {
			t.Errorf("%+v: %v", tt.p, err)
		}
	}
	// A cursor of one order is refused in another.
	top, _ := NewTop(crawl.Paging{Limit: 1}, sorts)
	top.Add("x")
	top.Add("y")
	_, next := top.page()
	if next == "" {
		t.Fatal("no cursor although a row follows")
	}
	if _, err := NewTop(crawl.Paging{Sort: "b", After: next}, sorts); err == nil {
		t.Error("a cursor of another order was taken")
	}
	if _, err := NewTop(crawl.Paging{Descending: true, After: next}, sorts); err == nil {
		t.Error("a cursor of the other direction was taken")
	}
}
