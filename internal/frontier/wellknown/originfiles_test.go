package wellknown

import (
	"slices"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/judge"
	"github.com/curtsy/curtsy/internal/frontier/mirror"
	"github.com/curtsy/curtsy/internal/frontier/shardtest"
	"github.com/curtsy/curtsy/pkg/canon"
)

// room is a shard with files of origins, and nothing above them.
type room struct {
	*testing.T
	*shardtest.Shard
}

func newRoom(t *testing.T, files func(s *shardtest.Shard) []hosts.Feature) *room {
	return &room{t, shardtest.Open(t, shardtest.Spec(), func(s *shardtest.Shard) shardtest.Tested {
		return shardtest.Tested{Features: files(s)}
	})}
}

// respec changes the spec.
func (r *room) respec(change func(s *crawl.Spec)) {
	r.Helper()
	spec := r.Ledger.Judge.Spec
	change(&spec)
	j, err := judge.New(spec)
	if err != nil {
		r.Fatal(err)
	}
	r.Ledger.SetJudge(j)
	if err := r.Features.Respec(); err != nil {
		r.Fatal(err)
	}
}

// visited is a host whose robots.txt was read and which has URLs.
func (r *room) visited(name canon.Host) (*hosts.Host, *hosts.Origin) {
	r.Helper()
	r.Link(0, "http://"+string(name)+"/")
	h, i := r.Host(name)
	return h, &h.Origins[i]
}

// asked lets the features ask for what they miss, and returns the requests for h.
func (r *room) asked(h *hosts.Host, now time.Time) []crawl.AuxRequest {
	r.Helper()
	if err := r.Features.AskOrigin(h, 0, now); err != nil {
		r.Fatal(err)
	}
	return slices.Clone(h.Aux)
}

// answer applies the answer to a request of h.
func (r *room) answer(h *hosts.Host, a crawl.Answer, at time.Time) {
	r.Helper()
	if err := r.Features.ApplyAnswer(&a, at, at); err != nil {
		r.Fatal(err)
	}
	if err := r.Features.DropAux(h, a.Aux, at); err != nil {
		r.Fatal(err)
	}
}

// answers has for each kind of origin file what an answer contains. A new kind has a line here.
var answers = map[crawl.AuxKind]crawl.Answer{
	crawl.AuxSecurityTxt: {SecurityTxt: &crawl.SecurityTxt{State: crawl.FileFound, Contacts: []string{"tel:1"}}},
	crawl.AuxLLMSTxt:     {LLMSTxt: &crawl.LLMSTxt{State: crawl.FileFound, Title: "t", Fresh: 48 * time.Hour}},
}

// A file of each kind is requested once while the spec wants it. Its contents are kept, also when
// the shard is opened again, and it is requested again when they are too old. Of mirrors, and of
// what is forgotten, nothing is requested or kept.
func TestOriginFiles(t *testing.T) {
	for _, row := range originFileKinds() {
		t.Run(row.kind.String(), func(t *testing.T) {
			r := newRoom(t, func(s *shardtest.Shard) []hosts.Feature { return OriginFiles(s.Features, s.Ledger) })
			set := func(on bool) {
				r.respec(func(s *crawl.Spec) { s.SecurityTxt, s.LLMSTxt = on, on })
			}
			h, o := r.visited("a.example")
			now := time.Now()
			asked := func() (found []crawl.AuxRequest) {
				for _, e := range r.asked(h, now) {
					if e.Kind == row.kind {
						found = append(found, e)
					}
				}
				return found
			}
			if len(asked()) != 0 {
				t.Fatal("requested, although the spec does not want it")
			}
			set(true)
			if first, second := len(asked()), len(asked()); first != 1 || second != 1 {
				t.Fatalf("%+v, want one request, also if it is wanted twice", h.Aux)
			}
			if set(false); len(asked()) != 0 {
				t.Error("requested, although the spec does not want it any more")
			}
			set(true)
			e := asked()[0]
			if e.URL != canon.URL("http://a.example"+row.path) || e.Origin != o.Origin {
				t.Errorf("%+v is requested", e)
			}

			a := answers[row.kind]
			a.Aux = e
			r.answer(h, crawl.Answer{Aux: e}, now)
			if row.known(&o.OriginFiles) {
				t.Error("an answer to another request is kept")
			}
			r.answer(h, a, now)
			r.Reopen()
			r.respec(func(*crawl.Spec) {}) // the first one for this file
			h, o = r.visited("a.example")
			due := *row.due(&o.OriginFilesDue)
			if !row.known(&o.OriginFiles) || due.Sub(now) < AskedSoonest || due.Sub(now) > AskedAgain {
				t.Fatalf("kept: %v, for %v; want it to be kept, for %v to %v", row.known(&o.OriginFiles), due.Sub(now), AskedSoonest, AskedAgain)
			}
			now = due.Add(-time.Second)
			if len(asked()) != 0 {
				t.Errorf("requested again too soon: %+v", h.Aux)
			}
			if now = due; len(asked()) != 1 {
				t.Error("not requested again")
			}

			h.Origins[0].Mirror = &mirror.Record{State: mirror.OfMain}
			if err := r.Features.MirrorChanged(h, 0, now); err != nil || len(h.Aux) != 0 || len(asked()) != 0 {
				t.Errorf("of a mirror: %+v, %v", h.Aux, err)
			}
			h.Origins[0].Mirror = nil
			asked()
			r.respec(func(s *crawl.Spec) { s.Forgotten = []string{"a.example"} })
			if len(asked()) != 0 || row.known(&o.OriginFiles) {
				t.Errorf("of what is forgotten: %+v, kept: %v", h.Aux, row.known(&o.OriginFiles))
			}
			if r.answer(h, a, now); row.known(&o.OriginFiles) {
				t.Error("an answer about what is forgotten is kept")
			}
		})
	}
}
