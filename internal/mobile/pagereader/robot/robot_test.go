package robot

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/mobile"
	"github.com/curtsy/curtsy/internal/mobile/reading"
)

// fake is a host in memory.
type fake struct {
	t        testing.TB
	input    []byte
	docs     map[string]doc
	listCode int // 0: the list works
	emitCode int
	piece    int // octets that Read returns at most; 0: as many as asked for

	open    doc
	at      int
	opened  []string
	records []string
	logged  []string
}

type doc struct {
	head, body string
	code       int // of open
	readCode   int // of the first read
}

func pageOf(body string) doc { return doc{head: headOf("text/html", len(body)), body: body} }

func headOf(contentType string, length int) string {
	return fmt.Sprintf("Status: 200\nContent-Type: %s\nContent-Length: %d\nLast-Modified: Mon, 02 Jan 2006 15:04:05 GMT\n", contentType, length)
}

func (f *fake) Input(offset int, buf []byte) int {
	return copy(buf, f.input[min(offset, len(f.input)):])
}

func (f *fake) List(after, buf []byte) int {
	n := 0
	for _, p := range f.paths() {
		if p > string(after) && n+len(p)+1 <= min(len(buf), 100) {
			n += copy(buf[n:], p+"\x00")
		} else if p > string(after) {
			break
		}
	}
	if n == 0 {
		return f.listCode
	}
	return n
}

