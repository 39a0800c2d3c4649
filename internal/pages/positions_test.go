package pages

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// A position begins once, advances by acknowledgements and never goes back, and is on disk when an
// acknowledgement returns. With another setup, or past the end of the change feed, it begins again.
func TestPositions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pages-0.db")
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, page("https://a.example/1", 1, "x"), page("https://a.example/2", 1, "x"), page("https://a.example/3", 1, "x"))
	now := crawl.FeedEpoch.Add(1000 * time.Second)
	begin := func(setup string) crawl.FeedPosition {
		t.Helper()
		p, err := s.Feed().Begin("out", setup, nil, now)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	ack := func(a crawl.FeedAck) crawl.FeedPosition {
		t.Helper()
		a.Sink = "out"
		p, err := s.Feed().Acknowledge(&a, now)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if p, err := s.Feed().Acknowledge(&crawl.FeedAck{Sink: "out", Generation: 1000, Seq: 1}, now); err != nil || p.Generation != 0 {
		t.Errorf("no position yet: %+v, %v", p, err)
	}
	p := begin("a")
	if p.Generation != 1000 || p.Cursor != 0 || p.Floor != 3 || p.Swept {
		t.Errorf("%+v", p)
	}
	if p = ack(crawl.FeedAck{Generation: 1000, Seq: 2, Sent: 2, Refused: 1}); p.Cursor != 2 || p.Sent != 2 || p.Refused != 1 {
		t.Errorf("%+v", p)
	}
	for _, late := range []crawl.FeedAck{{Generation: 1000, Seq: 2, Sent: 2}, {Generation: 1000, Seq: 1, Sent: 1}, {Generation: 999, Seq: 3}, {Generation: 1000, Seq: 2, Swept: true}} {
		if p = ack(late); p.Cursor != 2 || p.Sent != 2 || p.Swept {
			t.Errorf("%+v after %+v", p, late)
		}
	}
	if p = ack(crawl.FeedAck{Generation: 1000, Seq: 2, Trouble: strings.Repeat("x", 2000)}); len(p.Trouble) != 1000 {
		t.Errorf("%+v", p)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(path, Options{}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if p = begin("a"); p.Cursor != 2 || p.Sent != 2 || p.Trouble == "" {
		t.Errorf("after a restart: %+v", p)
	}
	if p = ack(crawl.FeedAck{Generation: 1000, Seq: 3, Sent: 1, Swept: true}); !p.Swept || p.Trouble != "" {
		t.Errorf("%+v", p)
	}
	if all, err := s.Feed().Positions(); err != nil || len(all) != 1 || all[0].Behind != 0 || all[0].Sink != "out" {
		t.Errorf("%+v, %v", all, err)
	}
	if p = begin("b"); p.Generation != 1001 || p.Cursor != 0 || p.Swept || p.Sent != 3 {
		t.Errorf("with another setup: %+v", p)
	}
	if _, err := s.Feed().Acknowledge(&crawl.FeedAck{Sink: "out", Generation: 1001, Seq: 4}, now); err == nil {
		t.Error("a change that does not exist was acknowledged")
	}
}

// There are 16 positions at most, with names of 64 bytes at most; a position that was forgotten
// makes room.
func TestPositionLimits(t *testing.T) {
	s := openTemp(t)
	for i := range MaxFeeds {
		if _, err := s.Feed().Begin(fmt.Sprint("sink-", i), "", nil, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Feed().Begin("one-more", "", nil, time.Now()); err == nil || !strings.Contains(err.Error(), "--forget") {
		t.Errorf("%v", err)
	}
	for range 2 {
		if _, err := s.Feed().ForgetSink("sink-3"); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"", "a/b", strings.Repeat("x", crawl.MaxFeedName+1), "-a"} {
		if _, err := s.Feed().Begin(name, "", nil, time.Now()); err == nil {
			t.Errorf("the name %q was accepted", name)
		}
	}
	if _, err := s.Feed().Begin(strings.Repeat("x", crawl.MaxFeedName), "", nil, time.Now()); err != nil {
		t.Error(err)
	}
}

// A crash at the commit of an acknowledgement leaves the position as it was, and the same
// acknowledgement then counts once.
func TestPositionCrash(t *testing.T) {
	killed, fail := errors.New("killed"), false
	s, err := Open(filepath.Join(t.TempDir(), "pages-0.db"), Options{Fault: func(point string) error {
		if fail && strings.HasPrefix(point, "commit ") {
			return killed
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	put(t, s, page("https://a.example/1", 1, "x"))
	p, err := s.Feed().Begin("out", "", nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	fail = true
	ack := &crawl.FeedAck{Sink: "out", Generation: p.Generation, Seq: 1, Sent: 1}
	if _, err := s.Feed().Acknowledge(ack, time.Now()); !errors.Is(err, killed) {
		t.Fatalf("%v", err)
	}
	fail = false
	for range 2 {
		if p, err = s.Feed().Acknowledge(ack, time.Now()); err != nil || p.Cursor != 1 || p.Sent != 1 {
			t.Errorf("%+v, %v", p, err)
		}
	}
}

// What becomes an alias, or is none any more, and a page whose aliases change, get a number in the
// change feed.
func TestAliasesAreChanges(t *testing.T) {
	s := openTemp(t)
	put(t, s, page("https://m.example/1", 1, "x"), page("https://a.example/1", 2, "x"))
	at := s.Stats().LastSeq
	next := func() (urls []string) {
		t.Helper()
		for _, p := range changes(t, s, at) {
			urls = append(urls, string(p.URL)+" "+string(p.AliasOf))
		}
		at = s.Stats().LastSeq
		return urls
	}
	glue(t, s, alias("https://m.example/1", 3, "https://a.example/1"))
	if got := next(); len(got) != 2 {
		t.Errorf("an alias: %q", got)
	}
	glue(t, s, alias("https://m.example/1", 4, ""))
	if got := next(); len(got) != 1 || got[0] != "https://a.example/1 " {
		t.Errorf("no alias, but its copy is gone: %q", got)
	}
	put(t, s, page("https://m.example/1", 5, "x"))
	if got := next(); len(got) != 1 {
		t.Errorf("stored again: %q", got)
	}
	if err := s.Renumber(func(p *Page) bool { return p.URL == "https://m.example/1" }); err != nil {
		t.Fatal(err)
	}
	if got := next(); len(got) != 1 || got[0] != "https://m.example/1 " {
		t.Errorf("renumbered: %q", got)
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}

// The entries that positions obey are stored as long as one of them obeys them.
func TestConcealed(t *testing.T) {
	s := openTemp(t)
	put(t, s, page("https://a.example/1", 1, "x"))
	old, next := []string{"a.example", "https://b.example/x"}, []string{"a.example"}
	p, err := s.Feed().Begin("one", "", old, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Feed().Begin("two", "", old, time.Now()); err != nil {
		t.Fatal(err)
	}
	has := func(entries []string, want bool) {
		t.Helper()
		got, known, err := s.Feed().Concealed(crawl.Spec{Forgotten: entries}.ForgottenText())
		if err != nil || known != want || known && !slices.Equal(got, entries) {
			t.Errorf("%q: %q, %v, %v", entries, got, known, err)
		}
	}
	has(nil, true)
	has(old, true)
	has(next, false)
	for range 2 {
		if err := s.Feed().Conceal("one", p.Generation, next); err != nil {
			t.Fatal(err)
		}
		has(old, true)
		has(next, true)
	}
	if err := s.Feed().Conceal("two", p.Generation, nil); err != nil {
		t.Fatal(err)
	}
	has(old, false)
	has(next, true)
}
