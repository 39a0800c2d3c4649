package frontier

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/mirror"
	"github.com/curtsy/curtsy/internal/frontier/restore"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/wellknown"
	"github.com/curtsy/curtsy/pkg/canon"
)

// nestedRequest offers a file at a nesting depth.
func nestedRequest(u string, depth int) crawl.AuxRequest {
	return crawl.AuxRequest{Kind: crawl.AuxNested, URL: canon.URL(u), Origin: canon.URL(u).Origin(), Hop: depth}
}

// nestedBench is a shard that has visited a.example and whose next visits are only for auxiliary
// requests.
func nestedBench(t *testing.T) *bench {
	b := newBench(t, testSpec("http://a.example/"))
	b.links(0, "", "http://a.example/")
	v := b.grant(1)[0]
	b.event(crawl.Event{Visit: v.ID, Robots: []crawl.Robots{robotsOK("http://a.example/")},
		Probes: []crawl.Probe{{Origin: v.URLs[0].URL.Origin(), State: crawl.ProbeRead, Status: 200, Fresh: 7 * 24 * time.Hour}}})
	b.finish(v, crawl.Stored, "")
	time.Sleep(2 * time.Second)
	return b
}

// askedNested grants visits until nothing is due, answers their auxiliary requests, and returns the
// requested URLs.
func (b *bench) askedNested(p crawl.Probe) (urls []string) {
	b.t.Helper()
	for range 20 {
		for _, v := range b.grant(1) {
			ev := crawl.Event{Visit: v.ID}
			for _, e := range v.Aux {
				urls = append(urls, string(e.URL))
				ev.Answers = append(ev.Answers, crawl.Answer{Aux: e, Probe: p})
			}
			b.event(ev)
			b.event(crawl.Event{Visit: v.ID, Outcome: &crawl.Outcome{Host: v.Host, Delay: v.Delay, Requests: len(v.Aux), Done: v.Aux}})
		}
		time.Sleep(2 * time.Second)
	}
	return urls
}

// Each nested file is requested once in its lifetime, however often it is offered, also with
// crashes; and when it is not offered any more, it is not requested any more.
func TestNestedDataTxtOncePerLifetime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := nestedBench(t)
		offer := func() {
			b.event(crawl.Event{Aux: []crawl.AuxRequest{nestedRequest("http://a.example/x/data.txt", 1), nestedRequest("http://a.example/x/data.txt", 2)}})
		}
		offer()
		b.commit()
		b.crash()
		b.open()
		time.Sleep(2 * time.Second)
		offer()
		if st := b.status(); st.Shards[0].DueSoon == 0 {
			t.Error("a crawl that has a nested file to ask for counts as done")
		}
		read := crawl.Probe{State: crawl.ProbeRead, Status: 200, Fresh: 24 * time.Hour}
		if got := fmt.Sprint(b.askedNested(read)); got != "[http://a.example/x/data.txt]" {
			t.Errorf("asked for %s, want it once", got)
		}
		offer()
		b.commit()
		b.crash()
		b.open()
		time.Sleep(23 * time.Hour)
		offer()
		if got := b.askedNested(read); got != nil {
			t.Errorf("asked for %s within its lifetime", got)
		}
		time.Sleep(2 * time.Hour)
		if got := b.askedNested(read); got != nil {
			t.Errorf("asked for %s, which nobody offers", got)
		}
		offer()
		if got := fmt.Sprint(b.askedNested(read)); got != "[http://a.example/x/data.txt]" {
			t.Errorf("asked for %s, want it again after its lifetime", got)
		}
	})
}

// A store that is lost makes nested files due with the file that leads to them; those of a mirror
// are dropped.
func TestNestedDataTxtLostAndMirrored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := nestedBench(t)
		offer := func() { b.event(crawl.Event{Aux: []crawl.AuxRequest{nestedRequest("http://a.example/x/data.txt", 1)}}) }
		offer()
		read := crawl.Probe{State: crawl.ProbeRead, Status: 200, Fresh: 24 * time.Hour}
		if got := b.askedNested(read); len(got) != 1 {
			t.Fatal(got)
		}
		b.event(crawl.Event{StoreLost: "5f"})
		offer()
		if n := len(b.s.Ledger.Hosts["a.example"].Aux); n != 1 {
			t.Errorf("%d auxiliary requests after the store was lost, want the file requested again", n)
		}
		h := b.s.Ledger.Hosts["a.example"]
		h.Origins[0].Mirror = &mirror.Record{State: mirror.OfMain, Main: canon.URL("http://b.example/").Origin()}
		if err := b.s.Mirrors.MirrorChanged(h, 0, time.Now()); err != nil {
			t.Fatal(err)
		}
		offer()
		if n := len(h.Aux); n != 0 {
			t.Errorf("%d auxiliary requests on a mirror", n)
		}
	})
}

