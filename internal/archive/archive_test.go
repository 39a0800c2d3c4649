package archive

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/warc"
	"github.com/curtsy/curtsy/pkg/canon"
)

var day = time.Date(2026, 11, 24, 2, 0, 0, 5e6, time.UTC)

// page returns a page of a visit, with its capture.
func page(u string, visit uint64, body string) pages.Page {
	p := pages.Page{Page: crawl.Page{
		URL: canon.URL(u), Visit: crawl.VisitID{Epoch: 1, N: visit}, Status: 200, FetchedAt: day.Add(time.Duration(visit) * time.Hour),
		ContentType: "text/html", Charset: "utf-8", Size: int64(len(body)), SHA256: sha256.Sum256([]byte(body)), Body: []byte(body),
	}}
	head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Visit: %d\r\nContent-Length: %d\r\n\r\n", visit, len(body))
	p.Capture = &crawl.Capture{Number: 1, Request: []byte("GET / HTTP/1.1\r\n\r\n"), Response: []byte(head), OfPage: true, IP: "192.0.2.1", Links: s2.Encode(nil, []byte("outlink: "+u+"x\r\n"))}
	return p
}

// alone returns a capture without a page.
func alone(u string, visit uint64, number int, text string) pages.Page {
	return pages.Page{Page: crawl.Page{Kind: crawl.KindCapture, URL: canon.URL(u), Visit: crawl.VisitID{Epoch: 1, N: visit},
		FetchedAt: day.Add(time.Duration(visit) * time.Hour), Capture: &crawl.Capture{Number: number, Request: []byte("GET / HTTP/1.1\r\n\r\n"), Response: []byte(text), IP: "::1"}}}
}

// world is a store and its archive.
type world struct {
	t        *testing.T
	db, dir  string
	store    *pages.Store
	archive  *Shard
	maxFile  int64
	maxStore int
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, db: filepath.Join(t.TempDir(), "pages.db"), dir: t.TempDir()}
	w.open()
	t.Cleanup(func() { w.store.Close() })
	return w
}

func (w *world) open() {
	w.t.Helper()
	var err error
	if w.store, err = pages.Open(w.db, pages.Options{MaxSize: w.maxStore, Mmap: 1 << 20}); err != nil {
		w.t.Fatal(err)
	}
	w.archive, err = Open(w.store, Options{Crawl: "t", MaxFile: w.maxFile})
	w.must(err)
	w.must(w.archive.SetDir(w.dir))
}

// die ends the process like a kill, and starts the next.
func (w *world) die() {
	w.archive.letGo()
	w.store.Close()
	w.open()
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) put(batch ...pages.Page) {
	w.t.Helper()
	_, err := w.archive.Put(batch)
	w.must(err)
}

// close closes the archive, and returns its records in the order of the files' names. Each file
// must be complete, with an index that lists its answers.
func (w *world) close() (all []string) {
	w.t.Helper()
	w.must(w.archive.Close())
	_, err := w.archive.Tidy()
	w.must(err)
	return w.records()
}

func (w *world) records() (all []string) {
	w.t.Helper()
	names, err := os.ReadDir(w.dir)
	w.must(err)
	for _, n := range names {
		path := filepath.Join(w.dir, n.Name())
		if strings.HasSuffix(path, indexSuffix) {
			continue
		}
		if !strings.HasSuffix(path, ".warc.gz") {
			w.t.Errorf("%s is left", path)
			continue
		}
		f, err := os.Open(path)
		w.must(err)
		in, answers := warc.NewReader(f), 0
		for {
			rec, err := in.Next()
			if err == io.EOF {
				break
			}
			w.must(err)
			block, err := io.ReadAll(rec)
			w.must(err)
			if k := rec.Type(); k == warc.Response || k == warc.Revisit || k == warc.Resource {
				answers++
			}
			text := rec.Type() + " " + rec.URI()
			if p := rec.Get("WARC-Profile"); p != "" {
				text += " " + p[strings.LastIndexByte(p, '/')+1:] + " of " + rec.Get("WARC-Refers-To-Date")
			}
			if d := rec.Get("WARC-Block-Digest"); d != "" && d != warc.Digest(block) {
				w.t.Errorf("%s: its digest is another: %q", text, block)
			}
			all = append(all, text+" "+string(block))
		}
		f.Close()
		w.must(readIndex(path, func(e warc.Entry) error { answers--; return nil }))
		if answers != 0 {
			w.t.Errorf("%s: its index has %d answers too few", path, answers)
		}
	}
	return all
}

