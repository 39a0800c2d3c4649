package shard

import (
	"fmt"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/judge"
	"github.com/curtsy/curtsy/pkg/canon"
)

// passes runs all passes until none has more to do.
func (r *rig) passes() {
	r.t.Helper()
	for more := true; more; {
		r.check(r.Ledger.Guarded(func() (err error) {
			more, err = r.Passes.Some(time.Now())
			return err
		}))
	}
}

// The preview of another spec counts what the change then does, and a change back undoes it.
func TestAChangeOfTheSpec(t *testing.T) {
	inRig(t, spec(), func(r *rig) {
		var list []canon.URL
		for i := range 40 {
			list = append(list, canon.URL(fmt.Sprintf("http://%c.example/%d", 'a'+i%4, i)))
		}
		r.links(list...)
		before, narrow := r.Ledger.Judge, spec()
		narrow.Exclude = []string{"a.example", "b.example"}
		next, err := judge.New(narrow)
		r.check(err)
		effect, err := r.Specs.Effect(t.Context(), &next, 1000)
		r.check(err)
		if c := r.Ledger.Meta.Counts; c.Queued != 40 || c.Refused != 0 {
			t.Fatalf("a preview changed something: %+v", c)
		}
		r.Specs.Change(next)
		r.passes()
		c := r.Ledger.Meta.Counts
		if c.Refused != effect.Refuses || c.Refused != 20 || effect.Known != 40 || effect.Looked != 40 {
			t.Errorf("%+v refused, the preview was %+v", c, effect)
		}
		r.wantClass(list[0], crawl.Refused, crawl.ReasonScope)
		r.Specs.Change(before)
		r.passes()
		if c := r.Ledger.Meta.Counts; c.Refused != 0 || c.Queued != 40 {
			t.Errorf("after the change back: %+v", c)
		}
	})
}

// A page that a site rule skips is refused, if the fetcher has our rules. It is fetched again when
// the rules change.
func TestPagesThatSiteRulesSkip(t *testing.T) {
	const u = canon.URL("http://a.example/")
	ruled := func(sites string) judge.Judge {
		s := spec()
		s.Sites = sites
		j, err := judge.New(s)
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	first, second := ruled("sites: {a.example: {skip: [{css: h1}]}}"), ruled("sites: {b.example: {skip: [{css: h1}]}}")
	inRig(t, first.Spec, func(r *rig) {
		skip := func(rules uint64) {
			r.report(r.visit(), func(canon.URL) crawl.Result {
				return crawl.Result{Class: crawl.Refused, Reason: crawl.ReasonSiteRule, Rule: "sites:7: skip", Rules: rules, Status: 200}
			})
		}
		r.links(u)
		skip(second.SitesHash)
		r.wantClass(u, crawl.Queued, "")
		skip(first.SitesHash)
		r.wantClass(u, crawl.Refused, crawl.ReasonSiteRule)
		if got := r.record(u).Detail; got != "sites:7: skip" {
			t.Errorf("detail %q", got)
		}
		r.passes()
		r.wantClass(u, crawl.Refused, crawl.ReasonSiteRule)
		r.Specs.Change(second)
		r.passes()
		r.wantClass(u, crawl.Queued, "")
	})
}

// Other fields start no pass over the URLs, and the counts of what the rules did begin again.
func TestFieldsStartNoPass(t *testing.T) {
	const u = canon.URL("http://a.example/")
	inRig(t, spec(), func(r *rig) {
		r.links(u)
		change := func(sites string, passes bool, refused int64) {
			t.Helper()
			s := spec()
			s.Sites = sites
			j, err := judge.New(s)
			if err != nil {
				t.Fatal(err)
			}
			r.Specs.Change(j)
			if got := r.Ledger.Meta.Judging.Running; got != passes {
				t.Errorf("%s: a pass runs: %v", sites, got)
			}
			r.passes()
			if m := r.Ledger.Meta.Judging.Sites; m.Rules != s.SitesHash() || m.Queued != 0 || m.Refused != refused {
				t.Errorf("%s: %+v, want %d refused", sites, m, refused)
			}
		}
		change("sites: {a.example: {exclude: [/**]}}", true, 1)
		change("sites: {a.example: {exclude: [/**], fields: {kind: {css: h1}}}}", false, 0)
		r.wantClass(u, crawl.Refused, crawl.ReasonScope)
	})
}

// A shard may come to an owner that does not know the new rules yet, and back, before the pass over
// its URLs has ended. What the old rules skipped meanwhile is fetched again as well.
func TestRulesThatGoBackAndForth(t *testing.T) {
	const u = canon.URL("http://a.example/")
	ruled := func(sites string) judge.Judge {
		s := spec()
		s.Sites = sites
		j, err := judge.New(s)
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	first, second := ruled("sites: {a.example: {skip: [{css: h1}]}}"), ruled("sites: {b.example: {skip: [{css: h1}]}}")
	inRig(t, first.Spec, func(r *rig) {
		r.links(u)
		r.Specs.Change(second)
		r.passes()
		r.Specs.Change(first)
		r.report(r.visit(), func(canon.URL) crawl.Result {
			return crawl.Result{Class: crawl.Refused, Reason: crawl.ReasonSiteRule, Rules: first.SitesHash, Status: 200}
		})
		r.wantClass(u, crawl.Refused, crawl.ReasonSiteRule)
		r.Specs.Change(second)
		r.passes()
		r.wantClass(u, crawl.Queued, "")
		if m := r.Ledger.Meta.Judging; m.Running || m.Was != nil || m.Also != nil {
			t.Errorf("%+v", m)
		}
	})
}

// A host waits for the longer delay of a new spec, also if its last visit had a shorter one.
func TestALongerDelay(t *testing.T) {
	inRig(t, spec(), func(r *rig) {
		r.links("http://a.example/", "http://new.example/")
		for range 2 {
			r.report(r.visit(), stored)
		}
		slow := spec()
		slow.Delay = time.Minute
		next, err := judge.New(slow)
		r.check(err)
		r.Specs.Change(next)
		for name, h := range r.Ledger.Hosts {
			if wait := time.Until(h.Due); wait != time.Minute {
				t.Errorf("%s is due in %v", name, wait)
			}
		}
	})
}
