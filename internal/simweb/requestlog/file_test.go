package requestlog

import (
	"path/filepath"
	"testing"
	"time"
)

// What a log writes to its file is read back with every field.
func TestFileKeepsEveryField(t *testing.T) {
	file := filepath.Join(t.TempDir(), "requests.jsonl")
	l := New(2)
	if err := l.Open(file); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	want := Request{
		Start: now, Host: "a", Origin: "a:8080", Method: "GET", Path: "/x?\"\u00e9", Range: "bytes=0-1", UserAgent: testAgent, Peer: "127.0.0.1",
		Signer: "https://bot.example.org", Forbidden: true, Hidden: true, Robots: true, Agent: true, CrawlDelay: time.Second,
	}
	e := l.Begin(want)
	l.End(&e, now.Add(time.Millisecond), 503, 2*time.Second, 77, true)
	want.End, want.Status, want.RetryAfter, want.Bytes, want.Aborted = now.Add(time.Millisecond), 503, 2*time.Second, 77, true
	if kept := l.Requests(); len(kept) != 1 || kept[0] != want {
		t.Errorf("kept %+v, want %+v", kept, want)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	read, err := Read(file)
	if err != nil || len(read) != 1 {
		t.Fatalf("read %+v, %v", read, err)
	}
	if got := read[0]; got.End.Sub(got.Start) != time.Millisecond {
		t.Errorf("the answer took %v, want 1ms", got.End.Sub(got.Start))
	}
	read[0].Start, read[0].End = want.Start, want.End // only the wall clock is in the file
	if read[0] != want {
		t.Errorf("read %+v, want %+v", read[0], want)
	}
}

func TestLogIsBounded(t *testing.T) {
	l := New(1)
	first, second := l.Begin(req(0, -1, "/")), l.Begin(req(0, -1, "/a"))
	l.End(&second, noon, 200, 0, 1, false)
	l.End(&first, noon, 404, 0, 1, false)
	if kept := l.Requests(); len(kept) != 1 || kept[0].Path != "/" || kept[0].Status != 404 || l.Dropped() != 1 {
		t.Errorf("kept %+v and dropped %d, want the first of two", kept, l.Dropped())
	}
	late := l.Begin(req(0, -1, "/b"))
	l.Reset()
	l.End(&late, noon, 200, 0, 1, false)
	if kept := l.Requests(); len(kept) != 0 || l.Dropped() != 0 {
		t.Errorf("after a reset: %+v, %d dropped", kept, l.Dropped())
	}
}
