package pages

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/s2"
	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

var day = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// page makes a page as the indexer would pass it.
func page(u string, visit uint64, body string) Page {
	p := Page{Title: "title of " + u, Lang: "en"}
	p.URL, p.Visit = canon.URL(u), crawl.VisitID{Epoch: 1, N: visit}
	p.Status, p.FetchedAt, p.ContentType, p.Charset = 200, day.Add(time.Duration(visit)*time.Minute), "text/html", "utf-8"
	p.Size, p.SHA256, p.Depth, p.FoundOn = int64(len(body)), sha256.Sum256([]byte(body)), 2, "https://example.org/"
	p.ETag, p.LastModified = `"tag"`, "Sun, 01 Mar 2026 12:00:00 GMT"
	p.Encoding, p.Body = crawl.EncodingS2, s2.Encode(nil, []byte(body))
	return p
}

func gone(u string, visit uint64, why crawl.Reason) Page {
	p := Page{}
	p.URL, p.Visit, p.Deleted = canon.URL(u), crawl.VisitID{Epoch: 1, N: visit}, why
	return p
}

func openTemp(t testing.TB) *Store {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "pages-0.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Check(); err != nil {
			t.Errorf("Check: %v", err)
		}
		s.Close()
	})
	return s
}

func put(t testing.TB, s *Store, batch ...Page) Result {
	t.Helper()
	r, err := s.Put(batch)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestPutGet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openTemp(t)
		want := page("https://example.org/a?b=c", 1, strings.Repeat("hello ", 1000))
		want.Truncated, want.Directives, want.UnavailableAfter = true, crawl.NoSnippet|crawl.NoArchive, day.AddDate(1, 0, 0)
		if r := put(t, s, want); r != (Result{Stored: 1}) {
			t.Fatalf("Put = %+v", r)
		}
		got, ok, err := s.Get(want.URL)
		if err != nil || !ok {
			t.Fatalf("Get = %v, %v", ok, err)
		}
		if d := time.Since(got.Changed); d < 0 || d > time.Minute {
			t.Errorf("changed %v ago", d)
		}
		want.ID, want.Seq, want.Packed, want.Since, want.Changed = 1, 1, len(want.Body), want.FetchedAt, got.Changed
		if !reflect.DeepEqual(got, want) {
			t.Errorf("Get\n got %+v\nwant %+v", got, want)
		}
		body, err := got.Unpack(nil)
		if err != nil || string(body) != strings.Repeat("hello ", 1000) {
			t.Errorf("Unpack = %d bytes, %v", len(body), err)
		}
		if _, ok, _ := s.Get("https://example.org/other"); ok {
			t.Error("Get found a page never put")
		}
		info := got.Info()
		if info.SnippetAllowed || info.FoundOn == nil || *info.FoundOn != "https://example.org/" || len(info.SHA256) != 64 {
			t.Errorf("Info = %+v", info)
		}
		if st := s.Stats(); st.Pages != 1 || st.Bytes != 6000 || st.Packed != int64(len(want.Body)) || st.LastSeq != 1 {
			t.Errorf("Stats = %+v", st)
		}
	})
}

func TestEmptyBody(t *testing.T) {
	s := openTemp(t)
	p := page("http://example.org/", 1, "")
	p.Encoding, p.Body = crawl.EncodingNone, nil
	put(t, s, p)
	if got, ok, err := s.Get(p.URL); !ok || err != nil || len(got.Body) != 0 {
		t.Errorf("Get = %+v, %v, %v", got, ok, err)
	}
}

// The newest visit wins in any order of arrival, and a batch that is put again changes nothing.
func TestNewestVisitWins(t *testing.T) {
	s := openTemp(t)
	const u = "https://example.org/"
	put(t, s, page(u, 5, "five"))
	if r := put(t, s, page(u, 4, "four"), page(u, 5, "five"), page(u, 3, "three")); r != (Result{Late: 3}) {
		t.Errorf("older and same visit: %+v", r)
	}
	if r := put(t, s, page(u, 6, "six"), page(u, 8, "eight"), page(u, 7, "seven")); r != (Result{Stored: 1, Late: 2}) {
		t.Errorf("three in a batch: %+v", r)
	}
	got, _, _ := s.Get(u)
	if body, _ := got.Unpack(nil); string(body) != "eight" || got.ID != 1 {
		t.Errorf("held: %q, id %d", body, got.ID)
	}
	later := page(u, 1, "next epoch")
	later.Visit.Epoch = 2
	if r := put(t, s, later); r.Stored != 1 {
		t.Errorf("a later epoch with a smaller counter: %+v", r)
	}
	if n := len(changes(t, s, 0)); n != 1 {
		t.Errorf("%d journal entries for one URL, want 1", n)
	}
}

