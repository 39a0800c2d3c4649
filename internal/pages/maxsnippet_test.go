package pages

import (
	"bytes"
	"testing"
	"time"

	"github.com/curtsy/curtsy/pkg/canon"
)

// A record without a length is the same as before lengths existed, byte for byte. A record with a
// length only grows at its end, where an older version stops reading.
func TestMaxSnippetInARecord(t *testing.T) {
	for _, since := range []time.Time{{}, day} {
		plain := page(a, 1, "body")
		plain.ID, plain.Seq, plain.Since = 1, 1, since
		limited := plain
		limited.MaxSnippet, limited.MetaMaxSnippet = 20, 1<<31-1
		old, b := appendRecord(nil, &plain), appendRecord(nil, &limited)
		if !bytes.HasPrefix(b, old) || len(b) == len(old) {
			t.Errorf("%x does not begin with %x", b, old)
		}
		for _, want := range []Page{plain, limited} {
			got, err := parseRecord(a, appendRecord(nil, &want))
			if err != nil || got.MaxSnippet != want.MaxSnippet || got.MetaMaxSnippet != want.MetaMaxSnippet || !got.Since.Equal(since) {
				t.Errorf("%d, %d, since %v, %v; want %d, %d, since %v", got.MaxSnippet, got.MetaMaxSnippet, got.Since, err,
					want.MaxSnippet, want.MetaMaxSnippet, since)
			}
		}
		for n := len(old) + 1; n < len(b); n++ {
			if p, err := parseRecord(a, b[:n]); err == nil && p.MetaMaxSnippet != 0 {
				t.Errorf("%d bytes of %d: read as %d", n, len(b), p.MetaMaxSnippet)
			}
		}
	}
}

// Followers of the change feed learn that the length for a page has changed, and it is still there
// when the store is opened again. In an older store pages have none.
func TestMaxSnippetIsKept(t *testing.T) {
	path := unpacked(t, "testdata/format2.db.gz")
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	const u = "https://old.example/1"
	if p, ok, err := s.Get(u); !ok || err != nil || p.MaxSnippet != 0 || p.MetaMaxSnippet != 0 {
		t.Errorf("before: %+v, %v, %v", p, ok, err)
	}
	again := page(u, 2, "one")
	again.MaxSnippet, again.MetaMaxSnippet = 20, 50
	put(t, s, page(a, 1, "body"), again)
	limited := page(a, 2, "body")
	limited.MaxSnippet = 7
	if r := put(t, s, limited); r != (Result{Stored: 1}) {
		t.Errorf("a page with another length: %+v", r)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(path, Options{}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for u, want := range map[string][2]int{u: {20, 50}, a: {7, 0}} {
		p, _, err := s.Get(canon.URL(u))
		if got := [2]int{p.MaxSnippet, p.MetaMaxSnippet}; got != want || err != nil || p.Info().MaxSnippet != want[0] {
			t.Errorf("%s: %v, %v, want %v", u, got, err, want)
		}
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}