func (f *fake) paths() []string {
	var paths []string
	for p := range f.docs {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	return paths
}

func (f *fake) Open(path []byte) int {
	f.open, f.at = f.docs[string(path)], 0
	f.opened = append(f.opened, string(path))
	return f.open.code
}

func (f *fake) Head(buf []byte) int { return copy(buf, f.open.head) }

func (f *fake) Read(buf []byte) int {
	if f.open.readCode != 0 {
		return f.open.readCode
	}
	if f.piece > 0 {
		buf = buf[:min(len(buf), f.piece)]
	}
	if len(buf) > maxRead {
		f.t.Errorf("Read of %d octets", len(buf))
	}
	n := copy(buf, f.open.body[f.at:])
	f.at += n
	return n
}

func (f *fake) Emit(record []byte) int {
	f.records = append(f.records, string(record))
	return f.emitCode
}

func (f *fake) Log(line []byte) { f.logged = append(f.logged, string(line)) }

func pages() reading.Input {
	return reading.Input{Token: "ExampleBot", Want: reading.Pages, MaxSize: 1000}
}

var now = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// run runs the robot and returns its records.
func runRobot(t testing.TB, f *fake, in reading.Input) ([]string, error) {
	t.Helper()
	var err error
	if f.input, err = in.Encode(); err != nil {
		t.Fatal(err)
	}
	f.t = t
	err = Run(f, now)
	return f.records, err
}

func want(t *testing.T, f *fake, in reading.Input, records ...string) {
	t.Helper()
	got, err := runRobot(t, f, in)
	if err != nil {
		t.Fatal(err)
	}
	for i := range max(len(got), len(records)) {
		if i >= len(got) || i >= len(records) || got[i] != records[i] {
			t.Fatalf("record %d:\n%q, want\n%q", i, got[min(i, len(got)):], records[min(i, len(records)):])
		}
		if _, err := reading.ParseRecord([]byte(got[i])); err != nil {
			t.Errorf("%q: %v", got[i], err)
		}
	}
}

func TestDocuments(t *testing.T) {
	text := doc{head: headOf("text/plain", 5), body: "hello"}
	want(t, &fake{docs: map[string]doc{
		"/d/": pageOf("<p>index"), "/d/a.html": pageOf("<p>a"), "/d/b.txt": text, "/d/empty.html": pageOf(""),
		"/d/gone.html": {code: int(mobile.NotFound)}, "/d/large.html": {code: int(mobile.TooLarge)}, "/d/limit.html": {code: int(mobile.AtLimit)},
		"/d/moved.html": {head: "Status: 301\nLocation: /d/\n"}, "/d/strange.html": {head: "no status\n"},
		"/d/unreadable.html": {head: headOf("text/html", 9), body: "unreadable", readCode: int(mobile.Unreadable)},
	}}, pages(),
		"D/d/\n"+headOf("text/html", 8)+"\n<p>index", "D/d/a.html\n"+headOf("text/html", 4)+"\n<p>a", "D/d/b.txt\n"+text.head+"\nhello",
		"D/d/empty.html\n"+headOf("text/html", 0)+"\n", `E{"listed":10,"sent":4,"unchanged":0,"left_out":6}`)
}

func TestTypes(t *testing.T) {
	in := pages()
	in.Types = []string{"text/html"}
	page := doc{head: headOf("Text/HTML; charset=utf-8", 1), body: "a"}
	want(t, &fake{docs: map[string]doc{"/a": page, "/b": {head: headOf("text/plain", 1), body: "b"}, "/c": {head: "Status: 200\n", body: "c"}}}, in,
		"D/a\n"+page.head+"\na", `E{"listed":3,"sent":1,"unchanged":0,"left_out":2}`)
}

// Documents of any length come whole up to MaxSize, whatever the host says about their length and
// however it cuts them.
func TestSizes(t *testing.T) {
	for _, piece := range []int{0, 7} {
		for _, length := range []int{0, 1, 999, 1000, 1001, 5000} {
			body := strings.Repeat("0123456789", length/10+1)[:length]
			for _, said := range []string{"0", "10", "1000", "5000", "-1", "no number", "99999999999999999999", "4000000000"} {
				head := "Status: 200\nContent-Length: " + said + "\n"
				record := "D/a\n" + head + "\n" + body
				if length > 1000 {
					record = "D/a\n" + head + "Curtsy-Truncated: yes\n\n" + body[:1000]
				}
				want(t, &fake{piece: piece, docs: map[string]doc{"/a": {head: head, body: body}}}, pages(), record, `E{"listed":1,"sent":1,"unchanged":0,"left_out":0}`)
			}
		}
	}
}

// A large document after small ones, and a small one after it.
func TestLargeDocument(t *testing.T) {
	in := pages()
	in.MaxSize = 5 << 20
	large := strings.Repeat("0123456789abcdef", 1<<18)
	head := "Status: 200\n"
	want(t, &fake{docs: map[string]doc{"/a": {head: head, body: "a"}, "/b": {head: head, body: large}, "/c": {head: head, body: large + large}, "/d": {head: head, body: "d"}}}, in,
		"D/a\n"+head+"\na", "D/b\n"+head+"\n"+large, "D/c\n"+head+"Curtsy-Truncated: yes\n\n"+(large + large)[:5<<20], "D/d\n"+head+"\nd",
		`E{"listed":4,"sent":4,"unchanged":0,"left_out":0}`)
}

func TestUnchanged(t *testing.T) {
	in := pages()
	known := func(path, body string) uint64 { return reading.KnownHash(path, reading.Digest([]byte(body))) }
	long := strings.Repeat("l", 1500)
	in.Known = reading.MakeTable([]uint64{known("/a", "a"), known("/b", "old"), known("/other", "c"), known("/e", "e"), known("/t", long[:1000])})
	etag := doc{head: headOf("text/html", 1) + "ETag: x\n", body: "e"}
	want(t, &fake{docs: map[string]doc{"/a": pageOf("a"), "/b": pageOf("b"), "/c": pageOf("c"), "/e": etag, "/t": pageOf(long)}}, in,
		"D/b\n"+headOf("text/html", 1)+"\nb", "D/c\n"+headOf("text/html", 1)+"\nc", "U/e\n"+etag.head+"\n", "U/t\n"+headOf("text/html", 1500)+"Curtsy-Truncated: yes\n\n",
		"u/a\x00", `E{"listed":5,"sent":2,"unchanged":3,"left_out":0}`)
}

// Of a site of which nothing has changed, lists come that are full.
func TestAllUnchanged(t *testing.T) {
	in := pages()
	docs := map[string]doc{}
	var hashes []uint64
	for i := range 10_000 {
		path := fmt.Sprintf("/%06d", i)
		docs[path] = pageOf("a")
		hashes = append(hashes, reading.KnownHash(path, reading.Digest([]byte("a"))))
	}
	in.Known = reading.MakeTable(hashes)
	f := &fake{docs: docs}
	records, err := runRobot(t, f, in)
	if err != nil || len(records) != 4 || records[3] != `E{"listed":10000,"sent":0,"unchanged":10000,"left_out":0}` {
		t.Fatalf("%d records, %v", len(records), err)
	}
	var paths []string
	for _, octets := range records[:3] {
		r, err := reading.ParseRecord([]byte(octets))
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, r.Paths...)
	}
	if !slices.Equal(paths, f.paths()) {
		t.Error("the lists have other paths")
	}
}

