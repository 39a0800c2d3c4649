package warc

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// plainRecord is a record as readPlainly reads it.
type plainRecord struct {
	fields textproto.MIMEHeader
	block  string
}

// readPlainly reads a WARC file directly by the standard's grammar (ISO 28500 §4, annex A), without
// any code of this package.
func readPlainly(t *testing.T, file []byte) (all []plainRecord) {
	t.Helper()
	in := bufio.NewReader(bytes.NewReader(file))
	for {
		if _, err := in.Peek(1); err == io.EOF {
			return all
		}
		z, err := gzip.NewReader(in)
		if err != nil {
			t.Fatal(err)
		}
		z.Multistream(false)
		text, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		head, rest, ok := strings.Cut(string(text), "\r\n\r\n")
		version, lines, _ := strings.Cut(head, "\r\n")
		if !ok || version != "WARC/1.1" {
			t.Fatalf("%.200q", text)
		}
		h, err := textproto.NewReader(bufio.NewReader(strings.NewReader(lines + "\r\n\r\n"))).ReadMIMEHeader()
		if err != nil {
			t.Fatal(err)
		}
		n := len(rest) - 4
		if n < 0 || h.Get("Content-Length") != fmt.Sprint(n) || rest[n:] != "\r\n\r\n" {
			t.Fatalf("Content-Length %q of %d: %.200q", h.Get("Content-Length"), n, text)
		}
		all = append(all, plainRecord{h, rest[:n]})
	}
}

const answer = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 5\r\n\r\nhello"

