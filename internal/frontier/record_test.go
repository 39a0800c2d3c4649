package frontier

import (
	"encoding/hex"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/pkg/canon"
)

func TestRecordRoundTrip(t *testing.T) {
	for _, r := range []urls.Record{
		{URL: "http://a.example/"},
		{URL: "http://a.example/x?y", Class: crawl.Failed, Origin: 3, Depth: 7, Redirects: 2, Attempts: 3, Order: 1 << 40,
			Visit: crawl.VisitID{Epoch: 1 << 33, N: 9}, Status: 503, Line: 12, Reason: crawl.ReasonHTTP5xx,
			Detail: "gone", FoundOn: "http://a.example/", FetchedAt: 1_700_000_000_000},
		{URL: "http://a.example/q", Class: crawl.Queued, Due: time.UnixMilli(1_700_000_000_123), FoundOn: "https://b.example/q", NoSnippet: true},
		{URL: "http://a.example/h", Class: crawl.Stored, StoredCopy: urls.StoredCopy{Digest: 1 << 63, ETag: `"e"`, Modified: 1_700_000_000},
			Again: urls.Again{Next: 1_800_000_000, Pace: 17, Usual: 20, Gone: true, Asked: 300, Changed: 2}},
		{URL: "http://a.example/n", Class: crawl.Stored, StoredCopy: urls.StoredCopy{Likeness: 1 << 62}, Again: urls.Again{Asked: 7, Usual: urls.PaceMost, Noise: urls.Noisy}},
		{URL: "http://a.example/r", Class: crawl.Queued, Rank: 44_758},
		{URL: "http://a.example/of \x00 file format 1", Class: crawl.Failed, Origin: 3, Depth: 7, Status: 503, Detail: "gone", FoundOn: "http://a.example/"},
		{URL: "http://a.example/t", Class: crawl.Stored, StoredCopy: urls.StoredCopy{ModifiedText: "yesterday"}},
	} {
		got, err := urls.DecodeRecord(hosts.URLKey(nil, 1, r.Order), r.Append(nil))
		if err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("decoded %+v (%v), want %+v", got, err, r)
		}
		same, depth, class := urls.Peek(r.Append(nil), r.URL)
		if !same || depth != r.Depth || class != r.Class {
			t.Errorf("peek = %v %d %v for %+v", same, depth, class, r)
		}
		if same, _, _ := urls.Peek(r.Append(nil), r.URL+"x"); same {
			t.Errorf("peek takes %s for %s", r.URL+"x", r.URL)
		}
	}
}

// A record from before re-crawl was implemented is read, and is the same when it is written again.
func TestRecordFromBeforeRecrawl(t *testing.T) {
	const written = "82000100010080e2cfaa0609c8010080d095ffbc3112687474703a2f2f612e6578616d706c652f7811000000"
	v, err := hex.DecodeString(written)
	if err != nil {
		t.Fatal(err)
	}
	want := urls.Record{URL: "http://a.example/x", Class: crawl.Stored, Depth: 1, Attempts: 1, Order: 5, Visit: crawl.VisitID{Epoch: 1700000000, N: 9}, Status: 200,
		FoundOn: "http://a.example/", FetchedAt: 1_700_000_000_000, NoSnippet: true}
	got, err := urls.DecodeRecord(hosts.URLKey(nil, 1, 5), v)
	if err != nil || got != want {
		t.Errorf("decoded %+v (%v), want %+v", got, err, want)
	}
	if again, err := urls.DecodeRecord(hosts.URLKey(nil, 1, 5), got.Append(nil)); err != nil || again != want {
		t.Errorf("written again it is %+v (%v), want %+v", again, err, want)
	}
	if same, depth, class := urls.Peek(v, want.URL); !same || depth != want.Depth || class != want.Class || urls.OriginOf(v) != 0 {
		t.Errorf("peek = %v %d %v", same, depth, class)
	}
}

func FuzzRecord(f *testing.F) {
	r := urls.Record{URL: "http://a.example/x", FoundOn: "http://a.example/", Reason: "trap"}
	f.Add(r.Append(nil))
	r.URL += "\x00"
	f.Add(r.Append(nil)) // in the older layout
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, v []byte) {
		r, err := urls.DecodeRecord(hosts.URLKey(nil, 1, 2), v)
		urls.Peek(v, "http://a.example/x")
		if err != nil {
			return
		}
		again, err := urls.DecodeRecord(hosts.URLKey(nil, 1, r.Order), r.Append(nil))
		if same, depth, class := urls.Peek(v, r.URL); !same || depth != r.Depth || class != r.Class || urls.OriginOf(v) != int(r.Origin) {
			t.Errorf("of %+v it reads %v %v %v", r, same, depth, class)
		}
		if err != nil || again.URL != r.URL || again.FoundOn != r.FoundOn || again.Visit != r.Visit {
			t.Errorf("%+v became %+v (%v)", r, again, err)
		}
	})
}

// Two URLs with the same hash must stay two URLs: find continues with the next URL of that hash.
func TestHashCollisionKeepsBoth(t *testing.T) {
	b := newBench(t, testSpec("http://a.example/"))
	b.links(0, "", "http://a.example/one")
	h := b.s.ledger.Hosts["a.example"]
	hash := hosts.SeenHash("http://a.example/one")
	// As if it had the same hash.
	if k, v := b.s.urls.Find(h.ID, hash, "http://a.example/two"); v != nil {
		t.Errorf("find = %x, %v: it is new", k, v)
	}
	two := urls.Record{URL: "http://a.example/two", Class: crawl.Queued, Order: 2}
	if err := errors.Join(b.s.ledger.PutKnown(h.ID, hash, two.Order), b.s.urls.PutURL(hosts.URLKey(nil, h.ID, two.Order), &two)); err != nil {
		t.Fatal(err)
	}
	for i, u := range []canon.URL{"http://a.example/one", "http://a.example/two"} {
		if k, v := b.s.urls.Find(h.ID, hash, u); v == nil || string(k) != string(hosts.URLKey(nil, h.ID, uint64(i+1))) {
			t.Errorf("%s is found as %x", u, k)
		}
	}
}

// Whatever a fetcher sends, no more of the text of a site is kept with a URL or an origin than
// crawl.MaxDetail.
func TestDetailsAreShort(t *testing.T) {
	b := newBench(t, testSpec("http://a.example/"))
	b.links(0, "", "http://a.example/")
	v := b.grant(1)[0]
	long := strings.Repeat("x", 67<<10)
	u := v.URLs[0].URL
	b.event(crawl.Event{
		Visit: v.ID, Robots: []crawl.Robots{{Origin: u.Origin(), State: crawl.RobotsUnreachable, Reason: long}},
		Probes:  []crawl.Probe{{Origin: u.Origin(), State: crawl.ProbeFailed, Reason: long}},
		Outcome: &crawl.Outcome{Host: v.Host, Requests: 1, Results: []crawl.Result{{URL: u, Class: crawl.Refused, Reason: crawl.ReasonType, Rule: long, Status: 200}}},
	})
	o := &b.s.ledger.Hosts["a.example"].Origins[0]
	if r := b.record(string(u)); len(r.Detail) != crawl.MaxDetail || len(r.Append(nil)) > 400 || len(o.Reason) != crawl.MaxDetail || len(o.DataReason) != crawl.MaxDetail {
		t.Errorf("kept: %d bytes with the URL, a record of %d; %d and %d with the origin", len(r.Detail), len(r.Append(nil)), len(o.Reason), len(o.DataReason))
	}
}