func TestUnchangedKeepsJournal(t *testing.T) {
	s := openTemp(t)
	p := page("https://example.org/", 1, "same")
	put(t, s, p)
	again := page("https://example.org/", 2, "same")
	again.ETag = `"new"`
	if r := put(t, s, again); r != (Result{Unchanged: 1}) {
		t.Errorf("Put = %+v", r)
	}
	got, _, _ := s.Get(p.URL)
	if got.Seq != 1 || got.ETag != `"new"` || !got.FetchedAt.Equal(again.FetchedAt) || got.Visit.N != 2 {
		t.Errorf("held %+v", got)
	}
	again.Visit.N, again.Directives = 3, crawl.NoSnippet
	if r := put(t, s, again); r != (Result{Stored: 1}) {
		t.Errorf("nosnippet is news: %+v", r)
	}
}

// A deletion is remembered with its visit: an older copy that arrives late stays out, and a newer
// one comes back.
func TestTombstones(t *testing.T) {
	s := openTemp(t)
	const u = "https://example.org/secret"
	put(t, s, page(u, 3, "first"))
	noindex := page(u, 5, "")
	noindex.Directives, noindex.Body = crawl.NoIndex, nil
	if r := put(t, s, noindex); r != (Result{Deleted: 1}) {
		t.Errorf("noindex: %+v", r)
	}
	if _, ok, _ := s.Get(u); ok {
		t.Error("a noindex page is held")
	}
	if found, _ := s.ByDigest(sha256.Sum256([]byte("first")), 9); len(found) != 0 {
		t.Error("a removed page is found by digest")
	}
	if ch := changes(t, s, 1); len(ch) != 1 || ch[0].Deleted != crawl.ReasonNoindex || ch[0].ID != 1 || ch[0].Body != nil {
		t.Errorf("Changes = %+v", ch)
	}
	if r := put(t, s, page(u, 4, "late"), noindex); r != (Result{Late: 2}) {
		t.Errorf("late copy and replay: %+v", r)
	}
	put(t, s, gone(u, 6, crawl.ReasonHTTP4xx))
	if r := put(t, s, page(u, 7, "back")); r != (Result{Stored: 1}) {
		t.Errorf("newer copy: %+v", r)
	}
	if st := s.Stats(); st.Pages != 1 || st.Tombstones != 0 {
		t.Errorf("Stats = %+v", st)
	}
	// It never was stored: it is remembered, but followers have nothing to learn.
	seq := s.Stats().LastSeq
	put(t, s, gone("https://example.org/never", 1, crawl.ReasonHTTP4xx))
	if st := s.Stats(); st.LastSeq != seq || st.Tombstones != 1 {
		t.Errorf("Stats = %+v", st)
	}
}

func TestNoIndexIsNeverWritten(t *testing.T) {
	s := openTemp(t)
	p := page("https://example.org/", 1, "UNWANTED-CONTENT")
	p.Encoding, p.Body, p.Directives = crawl.EncodingNone, []byte("UNWANTED-CONTENT"), crawl.NoIndex
	put(t, s, p)
	raw, err := os.ReadFile(s.Path())
	if err != nil || strings.Contains(string(raw), "UNWANTED-CONTENT") {
		t.Errorf("content of a noindex page is in the file (%v)", err)
	}
}

func TestExpire(t *testing.T) {
	s := openTemp(t)
	for i := range 5 {
		p := page(fmt.Sprintf("https://example.org/%d", i), 1, fmt.Sprint(i))
		p.UnavailableAfter = day.Add(time.Duration(i) * time.Hour)
		put(t, s, p)
	}
	moved := page("https://example.org/0", 2, "0")
	moved.UnavailableAfter = day.Add(100 * time.Hour)
	put(t, s, moved)
	if n, err := s.Expire(day.Add(2*time.Hour), 100); n != 2 || err != nil {
		t.Errorf("Expire = %d, %v; want 2", n, err)
	}
	if n, _ := s.Expire(day.Add(2*time.Hour), 100); n != 0 {
		t.Errorf("Expire again = %d", n)
	}
	if r := put(t, s, page("https://example.org/1", 1, "1")); r.Late != 1 {
		t.Errorf("replay of an expired page: %+v", r)
	}
	if st := s.Stats(); st.Pages != 3 || st.Tombstones != 2 {
		t.Errorf("Stats = %+v", st)
	}
}