func TestMaxPages(t *testing.T) {
	in := pages()
	in.MaxPages = 2
	docs := map[string]doc{"/a": pageOf("a"), "/b": pageOf("b"), "/c": pageOf("c"), "/d": pageOf("d")}
	f := &fake{docs: docs}
	want(t, f, in, "D/a\n"+headOf("text/html", 1)+"\na", "D/b\n"+headOf("text/html", 1)+"\nb", `E{"listed":4,"sent":2,"unchanged":0,"left_out":2}`)
	if !slices.Equal(f.opened, []string{"/a", "/b"}) {
		t.Errorf("opened: %q", f.opened)
	}
	in.MaxPages, in.Known = 1, reading.MakeTable([]uint64{reading.KnownHash("/d", reading.Digest([]byte("d")))})
	want(t, &fake{docs: docs}, in, "D/a\n"+headOf("text/html", 1)+"\na", "u/d\x00", `E{"listed":4,"sent":1,"unchanged":1,"left_out":2}`)
}

func TestFailures(t *testing.T) {
	in := pages()
	in.Known = reading.MakeTable([]uint64{reading.KnownHash("/a", reading.Digest([]byte("a")))})
	f := &fake{docs: map[string]doc{"/a": pageOf("a")}, listCode: int(mobile.Unreadable)}
	if records, err := runRobot(t, f, in); err == nil || !strings.Contains(err.Error(), "after /a") || len(records) != 0 {
		t.Errorf("a list that ends with an error: %v, %q", err, records)
	}
	f = &fake{docs: map[string]doc{"/a": pageOf("b")}, emitCode: int(mobile.AtLimit)}
	if records, err := runRobot(t, f, in); err == nil || len(records) != 1 {
		t.Errorf("a host that takes no records: %v, %q", err, records)
	}
	f = &fake{t: t, input: []byte("{}\n")}
	if err := Run(f, now); !errors.Is(err, reading.ErrInput) || len(f.records) != 0 {
		t.Errorf("a wrong input: %v", err)
	}
	f = &fake{t: t, input: bytes.Repeat([]byte("a"), maxInput+2<<20)}
	if err := Run(f, now); !errors.Is(err, reading.ErrInput) {
		t.Errorf("an endless input: %v", err)
	}
}

// A table of a million hashes is read, and found.
func TestMillionKnown(t *testing.T) {
	in := pages()
	hashes := make([]uint64, reading.MaxKnown)
	for i := range hashes {
		hashes[i] = uint64(i)
	}
	hashes[500_000] = reading.KnownHash("/a", reading.Digest([]byte("a")))
	in.Known = reading.MakeTable(hashes)
	want(t, &fake{docs: map[string]doc{"/a": pageOf("a")}}, in, "u/a\x00", `E{"listed":1,"sent":0,"unchanged":1,"left_out":0}`)
}

