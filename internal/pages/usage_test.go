package pages

import (
	"reflect"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/usage"
)

func said(from, says string) usage.Statement {
	p, _ := usage.ParseContentSignal(says)
	return usage.Statement{Position: usage.Position{From: from, Line: 2}, Text: says, Preferences: p}
}

// Formats §8.3: the statements about the use of a page are stored with it. A change of these alone
// is a change of the page for followers of the change feed.
func TestUsage_8_3_Kept(t *testing.T) {
	s := openTemp(t)
	p := page(a, 1, "body")
	p.Usage = usage.Statements{said("robots.txt", "search=yes, ai-train=no"), {Position: usage.Position{From: "tdmrep.json", Line: 1 << 20}, Preferences: usage.PreferencesOf(0xaa), Inferred: true}}
	put(t, s, p)
	got, ok, err := s.Get(a)
	if !ok || err != nil || !reflect.DeepEqual(got.Usage, p.Usage) {
		t.Fatalf("Get = %+v, %v, %v", got.Usage, ok, err)
	}
	if u := got.Info().Usage; u.Search != "disallow" || u.AITrain != "disallow" || len(u.Sources) == 0 {
		t.Errorf("%+v", u)
	}
	again := page(a, 2, "body")
	again.Usage = p.Usage[:1]
	if r := put(t, s, again); r != (Result{Stored: 1}) {
		t.Errorf("with other statements: %+v", r)
	}
	same := page(a, 3, "body")
	same.Usage = p.Usage[:1]
	if r := put(t, s, same); r != (Result{Unchanged: 1}) {
		t.Errorf("with the same: %+v", r)
	}
	silent := page("https://example.org/silent", 4, "body")
	put(t, s, silent)
	got, _, _ = s.Get(silent.URL)
	if u := got.Info().Usage; got.Usage != nil || u.Search != "unknown" || u.TDM != "unknown" || u.Sources == nil {
		t.Errorf("where nothing is said: %+v", u)
	}
}

// Formats §8.14: a 304 has the current robots.txt and replaces the headers that it carries. If
// together they forbid all purposes, the copy is removed, and the page is requested once more.
func TestUsage_8_14_NotModified(t *testing.T) {
	for _, c := range []struct {
		name     string
		old, now usage.Statements
		purposes usage.Purposes
		held     bool
		want     usage.Statements
	}{
		{"nothing", usage.Statements{said("header Content-Signal", "ai-train=no")}, nil, 1, true, usage.Statements{said("header Content-Signal", "ai-train=no")}},
		{"robots.txt", usage.Statements{said("robots.txt", "ai-train=no")}, usage.Statements{said("robots.txt", "ai-train=yes")}, 1, true,
			usage.Statements{said("robots.txt", "ai-train=yes")}},
		{"another purpose is left", usage.Statements{said("meta robots", "ai-train=no")}, usage.Statements{said("robots.txt", "ai-input=no")}, 1 | 4, true,
			usage.Statements{said("meta robots", "ai-train=no"), said("robots.txt", "ai-input=no")}},
		{"together they forbid all", usage.Statements{said("meta robots", "ai-train=no")}, usage.Statements{said("robots.txt", "search=no")}, 1 | 4, false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := openTemp(t)
			p := page(a, 1, "body")
			p.Usage = c.old
			put(t, s, p)
			again := renewal(a, 2)
			again.Usage, again.Purposes = c.now, c.purposes
			put(t, s, again)
			got, ok, err := s.Get(a)
			queued, _ := s.Outbox().First(9)
			if err != nil || ok != c.held || !reflect.DeepEqual(got.Usage, c.want) || (len(queued) == 0) != c.held {
				t.Errorf("Get = %+v, %v, %v; letters %+v", got.Usage, ok, err, queued)
			}
			if !c.held && (queued[0].Kind != OutboxMissing || queued[0].Visit != (crawl.VisitID{Epoch: again.Visit.Epoch, N: 2})) {
				t.Errorf("%+v", queued)
			}
		})
	}
}
