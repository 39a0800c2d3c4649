package frontier

import (
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/mirror"
	"github.com/curtsy/curtsy/internal/frontier/wellknown"
)

// When the spec requires it, security.txt is requested from an origin, in a visit of its own and
// once in 30 days, whatever the answer is.
func TestSecurityTxt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/")
		b.finish(b.grant(1)[0], crawl.Stored, "")
		asked := func() []crawl.AuxRequest { return b.s.ledger.Hosts["a.example"].Aux }
		set := func(on bool) {
			b.respec(func(s *crawl.Spec) { s.SecurityTxt = on })
			b.passes()
		}
		if len(asked()) != 0 {
			t.Fatal("asked without --security-txt")
		}
		set(true)
		if len(asked()) != 1 {
			t.Fatalf("%+v", asked())
		}
		if set(false); len(asked()) != 0 {
			t.Error("asked although it is not wanted any more")
		}
		set(true)
		b.learned("http://a.example", "", crawl.VisitID{}) // requested twice
		time.Sleep(time.Minute)
		v := b.grant(1)
		if len(v) != 1 || len(v[0].URLs) != 0 || len(v[0].Aux) != 1 || v[0].Aux[0].URL != "http://a.example/.well-known/security.txt" {
			t.Fatalf("%+v", v)
		}
		want := crawl.SecurityTxt{State: crawl.FileFound, Contacts: []string{"tel:1"}, Expires: time.UnixMilli(1e12).UTC()}
		b.event(crawl.Event{Visit: v[0].ID, Answers: []crawl.Answer{{Aux: v[0].Aux[0], SecurityTxt: &want}}})
		b.event(crawl.Event{Visit: v[0].ID, Outcome: &crawl.Outcome{Host: v[0].Host, Requests: 1, Done: v[0].Aux}})
		b.commit()
		b.crash()
		b.open()
		b.passes()
		shown := func() (got *crawl.SecurityTxt) {
			if err := b.hosts(func(h crawl.HostInfo) error { got = h.Robot.SecurityTxt; return nil }); err != nil {
				t.Fatal(err)
			}
			return got
		}
		if got := shown(); got == nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("%+v", got)
		}
		time.Sleep(wellknown.AskedAgain - time.Hour)
		b.learned("http://a.example", "", crawl.VisitID{})
		if len(asked()) != 0 {
			t.Errorf("asked again: %+v", asked())
		}
		time.Sleep(time.Hour)
		b.learned("http://a.example", "", crawl.VisitID{})
		if len(asked()) != 1 {
			t.Error("not asked again")
		}

		// For a mirror, and for what is forgotten, nothing is requested or kept.
		h := b.s.ledger.Hosts["a.example"]
		h.Origins[0].Mirror = &mirror.Record{State: mirror.OfMain}
		if err := b.s.Features.MirrorChanged(h, 0, time.Now()); err != nil || len(asked()) != 0 {
			t.Errorf("a mirror: %+v, %v", asked(), err)
		}
		if err := b.s.Features.AskOrigin(h, 0, time.Now()); err != nil || len(asked()) != 0 {
			t.Errorf("a mirror: %+v, %v", asked(), err)
		}
		h.Origins[0].Mirror = nil
		b.learned("http://a.example", "", crawl.VisitID{})
		b.respec(func(s *crawl.Spec) { s.Forgotten = []string{"a.example"} })
		if len(asked()) != 0 || shown() != nil {
			t.Errorf("forgotten: %+v, %+v", asked(), shown())
		}
		b.event(crawl.Event{Answers: []crawl.Answer{{Aux: v[0].Aux[0], SecurityTxt: &want}}})
		if shown() != nil {
			t.Errorf("forgotten: %+v", shown())
		}
	})
}
