package reading_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/mobile"
	"github.com/curtsy/curtsy/internal/mobile/reading"
	"github.com/curtsy/curtsy/pkg/canon"
)

func input() reading.Input {
	return reading.Input{Token: "ExampleBot", Want: reading.Pages, Types: []string{"text/html", "application/ld+json"}, MaxSize: 1000, MaxPages: 7, Known: reading.MakeTable([]uint64{3, 1, 2, 1})}
}

func TestInput(t *testing.T) {
	in := input()
	b, err := in.Encode()
	want := `{"version":1,"token":"ExampleBot","want":"pages","types":["text/html","application/ld+json"],"max_size":1000,"max_pages":7,"known":3}` + "\n" +
		"\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x03"
	if err != nil || string(b) != want {
		t.Fatalf("Encode = %q, %v, want %q", b, err, want)
	}
	if got, err := reading.ParseInput(b); err != nil || !reflect.DeepEqual(got, in) {
		t.Errorf("ParseInput = %+v, %v", got, err)
	}
	if line, _, _ := bytes.Cut(b, []byte("\n")); !json.Valid(line) {
		t.Errorf("%s is no JSON", line)
	}
	for _, types := range [][]string{nil, {"text/html"}} {
		in.Types, in.Known = types, nil
		b, err := in.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := reading.ParseInput(b)
		if err != nil || !slices.Equal(got.Types, types) || got.Known.Len() != 0 {
			t.Errorf("ParseInput(%q) = %+v, %v", b, got, err)
		}
	}
}

