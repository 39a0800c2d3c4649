package urls

import (
	"encoding/hex"
	"reflect"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/store"
)

func TestRecordRoundTrip(t *testing.T) {
	for _, r := range []Record{
		{URL: "http://a.example/"},
		{URL: "http://a.example/x?y", Class: crawl.Failed, Origin: 3, Depth: 7, Redirects: 2, Attempts: 3, Order: 1 << 40,
			Visit: crawl.VisitID{Epoch: 1 << 33, N: 9}, Status: 503, Line: 12, Reason: crawl.ReasonHTTP5xx,
			Detail: "gone", FoundOn: "http://a.example/", FetchedAt: 1_700_000_000_000},
		{URL: "http://a.example/q", Class: crawl.Queued, Due: time.UnixMilli(1_700_000_000_123), FoundOn: "https://b.example/q", NoSnippet: true},
		{URL: "http://a.example/h", Class: crawl.Stored, StoredCopy: StoredCopy{Digest: 1 << 63, ETag: `"e"`, Modified: 1_700_000_000},
			Again: Again{Next: 1_800_000_000, Pace: 17, Usual: 20, Gone: true, Asked: 300, Changed: 2}},
		{URL: "http://a.example/n", Class: crawl.Stored, StoredCopy: StoredCopy{Likeness: 1 << 62}, Again: Again{Asked: 7, Usual: PaceMost, Noise: Noisy}},
		{URL: "http://a.example/r", Class: crawl.Queued, Rank: 44_758},
		{URL: "http://a.example/of \x00 file format 1", Class: crawl.Failed, Origin: 3, Depth: 7, Status: 503, Detail: "gone", FoundOn: "http://a.example/"},
		{URL: "http://a.example/s", Class: crawl.Stored, StoredCopy: StoredCopy{Rendering: crawl.RenderingNeeded}, counted: crawl.RenderingNeeded},
		{URL: "http://a.example/s", Class: crawl.Queued, Rank: 7, StoredCopy: StoredCopy{Digest: 1, Rendering: crawl.RenderingFailed, RenderNote: "rendering failed: it hung"}},
		{URL: "http://a.example/s \x00 old", Class: crawl.Stored, StoredCopy: StoredCopy{Rendering: crawl.RenderingDone, RenderNote: "n"}, counted: crawl.RenderingDone},
		{URL: "http://a.example/t", Class: crawl.Stored, StoredCopy: StoredCopy{ModifiedText: "yesterday"}},
	} {
		got, err := DecodeRecord(store.URLKey(nil, 1, r.Order), r.Append(nil))
		if err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("decoded %+v (%v), want %+v", got, err, r)
		}
		same, depth, class := Peek(r.Append(nil), r.URL)
		if !same || depth != r.Depth || class != r.Class {
			t.Errorf("peek = %v %d %v for %+v", same, depth, class, r)
		}
		if same, _, _ := Peek(r.Append(nil), r.URL+"x"); same {
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
	want := Record{URL: "http://a.example/x", Class: crawl.Stored, Depth: 1, Attempts: 1, Order: 5, Visit: crawl.VisitID{Epoch: 1700000000, N: 9}, Status: 200,
		FoundOn: "http://a.example/", FetchedAt: 1_700_000_000_000, NoSnippet: true}
	got, err := DecodeRecord(store.URLKey(nil, 1, 5), v)
	if err != nil || got != want {
		t.Errorf("decoded %+v (%v), want %+v", got, err, want)
	}
	if again, err := DecodeRecord(store.URLKey(nil, 1, 5), got.Append(nil)); err != nil || again != want {
		t.Errorf("written again it is %+v (%v), want %+v", again, err, want)
	}
	if same, depth, class := Peek(v, want.URL); !same || depth != want.Depth || class != want.Class || OriginOf(v) != 0 {
		t.Errorf("peek = %v %d %v", same, depth, class)
	}
}

func FuzzRecord(f *testing.F) {
	r := Record{URL: "http://a.example/x", FoundOn: "http://a.example/", Reason: "trap"}
	f.Add(r.Append(nil))
	r.URL += "\x00"
	f.Add(r.Append(nil)) // in the older layout
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, v []byte) {
		r, err := DecodeRecord(store.URLKey(nil, 1, 2), v)
		Peek(v, "http://a.example/x")
		if err != nil {
			return
		}
		again, err := DecodeRecord(store.URLKey(nil, 1, r.Order), r.Append(nil))
		if same, depth, class := Peek(v, r.URL); !same || depth != r.Depth || class != r.Class || OriginOf(v) != int(r.Origin) {
			t.Errorf("of %+v it reads %v %v %v", r, same, depth, class)
		}
		if err != nil || again.URL != r.URL || again.FoundOn != r.FoundOn || again.Visit != r.Visit {
			t.Errorf("%+v became %+v (%v)", r, again, err)
		}
	})
}
