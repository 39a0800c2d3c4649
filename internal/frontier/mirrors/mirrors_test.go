package mirrors

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/mirror"
	"github.com/curtsy/curtsy/internal/frontier/shardtest"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// open is the mirrors of shard 0 of two, on empty records.
type open struct {
	*shardtest.Shard
	t       *testing.T
	mirrors *Mirrors
}

func opened(t *testing.T) *open {
	t.Helper()
	spec := shardtest.Spec()
	spec.Shards = 2
	o := &open{t: t}
	o.Shard = shardtest.Open(t, spec, func(s *shardtest.Shard) shardtest.Tested {
		o.mirrors = New(s.Features, s.Ledger, s.Recrawl, s.URLs)
		return shardtest.Tested{Features: []hosts.Feature{o.mirrors.MirrorsFeature()}}
	})
	return o
}

// nameIn is a name of a host of a shard of two.
func nameIn(shard int, prefix string) canon.Host {
	for i := 0; ; i++ {
		if name := canon.Host(fmt.Sprintf("%s%d.example", prefix, i)); crawl.ShardOf(name, 2) == shard {
			return name
		}
	}
}

func originOf(name canon.Host) canon.Origin {
	return canon.Origin{Scheme: "http", Host: name, Port: 80}
}

// claims gives a host a robots.txt, which is read.
func (o *open) claims(name canon.Host, body string) {
	o.t.Helper()
	h, i := o.Host(name)
	f := crawl.Robots{Origin: originOf(name), State: crawl.RobotsParsed, Body: []byte(body), Fresh: 24 * time.Hour}
	o.check(h.Origins[i].KeepRobots(&f, robots.Parse(f.Body), false, time.Now()))
	o.check(o.mirrors.ClaimRead(h, i, time.Now()))
}

func (o *open) check(err error) {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
}

// stored makes URLs stored pages, whose content has a digest.
func (o *open) stored(digest uint64, all ...string) {
	o.t.Helper()
	for _, u := range all {
		o.Link(0, u)
		o.Set(u, urls.Verdict{Class: crawl.Stored}, func(r *urls.Record) { r.Digest = digest })
	}
}

// asked returns the requests that were sent to a shard since the last call.
func (o *open) asked(shard int) (all []crawl.AuxRequest) {
	o.t.Helper()
	events, _ := o.Sent()
	for _, ev := range events[shard] {
		all = append(all, ev.Aux...)
	}
	return all
}

// becomes changes the mirror's record of an origin, and does what follows.
func (o *open) becomes(name canon.Host, change func(m *mirror.Record, e *mirror.Env)) {
	o.t.Helper()
	h, i := o.Host(name)
	o.check(o.mirrors.Step(h, i, time.Now(), change))
}

// resolve handles all URLs of origins that became mirrors, or ceased to be.
func (o *open) resolve() {
	o.t.Helper()
	for more := true; more; {
		var err error
		more, err = o.mirrors.ResolveSome(time.Now())
		o.check(err)
	}
}

// A Host line that names another host makes its shard ask that host. If the pages of both are the
// same, the origin is a mirror, also for the next owner of the shard.
func TestAClaimIsExamined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := opened(t)
		x, main := nameIn(0, "x"), nameIn(1, "main")
		pages := []string{"http://" + string(x) + "/", "http://" + string(x) + "/1", "http://" + string(x) + "/2"}
		o.stored(7, pages...)
		o.claims(x, "User-agent: *\nAllow: /\nHost: "+string(main)+"\n")
		h, i := o.Host(x)
		if got := o.mirrors.Pending(time.Now(), time.Hour); got != 1 {
			t.Errorf("%d origins are being examined", got)
		}
		compared := 0
		for all := o.asked(1); len(all) > 0; all = o.asked(1) {
			for _, e := range all {
				a := crawl.Answer{Aux: e}
				switch e.Kind {
				case crawl.AuxClaim:
					a.Claim = crawl.Claim{Kind: crawl.ClaimSelf}
				case crawl.AuxSample:
					compared++
					a.Sample = crawl.Sample{Status: 200, Digest: 7}
				}
				if e.URL.Host() != main || e.Origin != originOf(x) || e.ReplyShard != 0 {
					t.Errorf("asked for %+v", e)
				}
				o.check(o.Features.ApplyAnswer(&a, time.Now(), time.Now()))
			}
			time.Sleep(10 * time.Second)
			o.check(o.mirrors.Upkeep(time.Now()))
		}
		m := h.Origins[i].Mirror
		if !m.Mirrored() || m.Main != originOf(main) || compared != len(pages) {
			t.Fatalf("after %d comparisons: %+v", compared, m)
		}
		if got := o.mirrors.Pending(time.Now(), time.Hour); got != 0 {
			t.Errorf("%d origins are still being examined", got)
		}
		o.Reopen()
		h, i = o.Host(x)
		if !h.Origins[i].Mirror.Mirrored() || !o.mirrors.Resolving(Ref{h, i}) || len(o.mirrors.Settling) != 1 {
			t.Errorf("opened again: %+v, settling %v", h.Origins[i].Mirror, o.mirrors.Settling)
		}
	})
}

