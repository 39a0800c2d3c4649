package indexer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/indexer/assignment"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/siterules"
)

const (
	firstRules = `sites:
  a.example:
    fields: {kind: {css: h2, type: keyword}}
    skip: [{css: "p.lost"}]
`
	secondRules = `sites:
  a.example:
    fields: {kind: {css: h3, type: keyword}}
    content: {title: {css: h2}}
    skip: [{css: "p.old"}]
`
)

// rulesOf compiles rules.
func rulesOf(t *testing.T, text string) *siterules.Rules {
	t.Helper()
	rules, err := siterules.Of(&crawl.Spec{Sites: text})
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// ruled makes a page as a fetcher with these rules sends it.
func ruled(t *testing.T, rules, u string, visit uint64, body string) crawl.Page {
	t.Helper()
	p := page(u, visit, body)
	unpacked, err := pages.Unpack(nil, p.Encoding, p.Body)
	if err != nil {
		t.Fatal(err)
	}
	if site := rulesOf(t, rules).Reader(p.URL); site != nil {
		out := site.Read(siterules.InputOf(&p, nil, unpacked))
		p.Ruled = &out.Ruled
	}
	return p
}

// stored returns what the files of a stopped indexer have of each page: its title without the
// prefix, its fields, and whether it was read by these rules.
func storedRuled(t *testing.T, dir string, shards int, rules string) (all []string) {
	t.Helper()
	for i := range shards {
		s, err := pages.OpenReadOnly(assignment.PagesFile(dir, i))
		if err != nil {
			t.Fatal(err)
		}
		err = errors.Join(s.EachWithBody(func(p pages.Page) error {
			line := fmt.Sprintf("%s %q", strings.TrimPrefix(string(p.URL), "https://"), strings.TrimPrefix(p.Title, "Title of "+string(p.URL)))
			if p.Ruled != nil {
				line += fmt.Sprintf(" %v %q", p.Ruled.Rules == rulesOf(t, rules).Hash(), p.Ruled.Fields.Get("kind"))
			}
			all = append(all, line)
			return nil
		}), s.Check(), s.Close())
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(all)
	return all
}

func skippedEvents(ev *crawl.Event) (all []string) {
	for _, u := range ev.Skipped {
		all = append(all, string(u.URL)+" "+u.Why)
	}
	return all
}

// Changed rules are applied to stored pages, also if a commit of the indexer fails.
// Pages of fetchers that still have the old rules are read again when they arrive.
func TestRulesChange(t *testing.T) {
	for _, kill := range []int{0, 1, 2, 3, 5, 8} {
		t.Run(fmt.Sprintf("commit %d fails", kill), func(t *testing.T) {
			simnet.Test(t, func(t *testing.T) {
				w := newWorld(t, 1)
				w.spec.Sites = firstRules
				dir := t.TempDir()
				_, stop := w.start(Options{Dir: dir})
				for i := range 450 {
					w.hand(ruled(t, firstRules, fmt.Sprintf("https://a.example/%d", i), 1, fmt.Sprintf("<h2>two %d</h2><h3>three %d</h3>", i%7, i%5)))
				}
				w.hand(ruled(t, firstRules, "https://a.example/old", 1, "<h2>two</h2><p class=old>x"), page("https://b.example/", 1, "words"))
				eventually(t, "everything is stored", func() bool {
					n, err := w.work.Pending(t.Context(), crawl.Names("test").PagesSubject(0))
					return err == nil && n == 0
				})
				stop()
				w.spec.Sites = secondRules
				commits := 0
				x, stop := w.start(Options{Dir: dir, Fault: func(point string) error {
					if strings.HasPrefix(point, "commit pages") {
						if commits++; commits == kill {
							return errors.New("the disk is full")
						}
					}
					return nil
				}})
				w.hand(ruled(t, firstRules, "https://a.example/late", 2, "<h2>late two</h2><h3>late three</h3>"),
					ruled(t, firstRules, "https://a.example/late-old", 2, "<p class=old>x"),
					ruled(t, firstRules, "https://a.example/3", 2, "<h2>new two</h2><h3>new three</h3>"))
				st := w.settled(x)
				if len(st.Rules) != 1 || !st.Rules[0].Finished || st.Rules[0].Rules != w.spec.SitesHash() || st.Rules[0].Skipped != 1 {
					t.Errorf("%+v", st.Rules)
				}
				// All pages that were passed have the field, but for the skipped one and the one
				// without rules. No step that failed is counted.
				err := x.answers().siteRules(t.Context(), nil, func(m crawl.RulesMade) error {
					if len(m.Fields) != 1 || m.Fields[0] != (crawl.FieldCount{Name: "kind", Pages: m.Pages - 2}) || m.Links != w.spec.LinkHash() {
						t.Errorf("%+v", m)
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
				stop()
				got := storedRuled(t, dir, 1, secondRules)
				want := []string{`a.example/late "late two" true ["late three"]`, `b.example/ ""`}
				for i := range 450 {
					two, three := fmt.Sprintf("two %d", i%7), fmt.Sprintf("three %d", i%5)
					if i == 3 {
						two, three = "new two", "new three"
					}
					want = append(want, fmt.Sprintf("a.example/%d %q true [%q]", i, two, three))
				}
				if slices.Sort(want); !slices.Equal(got, want) {
					t.Errorf("%q\nwant\n%q", got, want)
				}
				if kill == 0 && (st.Rules[0].Read < 449 || st.Rules[0].Changed < 447) {
					t.Errorf("%+v", st.Rules)
				}
			})
		})
	}
}

// Rules are removed from stored pages, also if the process ends in the middle of that: it commits a
// number of times, and then nothing more.
func TestRulesAreRemovedAfterACrash(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.spec.Sites = firstRules
		dir := t.TempDir()
		x, stop := w.start(Options{Dir: dir})
		for i := range 450 {
			w.hand(ruled(t, firstRules, fmt.Sprintf("https://a.example/%d", i), 1, "<h2>two</h2>"))
		}
		w.settled(x)
		stop()
		w.spec.Sites = ""
		for commits := range 6 {
			left := commits
			_, stop = w.start(Options{Dir: dir, Fault: func(point string) error {
				if strings.HasPrefix(point, "commit pages") {
					if left--; left < 0 {
						return errors.New("the process has ended")
					}
				}
				return nil
			}})
			time.Sleep(500 * time.Millisecond)
			stop()
		}
		x, stop = w.start(Options{Dir: dir})
		if st := w.settled(x); len(st.Rules) != 1 || !st.Rules[0].Finished || st.Rules[0].Pages != 450 {
			t.Errorf("%+v", st.Rules)
		}
		stop()
		for _, line := range storedRuled(t, dir, 1, "") {
			if strings.Contains(line, "two") {
				t.Fatalf("a page has a field of rules that were removed: %s", line)
			}
		}
	})
}

// A crawl without rules gets some, and loses them again.
func TestRulesComeAndGo(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		dir := t.TempDir()
		x, stop := w.start(Options{Dir: dir, Search: true})
		w.hand(page("https://a.example/", 1, "<h2>two</h2><h3>three</h3>"), page("https://b.example/", 1, "words"), page("https://a.example/x", 1, "<p class=old>x"))
		if st := w.settled(x); st.Rules != nil {
			t.Errorf("%+v", st.Rules)
		}
		spec := w.spec
		spec.Sites = secondRules
		if err := x.SetSpec(spec); err != nil {
			t.Fatal(err)
		}
		if st := w.settled(x); len(st.Rules) != 1 || st.Rules[0] != (crawl.RulesApplied{Rules: spec.SitesHash(), Finished: true, Pages: 3, Read: 2, Changed: 1, Skipped: 1}) {
			t.Errorf("%+v", st.Rules)
		}
		eventually(t, "the frontier learns of the skipped page", func() bool {
			all := w.events(0, skippedEvents)
			return len(all) == 1 && strings.HasPrefix(all[0], "https://a.example/x site rules:5: ")
		})
		if hits := searched(w, "title:two").Hits; len(hits) != 1 {
			t.Errorf("%+v", hits)
		}
		spec.Sites = ""
		if err := x.SetSpec(spec); err != nil {
			t.Fatal(err)
		}
		if st := w.settled(x); len(st.Rules) != 1 || st.Rules[0] != (crawl.RulesApplied{Finished: true, Pages: 2, Read: 1, Changed: 1}) {
			t.Errorf("%+v", st.Rules)
		}
		stop()
		if got := storedRuled(t, dir, 1, ""); !slices.Equal(got, []string{`a.example/ ""`, `b.example/ ""`}) {
			t.Errorf("%q", got)
		}
	})
}

// A spec whose rules this version cannot read changes nothing, and says why.
func TestRulesThatCannotBeRead(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		x, _ := w.start(Options{Dir: t.TempDir()})
		spec := w.spec
		spec.Sites = "sites: {a.example: {feilds: {}}}"
		if err := x.SetSpec(spec); err == nil || !strings.Contains(err.Error(), "feilds") {
			t.Errorf("SetSpec = %v", err)
		}
		w.settled(x)
	})
}
