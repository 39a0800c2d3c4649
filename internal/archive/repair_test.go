package archive

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/warc"
)

// A damaged record is left out, and all others stay, wherever a file is damaged. The old file is
// kept. In a file without checksums, a record in the text of a damaged record looks like
// one behind it.
func TestRepairKeepsLaterRecords(t *testing.T) {
	record := func(packed bool, n int, text string) []byte {
		var enc warc.Encoder
		var b bytes.Buffer
		block := warc.Piece{Text: []byte("HTTP/1.1 200 OK\r\n\r\n" + text)}
		if err := enc.AppendStored(&b, []warc.Field{{Name: "WARC-Type", Value: warc.Response}, {Name: "WARC-Record-ID", Value: warc.ID(fmt.Sprint(n))},
			{Name: "WARC-Date", Value: "2026-01-02T03:04:05Z"}, {Name: "WARC-Target-URI", Value: fmt.Sprintf("http://a.example/%d", n)}}, block); err != nil {
			t.Fatal(err)
		}
		if packed {
			return b.Bytes()
		}
		z, err := gzip.NewReader(&b)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		return plain
	}
	for _, packed := range []bool{true, false} {
		ends, wrong := ".warc.gz", 40
		if !packed {
			ends, wrong = ".warc", 0 // the format has no checksum
		}
		forged := string(record(packed, 666, "forged"))
		all := [][]byte{record(packed, 0, "one"), record(packed, 1, "two"+forged), record(packed, 2, "three"), record(packed, 3, strings.Repeat("x", 3<<20)), record(packed, 4, "four")}
		for _, c := range []struct {
			damaged []int
			tail    string
			stay    []int
		}{
			{[]int{0}, "", []int{1, 2, 3, 4}},
			{[]int{2}, "", []int{0, 1, 3, 4}},
			{[]int{3}, "", []int{0, 1, 2, 4}},
			{[]int{4}, "", []int{0, 1, 2, 3}},
			{nil, string(all[0][:20]), []int{0, 1, 2, 3, 4}},
			{[]int{1}, "", []int{0, 2, 3, 4}},
			{[]int{0, 3}, "", []int{1, 2, 4}},
		} {
			var text []byte
			for i, r := range all {
				r = bytes.Clone(r)
				for _, d := range c.damaged {
					if d == i {
						r[wrong] ^= 1
					}
				}
				text = append(text, r...)
			}
			text = append(text, c.tail...)
			path := filepath.Join(t.TempDir(), "a"+ends)
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			did, err := Repair(path)
			if err != nil || did.Old == "" {
				t.Errorf("%s %+v: %+v, %v", ends, c, did, err)
			}
			if old, _ := os.ReadFile(did.Old); !bytes.Equal(old, text) {
				t.Errorf("%s %+v: %d bytes are kept of %d", ends, c, len(old), len(text))
			}
			var want, got []string
			for _, i := range c.stay {
				want = append(want, fmt.Sprintf("http://a.example/%d", i))
			}
			if len(c.damaged) > 0 && c.damaged[0] == 1 && !packed {
				want = append(want, "http://a.example/666") // as behind the damage
			}
			if err := Entries(path, func(e warc.Entry) error { got = append(got, e.URL); return nil }); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s %+v: %v stay (%v), want %v", ends, c, got, err, want)
			}
			if v, err := Verify(path); err != nil || len(v.Problems)+len(v.Warnings) > 0 {
				t.Errorf("%s %+v: %+v, %v", ends, c, v, err)
			}
		}
	}
}

