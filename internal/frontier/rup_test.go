package frontier

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/rup"
)

const (
	testDay  = 24 * time.Hour
	testMail = "curtsy@crawler.example"
)

func daily() *rup.Info {
	return &rup.Info{CGI: "http://a.example/cgi-bin/rup?x=1", Latency: []rup.Unit{rup.Week, rup.Day}, MaxQuerySpan: rup.Span{N: 7, Unit: rup.Day}}
}

// A site is asked once, we register, and from then on only what it tells of is asked for.
func TestRUPByMail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRUPWorld(t, updatesSpec(testMail), 200, daily())
		w.b.links(0, "", w.base)
		w.run(time.Hour)
		actions, pages := w.asked()
		if fmt.Sprint(actions) != "[info Register]" || len(pages) != 201 {
			t.Fatalf("asked %v and %d pages", actions, len(pages))
		}
		r := w.site()
		if !r.registered() || !strings.HasPrefix(r.Address, "curtsy+") || r.Agreed.String() != "day" {
			t.Fatalf("%+v", r)
		}
		for day := range 5 {
			w.change(day)
			w.change(200 + day) // new
			w.remove(100 + day)
			w.run(testDay)
			actions, pages := w.asked()
			slices.Sort(pages)
			if want := []canon.URL{w.url(day), w.url(100 + day), w.url(200 + day)}; !slices.Equal(pages, want) || fmt.Sprint(actions) != "[info]" {
				t.Errorf("day %d: asked %v and for %v, want %v", day, actions, pages, want)
			}
			for i, want := range map[int]crawl.Class{day: crawl.Stored, 100 + day: crawl.Failed, 200 + day: crawl.Stored} {
				if got := w.b.record(string(w.url(i))).Class; got != want {
					t.Errorf("day %d: %s is %v, want %v", day, w.url(i), got, want)
				}
			}
		}
		if r := w.site(); r.Seq.Last != 5 || r.Gaps != 0 || r.Report.Told != 15 || r.Report.Sooner != 15 || w.b.s.hosts["a.example"].Origins[0].Confirmed != 10 {
			t.Errorf("%+v, %+v", r.Report, r.Seq)
		}
	})
}