// A robots.txt that another shard asks for is not requested if it was read lately. Otherwise the
// answer is sent once it was read.
func TestClaimsAreAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := opened(t)
		x := nameIn(0, "x")
		ask := func(prefix string) {
			t.Helper()
			asker := originOf(nameIn(1, prefix))
			o.check(o.Features.AddAux(crawl.AuxRequest{Kind: crawl.AuxClaim, URL: canon.URL("http://" + x + "/robots.txt"), Origin: asker, ReplyShard: 1}, time.Now()))
		}
		answers := func() (all []crawl.Answer) {
			events, _ := o.Sent()
			for _, ev := range events[1] {
				all = append(all, ev.Answers...)
			}
			return all
		}
		ask("early")
		h, _ := o.Host(x)
		if got := answers(); len(got) != 0 || len(h.Aux) != 1 {
			t.Errorf("before its robots.txt was read: %+v, %d requests", got, len(h.Aux))
		}
		o.claims(x, "User-agent: *\nDisallow:\nHost: "+string(x)+"\n")
		if got := answers(); len(got) != 1 || got[0].Claim.Kind != crawl.ClaimSelf || got[0].Aux.Origin.Host != nameIn(1, "early") || len(h.Aux) != 0 {
			t.Errorf("once it was read: %+v, %d requests", got, len(h.Aux))
		}
		ask("late")
		if got := answers(); len(got) != 1 || got[0].Claim.Kind != crawl.ClaimSelf || len(h.Aux) != 0 {
			t.Errorf("while it is fresh: %+v, %d requests", got, len(h.Aux))
		}
	})
}

// A page that the crawl has stored, or visits, is the sample that another origin is compared with.
func TestSamplesAreAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := opened(t)
		x, asker := nameIn(0, "x"), originOf(nameIn(1, "y"))
		page := func(path string) string { return "http://" + string(x) + path }
		o.stored(7, page("/stored"))
		o.Link(0, page("/queued"))
		for _, path := range []string{"/stored", "/queued"} {
			o.check(o.Features.AddAux(crawl.AuxRequest{Kind: crawl.AuxSample, URL: canon.URL(page(path)), Origin: asker, ReplyShard: 1}, time.Now()))
		}
		check := func(what, url string, digest uint64, waiting int) {
			t.Helper()
			events, _ := o.Sent()
			h, _ := o.Host(x)
			if len(events[1]) != 1 || len(h.Aux) != waiting {
				t.Fatalf("%s: %+v, and %d wait", what, events[1], len(h.Aux))
			}
			if a := events[1][0].Answers[0]; a.Aux.URL != canon.URL(page(url)) || a.Sample.Digest != digest || a.Sample.Status != 200 {
				t.Errorf("%s: %+v", what, a)
			}
		}
		check("of a stored page", "/stored", 7, 1)
		o.stored(9, page("/queued"))
		h, r := o.Record(page("/queued"))
		o.check(o.mirrors.Visited(h, &r, time.Now()))
		check("once it was visited", "/queued", 9, 0)
	})
}