// A file that is shorter than before loses incomplete records only: neither records after damage in
// its middle, nor any if several places are damaged.
func TestShorterThanCommitted(t *testing.T) {
	for _, c := range []struct {
		damaged []int // damaged records
		half    int   // bytes of an incomplete record at the end
		stay    []string
	}{
		{nil, 20, []string{"response " + a1, "response " + a2}},
		{[]int{1}, 0, []string{"response " + a2}},
		{[]int{1}, 20, nil},
		{[]int{1, 4}, 0, nil},
	} {
		w := newWorld(t)
		w.put(page(a1, 1, "one"))
		w.put(page(a2, 1, "two"))
		w.put(page(b1, 1, strings.Repeat("three ", 99)))
		path := w.archive.st.Open.path()
		w.archive.letGo()
		w.store.Close()
		text, err := os.ReadFile(path + openSuffix)
		w.must(err)
		var begins []int64
		for in := warc.NewReader(bytes.NewReader(text)); ; {
			rec, err := in.Next()
			if err == io.EOF {
				break
			}
			w.must(err)
			begins = append(begins, rec.Offset)
		}
		text = text[:begins[7]+int64(c.half)] // the response of the last page
		for _, n := range c.damaged {
			text[begins[n]+30] ^= 1
		}
		w.must(os.WriteFile(path+openSuffix, text, 0o600))
		w.open()
		w.must(w.archive.Close())
		_, err = w.archive.Tidy()
		if c.stay == nil {
			now, _ := os.ReadFile(path)
			if v, verr := Verify(path); !errors.Is(err, warc.ErrDamaged) || !bytes.Equal(now, text) || verr != nil || len(v.Problems) == 0 {
				t.Errorf("%+v: %v, %d of %d bytes, %+v (%v)", c, err, len(now), len(text), v, verr)
			}
			continue
		}
		w.must(err)
		want(t, fmt.Sprint(c), of(w.records(), warc.Response), c.stay...)
	}
}

// An answer that was lost with the end of a file is archived again when it comes again, and is not
// a revisit of the lost record.
func TestLostIsArchivedAgain(t *testing.T) {
	w := newWorld(t)
	w.put(page(a1, 1, "one"))
	before := w.archive.st.Open.Length
	w.put(page(a2, 1, "two"))
	path := w.archive.st.Open.path()
	w.archive.letGo()
	w.must(os.Truncate(path+openSuffix, before))
	w.die()
	w.put(page(a1, 2, "one"), page(a2, 2, "two"))
	w.put(page(a1, 3, "one"), page(a2, 3, "two"))
	var got []string
	for _, r := range of(w.close(), warc.Response, warc.Revisit) {
		got = append(got, strings.Join(strings.Fields(r)[:2], " "))
	}
	want(t, "answers", got, "response "+a1, "response "+a1, "response "+a2, "revisit "+a1, "revisit "+a2)
}

// counting counts the bytes that are read.
type counting struct {
	io.ReaderAt
	n int64
}

func (c *counting) ReadAt(p []byte, at int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, at)
	c.n += int64(n)
	return n, err
}

// A file from a stranger is full of beginnings of records that never end. The search for complete
// records reads it a few times, and not once for each of them.
func TestRepairReadsAFewTimes(t *testing.T) {
	begin := "WARC/1.1\r\nWARC-Type: x\r\nContent-Length: 999999999\r\n\r\n"
	text := strings.Repeat(begin, 40_000)
	size := int64(len(text))
	c := &counting{ReaderAt: strings.NewReader(text)}
	_, err := behind(c, 0, size)
	if !errors.Is(err, warc.ErrDamaged) || !strings.Contains(err.Error(), "the file is not changed") {
		t.Errorf("the end is %v", err)
	}
	if most := (searches + 1) * size; c.n > most+2<<20 {
		t.Errorf("%d bytes are read of a file of %d", c.n, size)
	}
}

// A kill while a file is repaired leaves the old file under its name. The next repair does what the
// first would have, and keeps the old file once.
func TestRepairAfterAKill(t *testing.T) {
	text := zipped(oddPage("a") + oddPage("b"))
	path := filepath.Join(t.TempDir(), "a.warc.gz")
	for _, name := range []string{path, path + newSuffix} { // the new file was not complete
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(path, path+oldSuffix); err != nil {
		t.Fatal(err)
	}
	did, err := Repair(path)
	if err != nil || did.Old != path+oldSuffix || did.Records != 2 || did.Odd != 2 {
		t.Fatalf("%+v, %v", did, err)
	}
	// Another file of that name: neither is lost.
	if err := os.WriteFile(path, []byte(text+"garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	if did, err := Repair(path); err != nil || did.Old != path+oldSuffix+"2" {
		t.Fatalf("%+v, %v", did, err)
	}
	for name, want := range map[string]string{path + oldSuffix: text, path + oldSuffix + "2": text + "garbage"} {
		if got, err := os.ReadFile(name); string(got) != want {
			t.Errorf("%s has %d bytes, want %d (%v)", name, len(got), len(want), err)
		}
	}
	if left, _ := filepath.Glob(path + "*" + newSuffix); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}