func TestFacts(t *testing.T) {
	in := pages()
	in.Want, in.MaxSize = reading.Facts, 10_000
	page := `<!DOCTYPE html><html lang=de><head><title> A &amp; B </title><meta name="description" content="What it is">
<meta name=robots content="noarchive, nofollow"><meta name=ExampleBot content=noarchive><link rel=canonical href="/x?a=1&amp;b"><base href="/base/">
<style>p { }</style></head><body><h1>Title</h1><p>One <b>tw</b>o
 three</p><script>no</script><template>no</template><table><tr><td>1</td><td>2</td></tr></table>"quoted"	\ <a href="one.html">l</a><a rel=nofollow href=two></a><a href=one.html></a><iframe src=three></iframe></body></html>`
	for what, c := range map[string]struct {
		doc  doc
		want reading.PageFacts
	}{
		"a page": {pageOf(strings.Replace(page, ", nofollow", "", 1)), reading.PageFacts{
			Type: "text/html", LastModified: "Mon, 02 Jan 2006 15:04:05 GMT", Title: "A & B", Description: "What it is", Language: "de", Base: "/base/", Canonical: "/x?a=1&b", Tags: []string{"noarchive"},
			Links: []string{"one.html", "three"}, Text: "Title\nOne two three\n1 2\n\"quoted\" \\ l",
		}},
		"nofollow": {pageOf(page), reading.PageFacts{
			Type: "text/html", LastModified: "Mon, 02 Jan 2006 15:04:05 GMT", Title: "A & B", Description: "What it is", Language: "de", Base: "/base/", Canonical: "/x?a=1&b", Tags: []string{"noarchive", "nofollow"},
			Text: "Title\nOne two three\n1 2\n\"quoted\" \\ l",
		}},
		"noindex":      {doc{head: "Status: 200\nContent-Type: text/html\nX-Robots-Tag: noindex\n", body: "<title>t</title>secret <a href=b>"}, reading.PageFacts{Type: "text/html", Tags: []string{"noindex"}, Links: []string{"b"}}},
		"text":         {doc{head: "Status: 200\nContent-Type: text/plain\n", body: "a\n\x01\xe4"}, reading.PageFacts{Type: "text/plain", Text: "a\n ä"}},
		"UTF-16":       {doc{head: "Status: 200\nContent-Type: text/html\n", body: "\xfe\xff\x00ä"[:3] + "\xe4\xd8\x3d\xde\x00"}, reading.PageFacts{Type: "text/html", Text: "ä😀"}},
		"windows-1252": {doc{head: "Status: 200\nContent-Type: text/html; charset=\"ISO-8859-1\"\n", body: "\x80\xe4"}, reading.PageFacts{Type: `text/html; charset="ISO-8859-1"`, Text: "€ä"}},
		"Shift JIS":    {doc{head: "Status: 200\nContent-Type: text/html\n", body: "<meta charset=shift_jis>\x83\x81"}, reading.PageFacts{Type: "text/html"}},
		"an image":     {doc{head: "Status: 200\nContent-Type: image/svg+xml\n", body: "<svg>"}, reading.PageFacts{Type: "image/svg+xml"}},
		"XHTML":        {doc{head: "Status: 200\nContent-Type: application/xhtml+xml\n", body: "<html><head><script/><title>t</title></head><body><p>a</p></body></html>"}, reading.PageFacts{Type: "application/xhtml+xml", Title: "t", Text: "a"}},
	} {
		f := &fake{docs: map[string]doc{"/a": c.doc}}
		records, err := runRobot(t, f, in)
		if err != nil || len(records) != 2 {
			t.Fatalf("%s: %d records, %v", what, len(records), err)
		}
		r, err := reading.ParseRecord([]byte(records[0]))
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		var got reading.PageFacts
		if err := json.Unmarshal(r.Facts, &got); err != nil {
			t.Fatalf("%s: %s: %v", what, r.Facts, err)
		}
		c.want.Path, c.want.Status, c.want.Size, c.want.Digest = "/a", 200, int64(len(c.doc.body)), mobile.Digest([]byte(c.doc.body))
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n%+v, want\n%+v", what, got, c.want)
		}
	}
}

// The JSON of facts is that of encoding/json.
func TestFactsJSON(t *testing.T) {
	f := reading.PageFacts{
		Path: "/a", Status: 200, Type: "t", LastModified: "m", Digest: "d", Size: 5, Truncated: true, Title: "\"\\\n\t\x7f", Description: "ä😀", Language: "l", Base: "b", Canonical: "c",
		Tags: []string{"t", "u"}, Links: []string{"l"}, Text: "t\xff",
	}
	for _, f := range []reading.PageFacts{f, {}} {
		var got, want any
		b, err := json.Marshal(f)
		if err == nil {
			err = errors.Join(json.Unmarshal(b, &want), json.Unmarshal(appendFacts(nil, &f), &got))
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v, want %v, %v", got, want, err)
		}
	}
}

// The largest facts fit into a record.
func TestLargestFacts(t *testing.T) {
	in := pages()
	in.Want, in.MaxSize = reading.Facts, reading.MaxBody
	var page strings.Builder
	page.WriteString("<title>" + strings.Repeat(`\`, 10_000) + "</title>")
	for i := range 20_000 {
		fmt.Fprintf(&page, "<a href='%s%d'>", strings.Repeat(`\`, 100), i)
	}
	page.WriteString(strings.Repeat(`\\\\\\\ `, 1<<18))
	records, err := runRobot(t, &fake{docs: map[string]doc{"/a": pageOf(page.String())}}, in)
	if err != nil || len(records) != 2 {
		t.Fatalf("%d records, %v", len(records), err)
	}
	if _, err := reading.ParseRecord([]byte(records[0])); err != nil || len(records[0]) < 3_000_000 {
		t.Errorf("%d octets: %v", len(records[0]), err)
	}
}

// The robot knows the codes and limits of package mobile, which is too large for it.
func TestLimitsOfTheHost(t *testing.T) {
	if maxRead != mobile.MaxPart || maxInput != mobile.MaxInput || space+reading.MaxBody > mobile.MaxRecord {
		t.Error("the limits of package mobile are others")
	}
}