// of returns the records of these types, without the texts of blocks.
func of(all []string, kinds ...string) (some []string) {
	for _, r := range all {
		if kind, rest, _ := strings.Cut(r, " "); slices.Contains(kinds, kind) {
			head, _, _ := strings.Cut(rest, " HTTP/")
			some = append(some, kind+" "+head)
		}
	}
	return some
}

func want(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

const a1, a2, b1 = "http://a.example/1", "http://a.example/2", "http://b.example/"

// A capture is archived once, even if it arrives repeatedly. An answer that equals the last one of
// its URL is a revisit of that one, and so is a 304. A different answer is not, and neither is one
// that equals an answer of another URL only.
func TestRevisits(t *testing.T) {
	w := newWorld(t)
	first := page(a1, 1, "one")
	w.put(first, page(a2, 1, "one"), alone(b1, 1, 1, "HTTP/1.1 404 No\r\n\r\nnot here"))
	w.put(first, alone(b1, 1, 1, "HTTP/1.1 404 No\r\n\r\nnot here")) // again
	w.put(page(a1, 2, "one"), alone(b1, 1, 2, "HTTP/1.1 404 No\r\n\r\nnot here"), alone(b1, 2, 1, "HTTP/1.1 200 OK\r\n\r\nnot here"))
	again := page(a1, 3, "")
	again.Renewed, again.Body, again.Capture.OfPage, again.Capture.Response = true, nil, false, []byte("HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n")
	w.put(again)
	w.put(page(a1, 4, "two"))
	w.put(page(a1, 3, "late"))
	want(t, "answers", of(w.close(), warc.Response, warc.Revisit),
		"response "+b1, "response "+a1, "response "+a2,
		"revisit "+b1+" identical-payload-digest of 2026-11-24T03:00:00.005Z", "response "+b1,
		"revisit "+a1+" identical-payload-digest of 2026-11-24T03:00:00.005Z",
		"revisit "+a1+" server-not-modified of 2026-11-24T03:00:00.005Z",
		"response "+a1)
	// An archive in another directory is empty at first, so it has no record to which a 304 could
	// refer.
	w.dir = t.TempDir()
	w.must(w.archive.SetDir(w.dir))
	again.Visit.N = 5
	w.put(again, page(a2, 5, "one"))
	want(t, "elsewhere", of(w.close(), warc.Response, warc.Revisit), "response "+a2, "response "+a1)
}

// brought is a page that a mobile robot brought: without a request and a response.
func brought(u string, visit uint64, body string) pages.Page {
	p := page(u, visit, body)
	p.Capture = &crawl.Capture{Number: 1, Type: "text/html; charset=utf-8", OfPage: true, CRC: crc32.ChecksumIEEE([]byte(body)), Links: p.Capture.Links}
	return p
}

// A document that was not requested becomes a resource, whose block is the document, and that has
// no request. If it comes again it is a revisit; a response never refers to a resource, nor the
// other way round. A document of another type than its page, such as a PDF file, is archived as it
// came. What was not committed when the process was killed comes again and is archived once.
func TestResources(t *testing.T) {
	w := newWorld(t)
	first := brought(a1, 1, "one")
	w.put(first)
	w.put(first) // again
	w.die()
	w.put(first)
	w.put(brought(a1, 2, "one"), page(a2, 2, "two"))
	w.put(page(a1, 3, "one"), brought(a2, 3, "two"))
	w.die()
	again := page(a2, 4, "")
	again.Renewed, again.Body, again.Capture.OfPage, again.Capture.Response = true, nil, false, []byte("HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n")
	w.put(again)
	paper := brought(b1, 4, "<p>its text")
	paper.ContentType, paper.Encoding, paper.Body = "application/pdf", crawl.EncodingS2, s2.Encode(nil, paper.Body)
	paper.Capture = &crawl.Capture{Number: 1, Type: "application/pdf", Response: s2.Encode(nil, []byte("%PDF-1.7 HTTP/1.1 200 OK\r\n\r\n")), Encoding: crawl.EncodingS2}
	w.put(paper)
	all := w.close()
	want(t, "answers", of(all, warc.Response, warc.Resource, warc.Revisit, warc.Request),
		"resource "+a1+" one", "revisit "+a1+" identical-payload-digest of 2026-11-24T03:00:00.005Z ",
		"response "+a2, "request "+a2+" GET /", "response "+a1, "request "+a1+" GET /", "resource "+a2+" two",
		"response "+a2, "request "+a2+" GET /", "resource "+b1+" %PDF-1.7")
	if metadata := of(all, warc.Metadata); len(metadata) != 7 || strings.Contains(strings.Join(all[:3], "\n"), "fetchTimeMs") {
		t.Errorf("metadata: %q in %q", metadata, all)
	}
	paths, err := filepath.Glob(filepath.Join(w.dir, "*.warc.gz"))
	w.must(err)
	answers := 0
	for _, path := range paths {
		listed := map[int64]warc.Entry{}
		w.must(readIndex(path, func(e warc.Entry) error { listed[e.Offset] = e; return nil }))
		f, err := os.Open(path)
		w.must(err)
		w.must(warc.Entries(f, filepath.Base(path), func(e warc.Entry) error {
			answers++
			if listed[e.Offset] != e {
				t.Errorf("the index has %+v, the file %+v", listed[e.Offset], e)
			}
			if e.Status == "" && e.Mime != "text/html" && e.Mime != "application/pdf" && e.Mime != warc.MimeRevisit {
				t.Errorf("a resource of type %q", e.Mime)
			}
			return nil
		}))
		f.Close()
	}
	if answers != 7 {
		t.Errorf("%d answers", answers)
	}
}

// Pages that may not be archived are not: after a noarchive that a 304 did not revoke, and pages
// that are gone.
func TestNotKept(t *testing.T) {
	w := newWorld(t)
	secret := page(a1, 1, "quokka")
	secret.Directives = crawl.NoArchive
	again := page(a1, 2, "")
	again.Renewed, again.Body, again.Capture.OfPage, again.Capture.Response = true, nil, false, []byte("HTTP/1.1 304 Not Modified\r\n\r\n")
	gone := page(a2, 1, "quokka")
	gone.Deleted, gone.Body = crawl.ReasonHTTP4xx, nil
	late := page(b1, 1, "quokka")
	late.UnavailableAfter = day.AddDate(1, 0, 0)
	w.put(secret, gone, late)
	w.put(again)
	if all := w.close(); len(all) > 1 {
		t.Errorf("%q", all)
	}
}

// No file exceeds the limit, except for one capture that does. An archive of many files has all
// captures, in order.
func TestFilesEnd(t *testing.T) {
	w := newWorld(t)
	w.archive.o.MaxFile = 4 << 10
	var wanted []string
	for i := range uint64(8) {
		var batch []pages.Page
		for j := range 5 {
			u := fmt.Sprintf("http://a.example/%d/%d", i, j)
			batch, wanted = append(batch, page(u, 1, u)), append(wanted, "response "+u)
		}
		w.put(batch...)
	}
	want(t, "answers", of(w.close(), warc.Response), wanted...)
	files, err := filepath.Glob(filepath.Join(w.dir, "*.warc.gz"))
	w.must(err)
	for _, f := range files {
		if info, err := os.Stat(f); err != nil || info.Size() > 4<<10 {
			t.Errorf("%s: %v, %d bytes", f, err, info.Size())
		}
	}
	if len(files) < 5 || len(files) > 20 {
		t.Errorf("%d files", len(files))
	}
}

// The size of an archive includes its files, also the open one, and no others. It may be some
// seconds old.
func TestSizes(t *testing.T) {
	w := newWorld(t)
	if files, bytes := new(Sizes).Of([]*pages.Store{w.store}); files != 0 || bytes != 0 {
		t.Errorf("of nothing: %d files, %d bytes", files, bytes)
	}
	w.archive.o.MaxFile = 4 << 10
	for i := range uint64(8) {
		w.put(page(fmt.Sprintf("http://a.example/%d", i), 1, strings.Repeat("text", 200*int(i))))
	}
	for _, name := range []string{"t-20261122000000-00000-00000000.warc.gz", "notes.warc.gz", "x.cdxj"} {
		w.must(os.WriteFile(filepath.Join(w.dir, name), []byte("of somebody else"), 0o600))
	}
	var n, sum int64
	entries, err := os.ReadDir(w.dir)
	w.must(err)
	for _, e := range entries {
		if strings.HasSuffix(strings.TrimSuffix(e.Name(), openSuffix), "-"+w.archive.id+".warc.gz") {
			info, err := e.Info()
			w.must(err)
			n, sum = n+1, sum+info.Size()
		}
	}
	var s Sizes
	if files, bytes := s.Of([]*pages.Store{w.store}); files != n || bytes != sum || n < 2 {
		t.Errorf("%d files, %d bytes, want %d, %d", files, bytes, n, sum)
	}
	w.must(os.RemoveAll(w.dir))
	if files, _ := s.Of([]*pages.Store{w.store}); files != n {
		t.Errorf("looked at again at once: %d files", files)
	}
	if files, bytes := new(Sizes).Of([]*pages.Store{w.store}); files != 0 || bytes != 0 {
		t.Errorf("without its directory: %d files, %d bytes", files, bytes)
	}
	w.must(os.MkdirAll(w.dir, 0o700))
}

// After a kill at any line, the archive has exactly what was committed.
func TestKilled(t *testing.T) {
	w := newWorld(t)
	w.put(page(a1, 1, "one"))
	w.die()
	name := func() string {
		names, err := filepath.Glob(filepath.Join(w.dir, "*"+openSuffix))
		w.must(err)
		for _, n := range names {
			if strings.HasSuffix(n, ".warc.gz"+openSuffix) {
				return n
			}
		}
		t.Fatal("no file is open")
		return ""
	}
	w.put(page(a2, 1, "two"))
	// The next batch was being written to the disk, and to the next file; one file is being
	// indexed.
	f, err := os.OpenFile(name(), os.O_APPEND|os.O_WRONLY, 0)
	w.must(err)
	f.WriteString("\x1f\x8b half of a record")
	f.Close()
	for _, stray := range []string{fmt.Sprintf("t-20261124050000-%05d-%s.warc.gz.open", w.archive.st.Serial, w.archive.id),
		fmt.Sprintf("t-20261124030000-00000-%s.warc.gz.cdxj.new", w.archive.id), fmt.Sprintf("t-20261124030000-00000-%s.warc.gz.new", w.archive.id)} {
		w.must(os.WriteFile(filepath.Join(w.dir, stray), []byte("half"), 0o600))
	}
	w.die()
	w.put(page(b1, 1, "three"))
	// A file was closed in the commit, and already has its final name.
	w.must(w.archive.save(func() state {
		next := w.archive.st
		next.Ended, next.Open = append(next.Ended, *next.Open), nil
		return next
	}()))
	w.die()
	want(t, "answers", of(w.close(), warc.Response), "response "+a1, "response "+a2, "response "+b1)
	// A file of another store is not touched, and neither is a file that was named in a commit.
	other := filepath.Join(w.dir, "t-20261124050000-00009-ffffffff.warc.gz.open")
	old := filepath.Join(w.dir, "t-20261124050000-00000-"+w.archive.id+".warc.gz.open")
	w.must(errors.Join(os.WriteFile(other, nil, 0o600), os.WriteFile(old, nil, 0o600)))
	w.die()
	for _, n := range []string{other, old} {
		if err := os.Remove(n); err != nil {
			t.Error(err)
		}
	}
}

// A truncated body is marked as such, with the reason.
func TestTruncated(t *testing.T) {
	w := newWorld(t)
	var got []string
	for i, by := range []crawl.CutBy{crawl.CutByLength, crawl.CutByTime, crawl.CutByDisconnect, crawl.CutUnspecified, 99} {
		c := alone(fmt.Sprint(a1, i), 1, 1, "HTTP/1.1 410 Gone\r\nContent-Length: 99\r\n\r\nhalf")
		c.Capture.Cut, c.Capture.CutBy = true, by
		w.put(c)
	}
	w.put(alone(a1, 1, 1, "HTTP/1.1 410 Gone\r\nContent-Length: 4\r\n\r\nhalf"))
	path := w.archive.st.Open.path()
	w.close()
	f, err := os.Open(path)
	w.must(err)
	defer f.Close()
	for in := warc.NewReader(f); ; {
		rec, err := in.Next()
		if err == io.EOF {
			break
		}
		w.must(err)
		if rec.Type() == warc.Response {
			got = append(got, rec.Get("WARC-Truncated"))
		}
	}
	want(t, "WARC-Truncated", got, "length", "time", "disconnect", "unspecified", "unspecified", "")
}

// A batch that the store refuses is not archived, even if it has started new files. A batch that
// the archive refuses is not stored.
func TestNotCommitted(t *testing.T) {
	w := newWorld(t)
	w.put(page(a1, 1, "one"))
	w.store.Close()
	w.maxStore = 1 << 20
	w.open()
	w.archive.o.MaxFile = 64 << 10
	large := page(a2, 1, strings.Repeat("x", 2<<20))
	more := page("http://a.example/3", 1, "m")
	if _, err := w.archive.Put([]pages.Page{more, large}); !errors.Is(err, pages.ErrNoSpace) {
		t.Fatal(err)
	}
	w.put(page(b1, 1, "two"))
	want(t, "answers", of(w.close(), warc.Response), "response "+a1, "response "+b1)

	w.must(w.archive.SetDir(filepath.Join(w.db, "no directory")))
	if _, err := w.archive.Put([]pages.Page{more}); !errors.Is(err, ErrWrite) {
		t.Error(err)
	}
	if _, known, err := w.store.Get(more.URL); err != nil || known {
		t.Error("a page is stored that is not archived")
	}
	w.must(w.archive.SetDir(w.dir))
	w.put(more)
	want(t, "answers", of(w.close(), warc.Response), "response "+a1, "response "+b1, "response http://a.example/3")
}

// Forgotten URLs leave no trace in the files, even if forgetting was interrupted. The rest stays
// unchanged, to the byte. A file with nothing else is removed.
func TestForget(t *testing.T) {
	w := newWorld(t)
	secret := "http://a.example/secret/1"
	w.put(page(a1, 1, "one"), page(secret, 1, "quokka"), alone("http://b.example/robots.txt", 1, 1, "HTTP/1.1 200 OK\r\n\r\nquokka"))
	w.put(page(secret, 2, "quokka"))
	w.must(w.archive.Close())
	w.put(page(secret, 3, "quokka too"))
	w.must(w.archive.Close())
	w.put(page(a2, 1, "two"), page(b1, 1, "quokka"))
	entries := []string{"b.example", "http://a.example/secret/"}
	f := crawl.NewForgotten(entries)
	forget := func(mark string) Forgot {
		t.Helper()
		did, err := w.archive.Forget(entries, mark, f.Has)
		w.must(err)
		return did
	}
	before := w.close()
	if did := forget("x"); did.Files != 3 || did.Records != 3+2+3+3+3 {
		t.Errorf("%+v", did)
	}
	check := func() {
		t.Helper()
		all := w.records()
		want(t, "answers", of(all, warc.Response, warc.Revisit), "response "+a1, "response "+a2)
		for _, r := range all {
			if strings.Contains(r, "quokka") || strings.Contains(r, "secret") || strings.Contains(r, "b.example") || !slices.Contains(before, r) {
				t.Errorf("%q", r)
			}
		}
		names, err := os.ReadDir(w.dir)
		w.must(err)
		for _, n := range names {
			text, err := os.ReadFile(filepath.Join(w.dir, n.Name()))
			w.must(err)
			if strings.Contains(string(text), "secret") || strings.Contains(string(text), "b.example") || strings.HasSuffix(n.Name(), newSuffix) {
				t.Errorf("%s: %q", n.Name(), text)
			}
		}
		if len(names) != 4 {
			t.Errorf("%d files are left", len(names))
		}
	}
	check()
	if did := forget("x"); did != (Forgot{}) {
		t.Errorf("again: %+v", did)
	}
	// The process was killed between renaming a file and its index, or while the next file was
	// written.
	files, err := filepath.Glob(filepath.Join(w.dir, "*.warc.gz"))
	w.must(err)
	e := warc.Entry{Key: "example,b)/", Time: "20261124050000", URL: b1}
	w.must(os.WriteFile(files[0]+indexSuffix, e.Append(nil), 0o600))
	w.must(os.WriteFile(files[1]+newSuffix, []byte("b.example"), 0o600))
	w.must(os.Remove(files[1] + indexSuffix))
	w.die()
	forget("y")
	check()
	// A URL that is allowed again is archived completely, because nothing refers to the removed
	// records.
	w.put(page(secret, 9, "quokka too"))
	want(t, "answers", of(w.close(), warc.Response, warc.Revisit), "response "+a1, "response "+a2, "response "+secret)
}

// The first commit into a directory fails or is interrupted: nothing of it is left, and the next
// commit succeeds.
func TestFirstCommitFails(t *testing.T) {
	for _, killed := range []bool{false, true} {
		w := newWorld(t)
		w.store.Close()
		w.maxStore = 1 << 20
		w.open()
		w.archive.o.MaxFile = 64 << 10
		small := page(a1, 1, "one")
		if _, err := w.archive.Put([]pages.Page{small, page(a2, 1, strings.Repeat("x", 2<<20))}); !errors.Is(err, pages.ErrNoSpace) {
			t.Fatal(err)
		}
		if names, err := os.ReadDir(w.dir); len(names) == 0 || err != nil {
			t.Fatalf("nothing was begun (%v)", err)
		}
		if killed {
			w.die()
		}
		w.put(small)
		want(t, "answers", of(w.close(), warc.Response), "response "+a1)
	}
}

// A list of entries that is set again after it was withdrawn is applied again.
func TestForgetAgain(t *testing.T) {
	w := newWorld(t)
	entries := []string{"a.example"}
	f := crawl.NewForgotten(entries)
	for visit := range uint64(3) {
		w.put(page(a1, visit+1, "one"), page(b1, visit+1, "two"))
		did, err := w.archive.Forget(entries, "x", f.Has)
		w.must(err)
		if did.Records == 0 {
			t.Errorf("time %d: %+v", visit, did)
		}
		for _, r := range w.close() {
			if strings.Contains(r, "a.example") {
				t.Errorf("time %d: %q", visit, r)
			}
		}
		_, err = w.archive.Forget(nil, "", func(canon.URL) bool { return false })
		w.must(err)
	}
}

// A damaged file does not prevent forgetting in the others.
func TestForgetDamaged(t *testing.T) {
	w := newWorld(t)
	for visit := range uint64(3) {
		w.put(page(a1, visit+1, fmt.Sprint("quokka", visit)), page(b1, visit+1, "two"))
		w.must(w.archive.Close())
	}
	_, err := w.archive.Tidy()
	w.must(err)
	names, err := filepath.Glob(filepath.Join(w.dir, "*.warc.gz"))
	if len(names) != 3 || err != nil {
		t.Fatalf("%q (%v)", names, err)
	}
	text, err := os.ReadFile(names[0])
	w.must(err)
	text[len(text)/2] ^= 0xff
	w.must(os.WriteFile(names[0], text, 0o600))
	f := crawl.NewForgotten([]string{"a.example"})
	did, err := w.archive.Forget([]string{"a.example"}, "x", f.Has)
	if err == nil || !strings.Contains(err.Error(), filepath.Base(names[0])) || did.Files != 2 {
		t.Errorf("%+v, %v", did, err)
	}
	for _, name := range names[1:] {
		index, err := os.ReadFile(name + indexSuffix)
		if err != nil || strings.Contains(string(index), "a.example") {
			t.Errorf("%q (%v)", index, err)
		}
	}
}

// A page that comes with its checksum is unpacked only if necessary. Its record is the same as
// without the checksum.
func TestNotUnpacked(t *testing.T) {
	noise := make([]byte, 40<<10)
	rand.NewChaCha8([32]byte{1}).Read(noise)
	var with, without []string
	for _, sums := range []bool{true, false} {
		w := newWorld(t)
		for i, body := range []string{"", "a", strings.Repeat("<p>wombat</p>", 500), string(noise) + string(noise)} {
			p := page(fmt.Sprintf("http://a.example/%d", i), 1, body)
			p.Body, p.Encoding, p.Capture.Encoding = s2.EncodeBest(nil, []byte(body)), crawl.EncodingS2, crawl.EncodingS2
			if sums {
				p.Capture.CRC = crc32.ChecksumIEEE([]byte(body))
			}
			w.put(p)
			if all := w.close(); !strings.HasSuffix(all[len(all)-3], "\r\n\r\n"+body) || sums && (w.archive.body != nil) != (i == 3) {
				t.Errorf("page %d, %d bytes unpacked: %.200q", i, len(w.archive.body), all[len(all)-3])
			}
		}
		if with, without = without, w.records(); sums {
			continue
		}
		want(t, "records", of(without, warc.Response, warc.Request, warc.Metadata), of(with, warc.Response, warc.Request, warc.Metadata)...)
	}
}

// A page with an invalid S2 block is stored without a record, and the other pages of its batch have
// their records. If the checksum belongs to another text, Verify reports the record as damaged.
func TestDamagedInTransit(t *testing.T) {
	w := newWorld(t)
	packed := func(u, body string) pages.Page {
		p := page(u, 1, body)
		p.Body, p.Encoding, p.Capture.Encoding = s2.Encode(nil, []byte(body)), crawl.EncodingS2, crawl.EncodingS2
		p.Capture.CRC = crc32.ChecksumIEEE([]byte(body))
		return p
	}
	damaged, none := packed(a2, strings.Repeat("two ", 500)), packed("http://a.example/3", "three")
	damaged.Body, none.Body = damaged.Body[:len(damaged.Body)-1], bytes.Repeat([]byte{0xff}, 20)
	w.put(packed(a1, "one"), damaged, none, packed(b1, "four"))
	want(t, "answers", of(w.close(), warc.Response), "response "+a1, "response "+b1)
	if n := w.store.Stats().Pages; n != 4 {
		t.Errorf("%d pages are stored, want 4", n)
	}
	names, err := filepath.Glob(filepath.Join(w.dir, "*.warc.gz"))
	w.must(err)
	if v, err := Verify(names[0]); err != nil || len(v.Problems) > 0 {
		t.Errorf("%+v, %v", v, err)
	}
	wrong := packed("http://b.example/wrong", strings.Repeat("five ", 500))
	wrong.Capture.CRC++
	w.put(wrong)
	w.must(w.archive.Close())
	names, err = filepath.Glob(filepath.Join(w.dir, "*.warc.gz"))
	w.must(err)
	if v, err := Verify(names[len(names)-1]); err != nil || len(v.Problems) != 1 {
		t.Errorf("%+v, %v", v, err)
	}
}

// After somebody has repaired a file while its crawl was stopped, no record is written twice.
func TestRepairedBetweenRuns(t *testing.T) {
	w := newWorld(t)
	w.put(page(a1, 1, "one"))
	w.archive.letGo()
	names, err := filepath.Glob(filepath.Join(w.dir, "*"+openSuffix))
	w.must(err)
	path := names[slices.IndexFunc(names, func(n string) bool { return strings.HasSuffix(n, ".warc.gz"+openSuffix) })]
	text, err := os.ReadFile(path)
	w.must(err)
	// Complete records after the committed ones.
	w.must(os.WriteFile(path, append(text, text...), 0o600))
	if did, err := Repair(path); did.Old != "" || err != nil {
		t.Fatalf("%+v (%v)", did, err)
	}
	w.die()
	w.put(page(b1, 1, "two"))
	want(t, "answers", of(w.close(), warc.Response), "response "+a1, "response "+b1)
}

// Pages that stay may name forgotten URLs among their outlinks, and as the place where they were
// found. Those names are removed too, from closed files and from later records, and nothing else
// is: every other byte of a record stays, and each digest is correct (world.records).
func TestForgetOutlinks(t *testing.T) {
	w := newWorld(t)
	linking := func(u string, visit uint64) pages.Page {
		p := page(u, visit, "one")
		p.FoundOn = canon.URL("http://b.example/via")
		p.Capture.Links = s2.Encode(nil, []byte("outlink: http://b.example/2\r\noutlink: "+a2+"\r\noutlink: http://b.example.org/\r\noutlink: http://b.example/\r\n"))
		return p
	}
	w.put(linking(a1, 1), page(a2, 1, "two"))
	w.must(w.archive.Close())
	w.put(page(a2, 2, "three"))
	before := w.close()
	entries := []string{"b.example"}
	f := crawl.NewForgotten(entries)
	did, err := w.archive.Forget(entries, "x", f.Has)
	if err != nil || did != (Forgot{Files: 1, Outlinks: 3}) {
		t.Errorf("%+v, %v", did, err)
	}
	w.archive.o.Forgotten = func() func(canon.URL) bool { return f.Has }
	w.put(linking(a1, 2), linking("http://a.example/3", 3))
	all, changed := w.close(), 0
	for _, r := range all {
		if strings.Contains(r, "http://b.example/") {
			t.Errorf("%q", r)
		}
		if strings.HasPrefix(r, "metadata "+a1) || strings.HasPrefix(r, "metadata http://a.example/3") {
			changed++
			if !strings.Contains(r, "hopsFromSeed: \r\nfetchTimeMs: 0\r\noutlink: "+a2+"\r\noutlink: http://b.example.org/\r\n") || strings.Contains(r, "via") {
				t.Errorf("%q", r)
			}
		}
	}
	if changed != 3 {
		t.Errorf("%d records of metadata have outlinks, want 3", changed)
	}
	for _, r := range before {
		if !strings.Contains(r, "b.example/") && !slices.Contains(all, r) {
			t.Errorf("%q is lost, or changed", r)
		}
	}
	if did, err := w.archive.Forget(entries, "y", f.Has); err != nil || did != (Forgot{}) {
		t.Errorf("again: %+v, %v", did, err)
	}
}

// A rewritten file may be longer than before, because changed records are compressed again. The
// next start leaves it unchanged.
func TestForgetMakesLonger(t *testing.T) {
	w := newWorld(t)
	for i := range 300 {
		p := page(fmt.Sprintf("http://a.example/%d/%x", i, sha256.Sum256([]byte{byte(i)})), uint64(i+1), fmt.Sprint("one ", i))
		links := ""
		if i == 299 {
			links = "outlink: http://b.example/\r\n"
		}
		for k := range 8 {
			links += fmt.Sprintf("outlink: http://a.example/%x\r\n", sha256.Sum256([]byte{byte(i), byte(k)}))
		}
		p.Capture.Links = s2.Encode(nil, []byte(links))
		w.put(p)
	}
	path := w.archive.st.Open.path()
	length := w.archive.st.Open.Length
	f := crawl.NewForgotten([]string{"b.example"})
	if did, err := w.archive.Forget([]string{"b.example"}, "x", f.Has); err != nil || did != (Forgot{Files: 1, Outlinks: 1}) {
		t.Errorf("%+v, %v", did, err)
	}
	info, err := os.Stat(path)
	w.must(err)
	if info.Size() <= length {
		t.Fatalf("%d bytes of %d: this shows nothing", info.Size(), length)
	}
	before := w.records()
	w.die()
	want(t, "after the next start", w.records(), before...)
}

// Forgotten URLs are also found in a file without a valid index.
func TestForgetOutlinksWithoutIndex(t *testing.T) {
	w := newWorld(t)
	p := page(a1, 1, "one")
	p.Capture.Links = s2.Encode(nil, []byte("outlink: http://b.example/2\r\n"))
	w.put(p, page(a2, 1, "two"))
	w.close()
	names, err := filepath.Glob(filepath.Join(w.dir, "*.warc.gz"))
	w.must(err)
	f := crawl.NewForgotten([]string{"b.example"})
	for _, index := range []string{"", "damaged\n"} {
		w.must(os.WriteFile(names[0]+indexSuffix, []byte(index), 0o600))
		if found, err := named(names[0], f.Has); err == nil && !found {
			t.Errorf("index %q: nothing is found", index)
		}
	}
}
