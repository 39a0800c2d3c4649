package indexer

import (
	"slices"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/canon"
)

// A nested data.txt is stored next to that of its origin, counts while that one leads to it, and is
// forgotten by its own URL.
func TestNestedDataTxt(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		x, _ := w.start(Options{Dir: t.TempDir(), Embedded: true})
		data := func(asked string, visit uint64, body string) crawl.Page {
			p := crawl.Page{Kind: crawl.KindData, URL: canon.URL(asked), Origin: canon.URL(asked).Origin(), Asked: canon.URL(asked), Visit: crawl.VisitID{Epoch: 1, N: visit},
				FetchedAt: time.Now(), Fresh: time.Hour, Body: []byte(body)}
			if asked == "https://a.example/data.txt" {
				p.Asked = ""
			}
			if body == "" {
				p.Deleted = crawl.ReasonHTTP4xx
			}
			return p
		}
		const own, iris, cars = "https://a.example/data.txt", "https://a.example/iris/data.txt", "https://a.example/cars/data.txt"
		shows := func(when string, want ...string) {
			t.Helper()
			w.settled(x)
			slices.Sort(want)
			eventually(t, when, func() bool { return slices.Equal(w.titles(), want) })
		}
		// In any order.
		w.hand(data(iris, 2, "file: x.csv\ntitle: Iris below\n"), data(cars, 3, "- path: y.csv\n  title: Cars below\n"))
		shows("nested files alone say nothing")
		w.hand(data(own, 1, "- path: iris\n  title: Iris\n- path: cars/\n  title: Cars\n"))
		shows("all three", own+": Iris", own+": Cars", iris+": Iris below", cars+": Cars below")
		w.hand(data(iris, 1, "file: x.csv\ntitle: late\n"), data(cars, 4, "- path: &a y.csv\n- path: *a\n"))
		shows("an older visit's and one that must be refused", own+": Iris", own+": Cars", iris+": Iris below", cars+": Cars below")
		w.hand(data(cars, 5, ""))
		shows("one is gone", own+": Iris", own+": Cars", iris+": Iris below")
		w.hand(data(own, 6, "- path: cars/\n  title: Cars\n"))
		shows("nobody leads to the other", own+": Cars")
		w.hand(data(own, 7, "- path: iris\n  title: Iris\n- path: cars/\n  title: Cars\n"))
		shows("it is led to again", own+": Iris", own+": Cars", iris+": Iris below")
		w.spec.Forgotten = []string{"https://a.example/iris/"}
		if err := x.SetSpec(w.spec); err != nil {
			t.Fatal(err)
		}
		shows("forgotten", own+": Iris", own+": Cars")
		w.hand(data(iris, 8, "file: x.csv\ntitle: Iris below\n"))
		shows("and not taken in", own+": Iris", own+": Cars")
		w.spec.Forgotten = nil
		if err := x.SetSpec(w.spec); err != nil {
			t.Fatal(err)
		}
		w.hand(data(iris, 9, "file: x.csv\ntitle: Iris below\n"))
		shows("allowed again", own+": Iris", own+": Cars", iris+": Iris below")
		w.hand(aliasOf(own, 10, "https://m.example/data.txt"))
		shows("a mirror's count no more")
	})
}