// The URLs of a mirror are refused and passed on to the main host's shard, and its stored pages are
// the main host's from then on. When it ceases to be a mirror, they are fetched again.
func TestURLsOfAMirror(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := opened(t)
		x, main := nameIn(0, "x"), nameIn(1, "main")
		page := func(name canon.Host, path string) string { return "http://" + string(name) + path }
		o.Link(2, page(x, "/queued"))
		o.stored(7, page(x, "/stored"))
		o.Set(page(x, "/stored"), urls.Verdict{Class: crawl.Stored}, func(r *urls.Record) { r.StoredCopy.Digest = 7 })
		o.becomes(x, func(m *mirror.Record, e *mirror.Env) { m.Confirm(e, originOf(main), mirror.ByRedirect, "") })
		o.resolve()
		var sent []string
		events, pages := o.Sent()
		for _, ev := range events[1] {
			for _, l := range ev.Links {
				for _, u := range l.URLs {
					sent = append(sent, fmt.Sprintf("%s at %d", u, l.Depth))
				}
			}
		}
		slices.Sort(sent)
		if want := []string{page(main, "/queued") + " at 2", page(main, "/stored") + " at 0"}; !slices.Equal(sent, want) {
			t.Errorf("passed on: %v, want %v", sent, want)
		}
		for _, path := range []string{"/queued", "/stored"} {
			if _, r := o.Record(page(x, path)); r.Class != crawl.Refused || r.Reason != crawl.ReasonMirror || r.Detail != page(main, path) {
				t.Errorf("%s: %s %s %s", path, r.Class, r.Reason, r.Detail)
			}
		}
		alias := slices.ContainsFunc(pages, func(p crawl.Page) bool {
			return p.Kind == crawl.KindAlias && p.URL == canon.URL(page(x, "/stored")) && p.AliasOf == canon.URL(page(main, "/stored"))
		})
		gone := slices.ContainsFunc(pages, func(p crawl.Page) bool {
			return p.URL == canon.URL(page(x, "/queued")) && p.Deleted == crawl.ReasonMirror
		})
		if !alias || !gone {
			t.Errorf("the indexer is notified of %+v", pages)
		}
		h, i := o.Host(x)
		if m := h.Origins[i].Mirror; m.Sent != 2 || m.StoredPages != 1 || m.Settling {
			t.Errorf("counted: %+v", m.Merge)
		}

		o.becomes(x, func(m *mirror.Record, e *mirror.Env) { m.SetState(e, mirror.Main, "", "") })
		o.resolve()
		for _, path := range []string{"/queued", "/stored"} {
			if _, r := o.Record(page(x, path)); r.Class != crawl.Queued {
				t.Errorf("no longer a mirror: %s is %s %s", path, r.Class, r.Reason)
			}
		}
		_, pages = o.Sent()
		if len(pages) != 1 || pages[0].Kind != crawl.KindAlias || pages[0].AliasOf != "" {
			t.Errorf("no longer a mirror: the indexer is notified of %+v", pages)
		}
	})
}

// A main host of the same shard gets the URLs at once, and none leave the shard.
func TestURLsOfAMirrorInTheSameShard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := opened(t)
		x, main := nameIn(0, "x"), nameIn(0, "main")
		o.Link(1, "http://"+string(x)+"/a", "http://"+string(x)+"/b")
		o.becomes(x, func(m *mirror.Record, e *mirror.Env) { m.Confirm(e, originOf(main), mirror.ByRedirect, "") })
		o.resolve()
		if events, _ := o.Sent(); len(events) != 0 {
			t.Errorf("sent %+v", events)
		}
		if len(o.Accepted) != 1 || len(o.Accepted[0].URLs) != 2 || o.Accepted[0].URLs[0].Host() != main || o.Accepted[0].Depth != 1 {
			t.Errorf("accepted %+v", o.Accepted)
		}
	})
}

// A mirror may pass on so many URLs, and more for each page that it had: inventing paths costs
// nothing, and another site must not be overloaded by a false claim.
func TestAMirrorsBudgetIsBounded(t *testing.T) {
	o := opened(t)
	for _, c := range []struct {
		pages, sent int64
		spent       bool
	}{
		{0, MirrorLeast - 1, false}, {0, MirrorLeast, true},
		{2, MirrorLeast + 2*MirrorPerPage - 1, false}, {2, MirrorLeast + 2*MirrorPerPage, true},
		{1e9, MirrorBudget - 1, false}, {1e9, MirrorBudget, true},
	} {
		if got := o.mirrors.Spent(&mirror.Record{Merge: mirror.Merge{StoredPages: c.pages, Sent: c.sent}}); got != c.spent {
			t.Errorf("%d pages, %d sent: spent is %v", c.pages, c.sent, got)
		}
	}
	x := nameIn(0, "x")
	o.becomes(x, func(m *mirror.Record, e *mirror.Env) {
		m.Confirm(e, originOf(nameIn(1, "main")), mirror.ByRedirect, "")
	})
	h, i := o.Host(x)
	m := h.Origins[i].Mirror
	m.Sent = MirrorLeast - 1
	for n, want := range []string{"http://", "not transferred"} {
		r := &urls.Record{URL: canon.URL(fmt.Sprintf("http://%s/%d", x, n)), Origin: uint8(i)}
		if got := o.mirrors.Forward(h, r); !strings.HasPrefix(got, want) {
			t.Errorf("URL %d: %q, want %q", n, got, want)
		}
	}
}