func TestInputLimits(t *testing.T) {
	longest := strings.Repeat("t", 63) + "/" + strings.Repeat("s", 63)
	for what, change := range map[string]func(in *reading.Input){
		"token":     func(in *reading.Input) { in.Token = strings.Repeat("t", reading.MaxToken) },
		"types":     func(in *reading.Input) { in.Types = slices.Repeat([]string{longest}, reading.MaxTypes) },
		"max_size":  func(in *reading.Input) { in.MaxSize = reading.MaxBody },
		"max_size1": func(in *reading.Input) { in.MaxSize = 1 },
		"max_pages": func(in *reading.Input) { in.MaxPages = 1<<63 - 1 },
		"known":     func(in *reading.Input) { in.Known = counting(reading.MaxKnown) },
	} {
		in := input()
		change(&in)
		b, err := in.Encode()
		if err != nil || len(b) > mobile.MaxInput || bytes.IndexByte(b, '\n') > reading.MaxLine {
			t.Fatalf("%s at its limit: %v, %d octets", what, err, len(b))
		}
		if got, err := reading.ParseInput(b); err != nil || !reflect.DeepEqual(got, in) {
			t.Errorf("%s at its limit: %v", what, err)
		}
	}
	for what, change := range map[string]func(in *reading.Input){
		"no token":             func(in *reading.Input) { in.Token = "" },
		"a strange token":      func(in *reading.Input) { in.Token = "a\"b" },
		"a long token":         func(in *reading.Input) { in.Token = strings.Repeat("t", reading.MaxToken+1) },
		"no want":              func(in *reading.Input) { in.Want = "all" },
		"many types":           func(in *reading.Input) { in.Types = slices.Repeat([]string{"a/b"}, reading.MaxTypes+1) },
		"a long type":          func(in *reading.Input) { in.Types = []string{longest + "s"} },
		"an upper type":        func(in *reading.Input) { in.Types = []string{"Text/html"} },
		"a type with more":     func(in *reading.Input) { in.Types = []string{"text/html; q=1"} },
		"half a type":          func(in *reading.Input) { in.Types = []string{"text/"} },
		"the other half":       func(in *reading.Input) { in.Types = []string{"/html"} },
		"a quote":              func(in *reading.Input) { in.Types = []string{`text/"html`} },
		"an empty type":        func(in *reading.Input) { in.Types = []string{""} },
		"no size":              func(in *reading.Input) { in.MaxSize = 0 },
		"a large size":         func(in *reading.Input) { in.MaxSize = reading.MaxBody + 1 },
		"negative pages":       func(in *reading.Input) { in.MaxPages = -1 },
		"a long table":         func(in *reading.Input) { in.Known = counting(reading.MaxKnown + 1) },
		"half a hash":          func(in *reading.Input) { in.Known = in.Known[:12] },
		"a table out of order": func(in *reading.Input) { in.Known = slices.Concat(in.Known[8:16], in.Known[:8]) },
		"a hash twice":         func(in *reading.Input) { in.Known = slices.Concat(in.Known[:8], in.Known[:8]) },
	} {
		in := input()
		change(&in)
		if _, err := in.Encode(); !errors.Is(err, reading.ErrInput) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// counting is a table of so many hashes.
func counting(n int) reading.Table {
	hashes := make([]uint64, n)
	for i := range hashes {
		hashes[i] = uint64(i)
	}
	return reading.MakeTable(hashes)
}

func TestInputIsStrict(t *testing.T) {
	in := input()
	octets, err := in.Encode()
	if err != nil {
		t.Fatal(err)
	}
	text := string(octets)
	for what, s := range map[string]string{
		"another version":   strings.Replace(text, `"version":1`, `"version":2`, 1),
		"blanks":            strings.Replace(text, `,"want"`, `, "want"`, 1),
		"an unknown field":  strings.Replace(text, `,"want"`, `,"free":1,"want"`, 1),
		"a missing field":   strings.Replace(text, `"max_pages":7,`, ``, 1),
		"an escape":         strings.Replace(text, `Example`, `\u0045xample`, 1),
		"leading zeros":     strings.Replace(text, `1000`, `01000`, 1),
		"a sign":            strings.Replace(text, `1000`, `+1000`, 1),
		"a huge number":     strings.Replace(text, `1000`, `99999999999999999999`, 1),
		"a comma too many":  strings.Replace(text, `json"]`, `json",]`, 1),
		"no comma":          strings.Replace(text, `html",`, `html"`, 1),
		"something behind":  strings.Replace(text, "}\n", "}}\n", 1),
		"a short table":     text[:len(text)-1],
		"a longer table":    text + "\xff\xff\xff\xff\xff\xff\xff\xff",
		"no line":           strings.Replace(text, "\n", "", 1),
		"nothing":           "",
		"a line without it": "\n",
		"a long line":       `{"version":1,"token":"` + strings.Repeat("a", reading.MaxLine) + "\n",
		"known by a lie":    strings.Replace(text, `"known":3`, `"known":1000001`, 1),
		"known so large":    strings.Replace(text, `"known":3`, `"known":2305843009213693955`, 1),
	} {
		if s == text {
			t.Errorf("%s: the test changes nothing", what)
		}
		if _, err := reading.ParseInput([]byte(s)); !errors.Is(err, reading.ErrInput) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestAccepts(t *testing.T) {
	in := input()
	for contentType, want := range map[string]bool{
		"text/html": true, "Text/HTML; charset=utf-8": true, " text/html ;x": true, "text/plain": false, "": false, "application/ld+json": true, "text/htmlx": false,
	} {
		if in.Accepts(contentType) != want {
			t.Errorf("Accepts(%q) = %v", contentType, !want)
		}
	}
	if in.Types = nil; !in.Accepts("anything/else") || !in.Accepts("") {
		t.Error("without types not all are accepted")
	}
}

// The hashes are those of the design: the fetcher, the robot and tests compute them alike.
func TestHashes(t *testing.T) {
	sum := sha256.Sum256([]byte("/a b"))
	if got := reading.PathHash("/a b"); got != binary.BigEndian.Uint64(sum[:]) {
		t.Errorf("PathHash = %x", got)
	}
	sum = sha256.Sum256([]byte("/a"))
	sum = sha256.Sum256(append(sum[:8:8], "\x01\x02\x03\x04\x05\x06\x07\x08"...))
	if got := reading.KnownHash("/a", 0x0102030405060708); got != binary.BigEndian.Uint64(sum[:]) {
		t.Errorf("KnownHash = %x", got)
	}
	table := reading.MakeTable([]uint64{5, 1 << 63, 9, 5})
	for h, want := range map[uint64]bool{0: false, 5: true, 6: false, 9: true, 1 << 63: true, 1<<64 - 1: false} {
		if table.Has(h) != want {
			t.Errorf("Has(%d) = %v", h, !want)
		}
	}
	if table.Len() != 3 || table.At(2) != 1<<63 || reading.MakeTable(nil).Has(0) {
		t.Errorf("%d hashes", table.Len())
	}
}

const plainHead = "Status: 200\nContent-Type: text/html\nContent-Length: 4\nLast-Modified: Mon, 02 Jan 2006 15:04:05 GMT\n"

// records are one of each kind, with the octets that the format has for them.
func records() map[string]reading.Record {
	return map[string]reading.Record{
		"D/a\n" + plainHead + "\nbo\n\ndy":                  {Kind: reading.Document, Path: "/a", Head: reading.Head(plainHead), Body: []byte("bo\n\ndy")},
		"D/?b=c\nStatus: 404\n\n":                           {Kind: reading.Document, Path: "/?b=c", Head: reading.Head("Status: 404\n"), Body: []byte{}},
		"S/a\n" + plainHead + "\n<meta>":                    {Kind: reading.Skeleton, Path: "/a", Head: reading.Head(plainHead), Body: []byte("<meta>")},
		"U/a\n" + plainHead + "\n":                          {Kind: reading.Unchanged, Path: "/a", Head: reading.Head(plainHead), Body: []byte{}},
		"u/a\x00/b/\x00":                                    {Kind: reading.UnchangedList, Paths: []string{"/a", "/b/"}},
		`F{"path":"/a"}`:                                    {Kind: reading.FactsOf, Facts: []byte(`{"path":"/a"}`)},
		`E{"listed":4,"sent":1,"unchanged":2,"left_out":0}`: {Kind: reading.EndOfList, End: reading.Counts{Listed: 4, Sent: 1, Unchanged: 2}},
	}
}

func TestRecords(t *testing.T) {
	for octets, want := range records() {
		got, err := reading.ParseRecord([]byte(octets))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("ParseRecord(%q) = %+v, %v", octets, got, err)
		}
		if b := want.Append([]byte("before ")); string(b) != "before "+octets {
			t.Errorf("Append = %q, want %q", b, octets)
		}
	}
}

func TestRecordLimits(t *testing.T) {
	path := "/" + strings.Repeat("p", reading.MaxPath-1)
	head := "Status: 200\n" + strings.Repeat("A: "+strings.Repeat("b", 1020)+"\n", 63)
	head += "A: " + strings.Repeat("b", reading.MaxHead-len(head)-4) + "\n"
	lines := "Status: 200\n" + strings.Repeat("A: b\n", 255)
	body := strings.Repeat("b", reading.MaxBody)
	facts := "{" + strings.Repeat(" ", reading.MaxFacts-2) + "}"
	list := strings.Repeat("/"+strings.Repeat("l", 1022)+"\x00", reading.MaxList/1024)
	for what, octets := range map[string]string{
		"path": "U" + path + "\nStatus: 200\n\n", "head": "U/\n" + head + "\n", "lines": "U/\n" + lines + "\n", "body": "D" + path + "\n" + head + "\n" + body,
		"facts": "F" + facts, "list": "u" + list,
	} {
		if _, err := reading.ParseRecord([]byte(octets)); err != nil || len(octets) > mobile.MaxRecord {
			t.Errorf("%s at its limit: %v, %d octets", what, err, len(octets))
		}
	}
	if reading.MaxPath < canon.MaxLen-len("http://a") {
		t.Error("paths of canonical URLs are too long")
	}
	for what, octets := range map[string]string{
		"nothing": "", "an unknown kind": "X", "no path": "D", "a long path": "U" + path + "p\nStatus: 200\n\n", "a relative path": "Ua\nStatus: 200\n\n",
		"a fragment": "U/a#b\nStatus: 200\n\n", "a blank": "U/a b\nStatus: 200\n\n", "an octet of no path": "U/\xff\nStatus: 200\n\n",
		"no head": "D/a\n", "an empty head": "D/a\n\n", "half a head": "D/a\nStatus: 200\n", "no status": "D/a\nContent-Type: a/b\n\n", "a strange status": "D/a\nStatus: 0200\n\n",
		"status 99": "D/a\nStatus: 099\n\n", "status 600": "D/a\nStatus: 600\n\n", "a large head": "U/\n" + strings.Replace(head, "b", "bb", 1) + "\n", "many lines": "U/\n" + lines + "A: b\n\n",
		"no colon": "U/\nStatus: 200\nA\n\n", "no name": "U/\nStatus: 200\n: b\n\n", "a blank in a name": "U/\nStatus: 200\nA : b\n\n", "a control": "U/\nStatus: 200\nA: \x01\n\n", "CR": "U/\nStatus: 200\nA: b\r\n\n",
		"a body": "U/\nStatus: 200\n\nb", "a large body": "D/\nStatus: 200\n\n" + body + "b", "a long list": "u" + list + "/\x00", "an empty list": "u", "an open list": "u/a",
		"an empty path": "u/a\x00\x00", "a fragment in a list": "u/a#\x00", "no facts": "F", "facts that are no object": "F[]", "two lines": "F{\n}", "long facts": "F" + facts + "}",
		"no counts": "E", "counts by name": `E{"sent":1}`, "counts and more": `E{"listed":4,"sent":1,"unchanged":2,"left_out":0} `,
		"a count too large": `E{"listed":9223372036854775808,"sent":1,"unchanged":2,"left_out":0}`, "a negative count": `E{"listed":-1,"sent":1,"unchanged":2,"left_out":0}`,
	} {
		if r, err := reading.ParseRecord([]byte(octets)); !errors.Is(err, reading.ErrRecord) || !reflect.DeepEqual(r, reading.Record{}) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestHead(t *testing.T) {
	h := reading.Head("Status: 404\nX-Robots-Tag: noindex\nx-robots-tag: a: b\nCurtsy-Truncated: yes\n")
	var lines []string
	for name, value := range h.All() {
		lines = append(lines, name+"="+value)
	}
	if want := []string{"X-Robots-Tag=noindex", "x-robots-tag=a: b", "Curtsy-Truncated=yes"}; !slices.Equal(lines, want) {
		t.Errorf("All = %q", lines)
	}
	if h.Status() != 404 || h.Get("X-ROBOTS-TAG") != "noindex" || h.Get("Status") != "" || h.Get("None") != "" || !h.Truncated() || h.Plain() {
		t.Errorf("%d %q", h.Status(), h.Get("x-robots-tag"))
	}
	for head, want := range map[string]bool{
		plainHead: true, "Status: 200\n": true, "Status: 201\n": false, plainHead + "ETag: a\n": false, "": false,
		strings.Replace(plainHead, "Content-Type", "content-type", 1): true,
	} {
		if reading.Head(head).Plain() != want || want && reading.Head(head).Truncated() {
			t.Errorf("Plain(%q) = %v", head, !want)
		}
	}
}

func TestUnchangedList(t *testing.T) {
	var list []byte
	n := 0
	for fits := true; fits; n++ {
		list, fits = reading.AppendUnchanged(list, fmt.Sprintf("/%05d", n))
	}
	r, err := reading.ParseRecord(list)
	if want := reading.MaxList / 7; err != nil || len(r.Paths) != want || n != want+1 || r.Paths[want-1] != fmt.Sprintf("/%05d", want-1) {
		t.Errorf("%d paths after %d, %v", len(r.Paths), n, err)
	}
}

// The JSON of facts has the names that docs/mobile-robots.md gives.
func TestFactsNames(t *testing.T) {
	b, err := json.Marshal(reading.PageFacts{
		Path: "p", Status: 200, Type: "t", LastModified: "m", Digest: "d", Size: 1, Truncated: true, Title: "t", Description: "d", Language: "l", Canonical: "c", Tags: []string{"t"}, Links: []string{"l"}, Text: "t",
	})
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(b, &fields); err != nil {
		t.Fatal(err)
	}
	want := []string{"canonical", "description", "digest", "language", "last_modified", "links", "path", "size", "status", "tags", "text", "title", "truncated", "type"}
	if got := slices.Sorted(maps.Keys(fields)); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// Of what a host calls a head, the lines are taken that a record may have, so that one odd line
// does not cost the document.
func TestAppendLines(t *testing.T) {
	got := reading.AppendLines(reading.Head("x"), []byte("Status: 200\nno colon\nA b: c\nC: \x01\nD: e\n: f\nX-G: h"))
	if want := "xStatus: 200\nD: e\nX-G: h\n"; string(got) != want {
		t.Errorf("%q, want %q", got, want)
	}
	truncated := reading.TruncatedLine + ": yes\n"
	for _, head := range []string{"Status: 200\n" + strings.Repeat("A: b\n", 1000), "Status: 200\n" + strings.Repeat("A: "+strings.Repeat("b", 1000)+"\n", 100)} {
		h := append(reading.AppendLines(nil, []byte(head)), truncated...)
		octets := append(append([]byte("U/\n"), h...), '\n')
		if r, err := reading.ParseRecord(octets); err != nil || !r.Head.Truncated() {
			t.Errorf("%d octets of lines: %v", len(h), err)
		}
	}
}
