package frontier

import (
	"encoding/hex"
	"reflect"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

func TestRecordRoundTrip(t *testing.T) {
	for _, r := range []record{
		{URL: "http://a.example/"},
		{URL: "http://a.example/x?y", Class: crawl.Failed, Origin: 3, Depth: 7, Hops: 2, Attempts: 3, Order: 1 << 40,
			Visit: crawl.VisitID{Epoch: 1 << 33, N: 9}, Status: 503, Line: 12, Reason: crawl.ReasonHTTP5xx,
			Detail: "gone", FoundOn: "http://a.example/", FetchedAt: 1_700_000_000_000},
		{URL: "http://a.example/q", Class: crawl.Queued, Due: time.UnixMilli(1_700_000_000_123), FoundOn: "https://b.example/q", NoSnippet: true},
		{URL: "http://a.example/h", Class: crawl.Stored, held: held{Digest: 1 << 63, ETag: `"e"`, Modified: 1_700_000_000},
			again: again{Next: 1_800_000_000, Pace: 17, Usual: 20, Gone: true, Asked: 300, Changed: 2}},
		{URL: "http://a.example/n", Class: crawl.Stored, held: held{Likeness: 1 << 62}, again: again{Asked: 7, Usual: paceMost, Noise: noisy}},
		{URL: "http://a.example/r", Class: crawl.Queued, Rank: 44_758},
		{URL: "http://a.example/t", Class: crawl.Stored, held: held{ModifiedText: "yesterday"}},
	} {
		got, err := decodeRecord(urlKey(nil, 1, r.Order), r.append(nil))
		if err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("decoded %+v (%v), want %+v", got, err, r)
		}
		same, depth, class := peek(r.append(nil), r.URL)
		if !same || depth != r.Depth || class != r.Class {
			t.Errorf("peek = %v %d %v for %+v", same, depth, class, r)
		}
		if same, _, _ := peek(r.append(nil), r.URL+"x"); same {
			t.Errorf("peek takes %s for %s", r.URL+"x", r.URL)
		}
	}
}

// A record as it was before there was re-crawl is read, and written as it was.
func TestRecordOfBefore(t *testing.T) {
	const written = "82000100010080e2cfaa0609c8010080d095ffbc3112687474703a2f2f612e6578616d706c652f7811000000"
	v, err := hex.DecodeString(written)
	if err != nil {
		t.Fatal(err)
	}
	want := record{URL: "http://a.example/x", Class: crawl.Stored, Depth: 1, Attempts: 1, Order: 5, Visit: crawl.VisitID{Epoch: 1700000000, N: 9}, Status: 200,
		FoundOn: "http://a.example/", FetchedAt: 1_700_000_000_000, NoSnippet: true}
	got, err := decodeRecord(urlKey(nil, 1, 5), v)
	if err != nil || got != want {
		t.Errorf("decoded %+v (%v), want %+v", got, err, want)
	}
	if again := hex.EncodeToString(got.append(nil)); again != written {
		t.Errorf("written again %s, was %s", again, written)
	}
}

func FuzzRecord(f *testing.F) {
	r := record{URL: "http://a.example/x", FoundOn: "http://a.example/", Reason: "trap"}
	f.Add(r.append(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, v []byte) {
		r, err := decodeRecord(urlKey(nil, 1, 2), v)
		peek(v, "http://a.example/x")
		if err != nil {
			return
		}
		again, err := decodeRecord(urlKey(nil, 1, r.Order), r.append(nil))
		if err != nil || again.URL != r.URL || again.FoundOn != r.FoundOn || again.Visit != r.Visit {
			t.Errorf("%+v became %+v (%v)", r, again, err)
		}
	})
}

// Two URLs of one hash must stay two URLs: find goes on to the next probe.
func TestHashCollisionKeepsBoth(t *testing.T) {
	b := newBench(t, testSpec("http://a.example/"))
	b.links(0, "", "http://a.example/one")
	h := b.s.hosts["a.example"]
	key := seenKey(nil, h.ID, "http://a.example/one")
	k, v := b.s.find(key, canon.URL("http://a.example/two")) // as if it had the same hash
	if v != nil || len(k) != len(key)+2 {
		t.Errorf("find = %x, %v: want a fresh probe key", k, v)
	}
	if k, v := b.s.find(key, "http://a.example/one"); v == nil || string(k) != string(urlKey(nil, h.ID, 1)) {
		t.Error("the first URL is not found under its own key")
	}
}