// If the root and three more pages have moved, and none has not, the whole site has.
func TestASiteThatMoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, stays := range []bool{false, true} {
			o := opened(t)
			x, to := nameIn(0, "x"), nameIn(1, "to")
			if stays {
				o.stored(7, "http://"+string(x)+"/stays")
			}
			asked := 0
			for n, path := range []string{"/1", "/2", "/3", "/"} {
				u := "http://" + string(x) + path
				o.Link(1, u)
				o.Set(u, urls.Verdict{Class: crawl.Redirected, Reason: crawl.ReasonRedirect, Detail: "http://" + string(to) + path},
					func(r *urls.Record) { r.Status = 301 })
				h, r := o.Record(u)
				o.check(o.mirrors.NoticeMove(h, &r, time.Now()))
				if asked = len(o.asked(1)); asked > 0 && n < 3 {
					t.Errorf("%d pages suffice", n+1)
				}
			}
			if (asked > 0) == stays {
				t.Errorf("a page stays: %v; %d requests", stays, asked)
			}
		}
	})
}

// The name with "www." asks the one without it, as soon as it has pages. If that one is not known
// yet, it asks to be asked again once it is.
func TestTwinsAreNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := opened(t)
		var bare canon.Host // in this shard, as the one with www. is in the other
		for i := 0; bare == "" || crawl.ShardOf("www."+bare, 2) != 1; i++ {
			bare = nameIn(0, fmt.Sprintf("t%d-", i))
		}
		www := originOf("www." + bare)
		ask := crawl.AuxRequest{Kind: crawl.AuxTwin, URL: canon.URL("http://" + bare + "/"), Origin: www, Hop: crawl.TwinAsk, ReplyShard: 1}
		o.check(o.Features.AddAux(ask, time.Now()))
		events, _ := o.Sent()
		if len(events[1]) != 1 || events[1][0].Answers[0].Claim.Reason == "" {
			t.Fatalf("an unknown twin answers %+v", events[1])
		}
		o.stored(7, "http://"+string(bare)+"/")
		h, _ := o.Host(bare)
		o.check(o.mirrors.NoticeTwins(h, time.Now()))
		if got := o.asked(1); len(got) != 1 || got[0].Kind != crawl.AuxTwin || got[0].URL.Host() != www.Host || got[0].Hop != crawl.TwinAsk {
			t.Errorf("once it has pages it asks %+v", got)
		}
		o.check(o.mirrors.NoticeTwins(h, time.Now()))
		if got := o.asked(1); len(got) != 0 {
			t.Errorf("it asks twice: %+v", got)
		}
		o.check(o.Features.AddAux(ask, time.Now()))
		events, _ = o.Sent()
		if len(events[1]) != 1 || events[1][0].Answers[0].Claim.URLs != 1 || events[1][0].Answers[0].Claim.Reason != "" {
			t.Errorf("a known twin answers %+v", events[1])
		}
	})
}

// The claim of a robots.txt is the host that its Host line names, if a URL can have that name.
func TestClaimOf(t *testing.T) {
	x := originOf("x.example")
	for _, c := range []struct {
		body   string
		kind   crawl.ClaimKind
		target string
	}{
		{"User-agent: *\nDisallow:\n", crawl.ClaimNone, ""},
		{"Host: x.example\n", crawl.ClaimSelf, ""},
		{"Host: main.example\n", crawl.ClaimTarget, "http://main.example"},
		{"Host: https://main.example\n", crawl.ClaimTarget, "https://main.example"},
		{"Host: main.example:8080\n", crawl.ClaimTarget, "http://main.example:8080"},
	} {
		got := ClaimOf([]byte(c.body), x)
		target := ""
		if got.Target != (canon.Origin{}) {
			target = got.Target.String()
		}
		if got.Kind != c.kind || target != c.target || len(got.Digest) == 0 {
			t.Errorf("%q: %+v", c.body, got)
		}
	}
}
