package frontier

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Formats §8.22: while the spec wants it an origin is asked for its llms.txt, once in the
// lifetime that it gave; a crash between takes nothing back.
func TestUsage_8_22_Once(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/")
		b.finish(b.grant(1)[0], crawl.Stored, "")
		asked := func() (n int) {
			for _, e := range b.s.Ledger.Hosts["a.example"].Aux {
				if e.Kind == crawl.AuxLLMSTxt && e.URL == "http://a.example/llms.txt" {
					n++
				}
			}
			return n
		}
		if asked() != 0 {
			t.Fatal("asked without --llms-txt")
		}
		b.respec(func(s *crawl.Spec) { s.LLMSTxt = true })
		b.passes()
		time.Sleep(time.Minute)
		for _, c := range []struct{ fresh, again time.Duration }{
			{0, 24 * time.Hour}, {time.Minute, 24 * time.Hour}, {72 * time.Hour, 72 * time.Hour}, {1000 * time.Hour, 720 * time.Hour},
		} {
			b.learned("http://a.example", "", crawl.VisitID{}) // requested twice
			if asked() != 1 {
				t.Fatalf("before one with a lifetime of %v: requested %d times", c.fresh, asked())
			}
			v := b.grant(1)
			if len(v) != 1 || len(v[0].Aux) != 1 {
				t.Fatalf("%+v", v)
			}
			m := crawl.LLMSTxt{State: crawl.FileFound, Title: "A", Links: 3, Within: 2, Fresh: c.fresh}
			b.event(crawl.Event{Visit: v[0].ID, Answers: []crawl.Answer{{Aux: v[0].Aux[0], LLMSTxt: &m}}})
			b.event(crawl.Event{Visit: v[0].ID, Outcome: &crawl.Outcome{Host: v[0].Host, Requests: 1, Delay: v[0].Delay, Done: v[0].Aux}})
			b.commit()
			b.crash()
			b.open()
			b.passes()
			var got *crawl.LLMSTxt
			if err := b.hosts(func(h crawl.HostInfo) error { got = h.Robot.LLMSTxt; return nil }); err != nil || got == nil || got.Links != 3 || got.Within != 2 || got.Title != "A" {
				t.Errorf("%+v, %v", got, err)
			}
			time.Sleep(c.again - time.Hour)
			b.learned("http://a.example", "", crawl.VisitID{})
			if asked() != 0 {
				t.Errorf("one with a lifetime of %v: requested again", c.fresh)
			}
			time.Sleep(time.Hour)
		}
	})
}
