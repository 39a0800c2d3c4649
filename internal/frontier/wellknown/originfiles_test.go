package wellknown

import (
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/budget"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/judge"
	"github.com/curtsy/curtsy/internal/frontier/mirror"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/canon"
)

// room is the books of a shard, in a file of the test, with some of its features.
type room struct {
	*testing.T
	path     string
	files    func(*hosts.Features, *hosts.Ledger) []hosts.Feature
	spec     crawl.Spec
	ledger   *hosts.Ledger
	features *hosts.Features
}

func newRoom(t *testing.T, files func(*hosts.Features, *hosts.Ledger) []hosts.Feature) *room {
	r := &room{T: t, path: filepath.Join(t.TempDir(), "shard"), files: files, spec: crawl.Spec{Name: "t", Shards: 1, Scope: "any", MaxDepth: -1}}
	r.open()
	t.Cleanup(r.crash)
	return r
}

// open opens the file, and begins with the features as a shard does.
func (r *room) open() {
	r.Helper()
	var l *hosts.Ledger
	l = hosts.New(hosts.Options{Path: r.path, Log: slog.New(slog.DiscardHandler), Hooks: hosts.Hooks{
		Schedule: func(time.Time) { l.TakeUnscheduled() },
		Uses:     func(*hosts.Host) bool { return false },
		Loaded:   func(*hosts.Host, time.Time) {},
	}})
	l.Attach(nil, &budget.Budget{}, store.NewMetrics(nil))
	l.Own(1, func() bool { return true })
	r.ledger, r.features = l, hosts.NewFeatures(l)
	r.features.Register(r.files(r.features, l))
	if err := l.OpenFile(false); err != nil {
		r.Fatal(err)
	}
	if err := l.Begin(true); err != nil {
		r.Fatal(err)
	}
	r.respec(func(*crawl.Spec) {})
}

// crash ends without a commit. It may be called again.
func (r *room) crash() {
	if r.ledger.DB == nil {
		return
	}
	if err := r.ledger.Tx.Rollback(); err != nil {
		r.Error(err)
	}
	r.ledger.EndTx()
	if err := r.ledger.CloseFile(); err != nil {
		r.Error(err)
	}
}

// respec changes the spec.
func (r *room) respec(change func(s *crawl.Spec)) {
	r.Helper()
	change(&r.spec)
	j, err := judge.New(r.spec)
	if err != nil {
		r.Fatal(err)
	}
	r.ledger.SetJudge(j)
	if err := r.features.Respec(); err != nil {
		r.Fatal(err)
	}
}

// visited is a host of which a page is stored, and a robots.txt without rules.
func (r *room) visited(name canon.Host) (*hosts.Host, *hosts.Origin) {
	r.Helper()
	h, err := r.ledger.HostOf(name)
	if err != nil {
		r.Fatal(err)
	}
	i, ok := r.ledger.OriginOf(h, canon.Origin{Scheme: "http", Host: name, Port: 80})
	if !ok {
		r.Fatal("a host has no capacity for an origin")
	}
	o := &h.Origins[i]
	h.Stored, o.Copy = 1, crawl.RobotsUnavailable
	return h, o
}

// asked lets the features ask for what they miss, and returns the requests for h.
func (r *room) asked(h *hosts.Host, now time.Time) []crawl.AuxRequest {
	r.Helper()
	if err := r.features.AskOrigin(h, 0, now); err != nil {
		r.Fatal(err)
	}
	return slices.Clone(h.Aux)
}

// answer applies the answer to a request of h.
func (r *room) answer(h *hosts.Host, a crawl.Answer, at time.Time) {
	r.Helper()
	if err := r.features.ApplyAnswer(&a, at, at); err != nil {
		r.Fatal(err)
	}
	if err := r.features.DropAux(h, a.Aux, at); err != nil {
		r.Fatal(err)
	}
}

// answers has for each kind of origin file what an answer contains. A new kind has a line here.
var answers = map[crawl.AuxKind]crawl.Answer{
	crawl.AuxSecurityTxt: {SecurityTxt: &crawl.SecurityTxt{State: crawl.FileFound, Contacts: []string{"tel:1"}}},
	crawl.AuxLLMSTxt:     {LLMSTxt: &crawl.LLMSTxt{State: crawl.FileFound, Title: "t", Fresh: 48 * time.Hour}},
}

// A file of each kind is requested once while the spec wants it, its contents are kept also after
// a crash, and it is requested again when they are too old. Of mirrors, and of what is forgotten,
// nothing is requested or kept.
func TestOriginFiles(t *testing.T) {
	for _, row := range originFileKinds() {
		t.Run(row.kind.String(), func(t *testing.T) {
			r := newRoom(t, OriginFiles)
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
			if set(true); len(asked()) != 1 || len(asked()) != 1 {
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
			if err := r.ledger.Commit(true); err != nil {
				t.Fatal(err)
			}
			r.crash()
			r.open()
			var err error
			if h, err = r.ledger.HostNamed("a.example"); err != nil {
				t.Fatal(err)
			}
			o = &h.Origins[0]
			due := *row.due(&o.OriginFilesDue)
			if !row.known(&o.OriginFiles) || due.Sub(now) < AskedSoonest || due.Sub(now) > AskedAgain {
				t.Fatalf("kept: %v, until %v after the answer", row.known(&o.OriginFiles), due.Sub(now))
			}
			now = due.Add(-time.Second)
			if len(asked()) != 0 {
				t.Errorf("requested again too soon: %+v", h.Aux)
			}
			if now = due; len(asked()) != 1 {
				t.Error("not requested again")
			}

			h.Origins[0].Mirror = &mirror.Record{State: mirror.OfMain}
			if err := r.features.MirrorChanged(h, 0, now); err != nil || len(h.Aux) != 0 || len(asked()) != 0 {
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