// sample is a file of two records.
func sample(t testing.TB) []byte {
	t.Helper()
	var e Encoder
	var b bytes.Buffer
	at := time.Date(2026, 11, 24, 2, 0, 0, 120e6, time.UTC)
	for _, r := range []struct {
		fields []Field
		block  []string
	}{
		{[]Field{{"WARC-Type", Warcinfo}, {"WARC-Record-ID", ID("a")}, {"WARC-Date", Time(at)}, {"Content-Type", TypeFields}}, []string{"software: x\r\n"}},
		{[]Field{{"WARC-Type", Response}, {"WARC-Record-ID", ID("b")}, {"WARC-Date", Time(at)}, {"WARC-Target-URI", "http://a.example/B?c"},
			{"WARC-Payload-Digest", Digest([]byte("hello"))}, {"Content-Type", TypeResponse}}, []string{answer[:20], answer[20:]}},
	} {
		var block []Piece
		for _, p := range r.block {
			block = append(block, Piece{Text: []byte(p)})
		}
		put := e.Append
		if r.fields[0].Value == Warcinfo {
			put = e.AppendStored
		}
		if err := put(&b, r.fields, block...); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// ISO 28500 §4, §5 and annex A: version line, named fields, block, two line ends, a gzip member for
// each record. Our Reader and an independent one read what was written.
func TestISO28500_4_Records(t *testing.T) {
	file := sample(t)
	all := readPlainly(t, file)
	if len(all) != 2 || all[0].block != "software: x\r\n" || all[1].block != answer || all[1].fields.Get("WARC-Target-URI") != "http://a.example/B?c" ||
		all[1].fields.Get("WARC-Date") != "2026-11-24T02:00:00.12Z" {
		t.Fatalf("%q", all)
	}
	r := NewReader(bytes.NewReader(file))
	end := int64(0)
	for i := range all {
		rec, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		block, err := io.ReadAll(rec)
		if err := errors.Join(err, rec.Close()); err != nil {
			t.Fatal(err)
		}
		if string(block) != all[i].block || rec.Offset != end || rec.Get("warc-type") != all[i].fields.Get("WARC-Type") {
			t.Errorf("record %d at %d: %q", i, rec.Offset, block)
		}
		end = rec.Offset + rec.Length
		// Annex A: each member can be read separately.
		if n, some, err := Whole(bytes.NewReader(file[rec.Offset:end])); n != rec.Length || some != 1 || err != nil {
			t.Errorf("record %d alone: %d, %d, %v", i, n, some, err)
		}
	}
	if _, err := r.Next(); err != io.EOF || end != int64(len(file)) {
		t.Errorf("behind the last: %v, %d of %d", err, end, len(file))
	}
	// Uncompressed, it is read in the same way.
	var plain bytes.Buffer
	z, err := gzip.NewReader(bytes.NewReader(file))
	if err == nil {
		_, err = io.Copy(&plain, z)
	}
	if n, some, werr := Whole(bytes.NewReader(plain.Bytes())); n != int64(plain.Len()) || some != 2 || err != nil || werr != nil {
		t.Errorf("not compressed: %d, %d, %v, %v", n, some, err, werr)
	}
}

// A file that is truncated anywhere is valid up to its last complete record, and a file with a
// changed byte is valid at most up to the record with that byte.
func TestWhole(t *testing.T) {
	file := sample(t)
	r := NewReader(bytes.NewReader(file))
	first, err := r.Next()
	if err == nil {
		err = first.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(file) {
		want, some := int64(0), 0
		if int64(cut) >= first.Length {
			want, some = first.Length, 1
		}
		n, records, err := Whole(bytes.NewReader(file[:cut]))
		if atEnd := int64(cut) == want; n != want || records != some || (err == nil) != atEnd || !atEnd && !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut at %d: %d, %d, %v", cut, n, records, err)
		}
	}
	missed := 0
	for at := range file {
		bad := bytes.Clone(file)
		bad[at] ^= 0x10
		if n, _, err := Whole(bytes.NewReader(bad)); err == nil {
			missed++ // a byte of a gzip header without meaning: time, system
		} else if n > int64(at) {
			t.Fatalf("another byte at %d: whole to %d", at, n)
		}
	}
	if missed > 2*8 { // six of each header, and the unused bits in the last byte of deflate
		t.Errorf("%d changes were not seen", missed)
	}
}

// A read error is not damage: whoever cuts a file after its last complete record must not do so
// because of a failing disk or network.
func TestWholeUnreadable(t *testing.T) {
	file, trouble := sample(t), errors.New("input/output error")
	for at := range file {
		_, _, err := Whole(io.MultiReader(bytes.NewReader(file[:at]), iotest.ErrReader(trouble)))
		if !errors.Is(err, trouble) || errors.Is(err, ErrDamaged) {
			t.Fatalf("unreadable at %d: %v", at, err)
		}
	}
}

// Limits of a header, exactly at the limit and one beyond it; fields that would break the file.
func TestLimits(t *testing.T) {
	text := func(n int) string {
		head := "WARC/1.1\r\nContent-Length: 0\r\nX: "
		return head + strings.Repeat("x", n-len(head)-4) + "\r\n\r\n" + "\r\n\r\n"
	}
	if _, some, err := Whole(strings.NewReader(text(MaxHeader))); some != 1 || err != nil {
		t.Errorf("a header of %d bytes: %d, %v", MaxHeader, some, err)
	}
	if _, _, err := Whole(strings.NewReader(text(MaxHeader + 1))); !errors.Is(err, ErrDamaged) {
		t.Errorf("a longer one: %v", err)
	}
	var e Encoder
	for _, f := range []Field{{"A", "b\r\nC: d"}, {"A", "b\x00"}, {"A B", "c"}, {"", "c"}, {"A:", "c"}} {
		var b bytes.Buffer
		if err := e.Append(&b, []Field{f}); err == nil || b.Len() > 0 {
			t.Errorf("%q was written: %v, %d bytes", f, err, b.Len())
		}
	}
	for _, s := range []string{"x", "WARC/2.0\r\n\r\n", "WARC/1.1\r\n\r\n\r\n\r\n", "WARC/1.1\r\nContent-Length: -1\r\n\r\n", "WARC/1.1\r\n a: b\r\n\r\n",
		"WARC/1.1\r\nContent-Length: 9223372036854775808\r\n\r\n", "WARC/1.1\r\nno field\r\n\r\n", "WARC/1.1\r\nContent-Length: 1\r\n\r\na\r\nb\r\n",
		"WARC/1.1\r\nContent-Length: 9\r\n\r\na"} {
		if n, some, err := Whole(strings.NewReader(s)); n != 0 || some != 0 || !errors.Is(err, ErrDamaged) {
			t.Errorf("%q: %d, %d, %v", s, n, some, err)
		}
	}
	// ISO 28500 §4: a field may continue in the next line.
	rec, err := NewReader(strings.NewReader("WARC/1.0\r\nA: b\r\n\tc\r\nContent-Length: 0\r\n\r\n\r\n\r\n")).Next()
	if err != nil || rec.Get("a") != "b c" {
		t.Errorf("%v, %v", rec, err)
	}
}

// A record's identity depends on all of its parts, and on nothing else.
func TestID(t *testing.T) {
	if id := ID("a", "b"); ID("a", "b") != id || id == ID("ab") || id == ID("a", "c") || len(ID()) != len("<urn:uuid:>")+36 {
		t.Errorf("%s %s", id, ID("ab"))
	}
	if sum := sha256.Sum256([]byte("ab")); Digest([]byte("a"), []byte("b")) != DigestOf(sum) {
		t.Error("a digest depends on where its pieces end")
	}
}

// FuzzReader: for any file, reading ends, with memory for one header only, and the part reported as
// complete is read again as complete.
func FuzzReader(f *testing.F) {
	f.Add(sample(f))
	f.Add([]byte("WARC/1.1\r\nContent-Length: 3\r\n\r\nabc\r\n\r\nWARC/1.0\r\nWARC-Type: response\r\nWARC-Date: 2026-01-01T00:00:00Z\r\nContent-Length: 0\r\n\r\n\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		n, some, err := Whole(bytes.NewReader(b))
		if n > int64(len(b)) || err == nil && n != int64(len(b)) {
			t.Fatalf("whole to %d of %d, %v", n, len(b), err)
		}
		if m, same, err := Whole(bytes.NewReader(b[:n])); m != n || same != some || err != nil {
			t.Fatalf("%d and %d records, then %d and %d: %v", n, some, m, same, err)
		}
		lines := 0
		if err := Entries(bytes.NewReader(b), "x", func(e Entry) error {
			lines++
			got, err := ParseEntry(e.Append(nil))
			if err != nil || got.Offset != e.Offset || got.Length != e.Length || strings.ContainsAny(e.Key, " \n") {
				t.Fatalf("%q: %v", e.Append(nil), err)
			}
			return nil
		}); err == nil && lines > some {
			t.Fatalf("%d lines of %d records", lines, some)
		}
	})
}
