package wellknown

import (
	"fmt"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/shardtest"
	"github.com/curtsy/curtsy/pkg/canon"
)

// A nested data.txt is requested once in its lifetime. While it is forgotten it is not requested,
// whoever names it, and an answer to an earlier request is not kept. When it is permitted again, it
// is due with the file that leads to it.
func TestNestedDataTxtForgotten(t *testing.T) {
	var data *DataFiles
	r := newRoom(t, func(s *shardtest.Shard) []hosts.Feature {
		data = NewDataFiles(s.Features, s.Ledger)
		return []hosts.Feature{data.DataFeature()}
	})
	h, o := r.visited("a.example")
	now := time.Now()
	offer := func() (asked []crawl.AuxRequest) {
		t.Helper()
		for _, u := range []canon.URL{"http://a.example/x/data.txt", "http://a.example/y/data.txt"} {
			if err := r.Features.AddAux(crawl.AuxRequest{Kind: crawl.AuxNested, URL: u, Origin: o.Origin, Hop: 1}, now); err != nil {
				t.Fatal(err)
			}
		}
		return append(asked, h.Aux...)
	}
	forget := func(prefixes ...string) {
		t.Helper()
		r.respec(func(s *crawl.Spec) { s.Forgotten = prefixes })
		if err := data.JudgeNested(h, o, now); err != nil {
			t.Fatal(err)
		}
	}
	known := func(want string) {
		t.Helper()
		if got := fmt.Sprint(data.NestedInfos(h, o.Origin)); got != want {
			t.Errorf("%s is known, want %s", got, want)
		}
	}
	read := crawl.Probe{State: crawl.ProbeRead, Status: 200, Fresh: 24 * time.Hour}

	both := offer()
	if len(both) != 2 || len(offer()) != 2 {
		t.Fatalf("%+v, want two requests, also if the files are offered twice", h.Aux)
	}
	r.answer(h, crawl.Answer{Aux: both[1], Probe: read}, now)
	forget("http://a.example/x/")
	if len(h.Aux) != 0 {
		t.Errorf("a forgotten file is still to be requested: %+v", h.Aux)
	}
	r.answer(h, crawl.Answer{Aux: both[0], Probe: read}, now) // its request was already sent
	known("[{http://a.example/x/data.txt refused forgotten} {http://a.example/y/data.txt read }]")
	now = now.Add(25 * time.Hour)
	if got := offer(); len(got) != 1 || got[0].URL != "http://a.example/y/data.txt" {
		t.Errorf("%+v is requested after the lifetime of both, want what is not forgotten", got)
	}

	o.DataDue = now.Add(time.Hour)
	forget()
	known("[{http://a.example/y/data.txt read }]")
	if !o.DataDue.IsZero() {
		t.Error("the file that leads to what is permitted again is not due")
	}
	if got := offer(); len(got) != 2 {
		t.Errorf("%+v is requested, want what is permitted again as well", got)
	}
}

// Only files of known origins are requested, at the depths that there are, and MaxNested of an
// origin. Those that are no longer offered make way for others when their lifetime is over.
func TestNestedDataTxtLimits(t *testing.T) {
	r := newRoom(t, func(s *shardtest.Shard) []hosts.Feature {
		return []hosts.Feature{NewDataFiles(s.Features, s.Ledger).DataFeature()}
	})
	h, o := r.visited("a.example")
	now := time.Now()
	offer := func(e crawl.AuxRequest) {
		t.Helper()
		e.Kind = crawl.AuxNested
		if err := r.Features.AddAux(e, now); err != nil {
			t.Fatal(err)
		}
	}
	for _, depth := range []int{0, 4} {
		offer(crawl.AuxRequest{URL: "http://a.example/x/data.txt", Origin: o.Origin, Hop: depth})
	}
	offer(crawl.AuxRequest{URL: "http://a.example/x/data.txt", Origin: canon.URL("http://b.example/").Origin(), Hop: 1})
	offer(crawl.AuxRequest{URL: "http://a.example:8080/x/data.txt", Origin: canon.URL("http://a.example:8080/").Origin(), Hop: 1})
	if len(h.Aux) != 0 {
		t.Errorf("%+v is requested", h.Aux)
	}
	// asked offers some of many files, and returns how many of them were requested.
	asked := func(from, to int) (n int) {
		for i := from; i < to; i++ {
			offer(crawl.AuxRequest{URL: canon.URL(fmt.Sprintf("http://a.example/%d/data.txt", i)), Origin: o.Origin, Hop: 3})
		}
		for n = 0; len(h.Aux) > 0; n++ {
			r.answer(h, crawl.Answer{Aux: h.Aux[0], Probe: crawl.Probe{State: crawl.ProbeAbsent, Status: 404, Fresh: time.Hour}}, now)
		}
		return n
	}
	if got := asked(0, MaxNested+7); got != MaxNested {
		t.Errorf("%d were requested, want %d", got, MaxNested)
	}
	now = now.Add(2 * time.Hour)
	if got := asked(MaxNested, MaxNested+7); got != 7 {
		t.Errorf("%d were requested, want the seven others", got)
	}
}