// Times are adapted to the clock of another machine when the shard moves.
func TestNestedDataTxtShift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := nestedBench(t)
		b.event(crawl.Event{Aux: []crawl.AuxRequest{nestedRequest("http://a.example/x/data.txt", 1)}})
		due := func() (at time.Time) {
			_ = b.s.DataFiles.EachNested(b.s.Ledger.Hosts["a.example"], canon.URL("http://a.example/").Origin(), func(_ []byte, r *wellknown.Nested) error { at = r.Due; return nil })
			return at
		}
		was := due()
		if err := restore.ShiftTimes(b.s.Ledger.Tx, -5*time.Hour); err != nil {
			t.Fatal(err)
		}
		if got := due(); !got.Equal(was.Add(-5 * time.Hour)) {
			t.Errorf("due %v, want five hours before %v", got, was)
		}
		if err := b.s.Ledger.Tx.DeleteBucket(store.BucketNested); err != nil {
			t.Fatal(err)
		}
		if err := restore.ShiftTimes(b.s.Ledger.Tx, time.Hour); err != nil {
			t.Errorf("a file from before there were any: %v", err)
		}
		if _, err := b.s.Ledger.Tx.CreateBucket(store.BucketNested); err != nil {
			t.Fatal(err)
		}
	})
}

// A nested file that is forgotten is removed from the catalogue; allowed again, it is due with the
// file that leads to it. The outcome of each is reported.
func TestNestedDataTxtForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := nestedBench(t)
		offer := func() {
			b.event(crawl.Event{Aux: []crawl.AuxRequest{nestedRequest("http://a.example/x/data.txt", 1), nestedRequest("http://a.example/y/data.txt", 1)}})
		}
		offer()
		read := crawl.Probe{State: crawl.ProbeRead, Status: 200, Fresh: 24 * time.Hour}
		if got := b.askedNested(read); len(got) != 2 {
			t.Fatal(got)
		}
		reported := func() string {
			return fmt.Sprint(b.s.DataFiles.NestedInfos(b.s.Ledger.Hosts["a.example"], canon.URL("http://a.example/").Origin()))
		}
		if got, want := reported(), "[{http://a.example/x/data.txt read } {http://a.example/y/data.txt read }]"; got != want {
			t.Errorf("explained %s, want %s", got, want)
		}
		pass := func(forgotten ...string) {
			b.respec(func(s *crawl.Spec) { s.Forgotten = forgotten })
			for b.refillSome() {
			}
		}
		pass("http://a.example/x/")
		if got, want := reported(), "[{http://a.example/x/data.txt refused forgotten} {http://a.example/y/data.txt read }]"; got != want {
			t.Errorf("explained %s, want %s", got, want)
		}
		time.Sleep(25 * time.Hour)
		offer()
		if got := fmt.Sprint(b.askedNested(read)); got != "[http://a.example/y/data.txt]" {
			t.Errorf("asked for %s after the lifetime of both, want what is not forgotten", got)
		}
		b.event(crawl.Event{Aux: []crawl.AuxRequest{nestedRequest("http://a.example/y/z/data.txt", 2)}})
		pass("http://a.example/x/", "http://a.example/y/")
		if n := len(b.s.Ledger.Hosts["a.example"].Aux); n != 0 {
			t.Errorf("%d auxiliary requests for forgotten files", n)
		}
		pass()
		if o := b.s.Ledger.Hosts["a.example"].Origins[0]; !o.DataDue.IsZero() {
			t.Errorf("the file that leads to it is due %v, want now", o.DataDue)
		}
		offer()
		if got := fmt.Sprint(b.askedNested(read)); got != "[http://a.example/x/data.txt http://a.example/y/data.txt]" {
			t.Errorf("asked for %s, want what was let in again", got)
		}
	})
}