func TestEachInHostOrder(t *testing.T) {
	s := openTemp(t)
	var want []string
	var batch []Page
	for _, h := range []string{"a.example", "ab.example", "b.example"} {
		for _, o := range []string{"http://" + h, "http://" + h + ":8080", "https://" + h} {
			for i := range 400 {
				want = append(want, fmt.Sprintf("%s/%04d", o, i))
			}
		}
	}
	for _, i := range rand.Perm(len(want)) {
		batch = append(batch, page(want[i], 1, want[i]))
	}
	batch = append(batch, gone("http://a.example/gone", 1, crawl.ReasonHTTP4xx))
	for c := range slices.Chunk(batch, 300) {
		put(t, s, c...)
	}
	var got []string
	if err := s.EachWithBody(func(p Page) error {
		if b, err := p.Unpack(nil); err != nil || string(b) != string(p.URL) {
			t.Fatalf("%s: body %q, %v", p.URL, b, err)
		}
		got = append(got, string(p.URL))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("Each: %d pages, want %d; or the order differs", len(got), len(want))
	}
	n := 0
	s.EachOfHost("ab.example", func(p Page) error { n++; return nil })
	if n != 1200 {
		t.Errorf("EachOfHost: %d pages, want 1200", n)
	}
	stop := errors.New("enough")
	if err := s.Each(func(Page) error { return stop }); err != stop {
		t.Errorf("Each = %v, want the callback's error", err)
	}
}

func TestByDigest(t *testing.T) {
	s := openTemp(t)
	put(t, s, page("https://a.example/", 1, "twin"), page("https://b.example/", 1, "twin"), page("https://c.example/", 1, "other"))
	found, err := s.ByDigest(sha256.Sum256([]byte("twin")), 10)
	if err != nil || len(found) != 2 {
		t.Errorf("ByDigest = %d pages, %v", len(found), err)
	}
}

// Runs are written, skipped where pages have changed, and written again when most of them lead
// nowhere. A digest finds its pages all the time, also after reopening.
func TestDigestRuns(t *testing.T) {
	s := openTemp(t)
	s.digests.run = 50
	most := 0
	for round := range uint64(40) {
		var batch []Page
		for i := range 30 {
			batch = append(batch, page(fmt.Sprintf("https://example.org/%d", i), round+1, fmt.Sprintf("%d of %d", i/2, round/2)))
		}
		put(t, s, batch...)
		for _, i := range []int{0, 7, 29} {
			found, err := s.ByDigest(batch[i].SHA256, 10)
			if err != nil || len(found) != 2 {
				t.Fatalf("round %d: ByDigest = %d pages, %v; want 2", round, len(found), err)
			}
		}
		if found, _ := s.ByDigest(sha256.Sum256([]byte(fmt.Sprintf("0 of %d", round/2-1))), 10); len(found) != 0 {
			t.Fatalf("round %d: an old digest finds %d pages", round, len(found))
		}
		known := 0
		s.db.View(func(tx *bolt.Tx) error {
			return tx.Bucket(bucketDigests).ForEach(func(_, run []byte) error { known += len(run) / digestEntry; return nil })
		})
		if most = max(most, known); known > 2*30+5*50+50 {
			t.Fatalf("round %d: %d entries for 30 pages", round, known)
		}
	}
	if most < 200 {
		t.Errorf("never more than %d entries: nothing was written anew", most)
	}
	again := digests{run: 50}
	if err := s.db.View(again.load); err != nil || string(again.recent) != string(sortedLive(s, again.recent)) {
		t.Errorf("read back: %v", err)
	}
}

// Sorting a run needs no memory besides the run, however long it is.
func TestDigestRunSortedInPlace(t *testing.T) {
	var arrived []byte
	for i := range uint64(100_000) {
		arrived = appendEntry(arrived, sha256.Sum256(be64(i%70_000)), i)
	}
	run := make([]byte, len(arrived))
	if n := testing.AllocsPerRun(3, func() { copy(run, arrived); sort.Sort(entriesInOrder(run)) }); n > 1 {
		t.Errorf("%v allocations", n)
	}
	want := slices.Collect(slices.Chunk(arrived, digestEntry))
	slices.SortFunc(want, bytes.Compare)
	if !bytes.Equal(run, slices.Concat(want...)) {
		t.Error("not the same entries in order")
	}
}

// sortedLive keeps the entries that lead to a page, because load makes no others.
func sortedLive(s *Store, entries []byte) (live []byte) {
	s.db.View(func(tx *bolt.Tx) error {
		for e := range slices.Chunk(entries, digestEntry) {
			if tx.Bucket(bucketChanges).Get(e[8:]) != nil {
				live = append(live, e...)
			}
		}
		return nil
	})
	return live
}

func changes(t testing.TB, s *Store, after uint64) (all []Page) {
	t.Helper()
	for {
		ch, err := s.Feed().Changes(after, 7)
		if err != nil {
			t.Fatal(err)
		}
		if len(ch) == 0 {
			return all
		}
		all = append(all, ch...)
		after = ch[len(ch)-1].Seq
	}
}

// A follower that reads the change feed in pieces while pages come and go ends with the content of
// the store, and so does the model: the newest visit of each URL.
func TestRandomAgainstModel(t *testing.T) {
	s := openTemp(t)
	rng := rand.New(rand.NewPCG(1, 2))
	type state struct {
		visit uint64
		body  string // "" = gone
	}
	model, follower := map[canon.URL]state{}, map[canon.URL]string{}
	cursor := uint64(0)
	for range 150 {
		var batch []Page
		for range 1 + rng.IntN(20) {
			u := fmt.Sprintf("https://h%d.example/%d", rng.IntN(3), rng.IntN(20))
			visit, body := rng.Uint64N(1000)+1, fmt.Sprintf("body %d", rng.IntN(3))
			p := page(u, visit, body)
			if rng.IntN(4) == 0 {
				p, body = gone(u, visit, crawl.ReasonHTTP4xx), ""
			}
			if m, ok := model[p.URL]; ok && m.visit == visit {
				continue // two contents for one visit: no crawl makes that
			}
			batch = append(batch, p)
			if m := model[p.URL]; visit > m.visit {
				model[p.URL] = state{visit, body}
			}
		}
		put(t, s, batch...)
		for rng.IntN(2) == 0 {
			ch, err := s.Feed().Changes(cursor, 5)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range ch {
				cursor = p.Seq
				delete(follower, p.URL)
				if p.Deleted == "" {
					b, _ := p.Unpack(nil)
					follower[p.URL] = string(b)
				}
			}
		}
	}
	behind := s.Feed().Behind(cursor)
	rest := changes(t, s, cursor)
	if behind != int64(len(rest)) {
		t.Errorf("Behind = %d, the journal has %d", behind, len(rest))
	}
	for _, p := range rest {
		delete(follower, p.URL)
		if p.Deleted == "" {
			b, _ := p.Unpack(nil)
			follower[p.URL] = string(b)
		}
	}
	want, held := map[canon.URL]string{}, map[canon.URL]string{}
	for u, m := range model {
		if m.body != "" {
			want[u] = m.body
		}
	}
	s.EachWithBody(func(p Page) error { b, _ := p.Unpack(nil); held[p.URL] = string(b); return nil })
	if !reflect.DeepEqual(held, want) {
		t.Errorf("held %d pages, model %d; or they differ", len(held), len(want))
	}
	if !reflect.DeepEqual(follower, want) {
		t.Errorf("follower has %d pages, model %d; or they differ", len(follower), len(want))
	}
}

func TestChangedWakesFollowers(t *testing.T) {
	s := openTemp(t)
	ch := s.Feed().Changed()
	put(t, s, page("https://example.org/", 1, "x"))
	select {
	case <-ch:
	default:
		t.Error("a commit did not close the channel")
	}
	ch = s.Feed().Changed()
	put(t, s, page("https://example.org/", 2, "x"))
	select {
	case <-ch:
		t.Error("an unchanged page woke followers")
	default:
	}
	// A message without a change of a page wakes only the sender of messages.
	queued := s.Outbox().Changed()
	put(t, s, renewal("https://example.org/never", 1))
	select {
	case <-ch:
		t.Error("a message woke followers")
	default:
	}
	select {
	case <-queued:
	default:
		t.Error("a message did not wake its sender")
	}
}

func TestKeysRoundTrip(t *testing.T) {
	for _, u := range []canon.URL{"http://a.example/", "https://a.example/?q", "http://a.example:8080/x/y?z=/",
		"https://a.example:80/", "http://[::1]:99/", "https://1.2.3.4/%00"} {
		if got := parseKey(appendKey(nil, u)); got != u {
			t.Errorf("parseKey(appendKey(%s)) = %s", u, got)
		}
	}
}
