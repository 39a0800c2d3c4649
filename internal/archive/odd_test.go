package archive

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/warc"
)

const (
	oddHead = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
	oddBody = "<html><title>t</title><p>words</p></html>"
)

// oddRecord is a record of http://a.example/NAME with other lines: a line replaces the one with its
// name, and "Name" alone removes it.
func oddRecord(name, block string, lines ...string) string {
	head := []string{"WARC/1.0", "WARC-Type: response", "WARC-Record-ID: <urn:uuid:" + warc.ID(name)[10:47], "WARC-Date: 2020-01-01T00:00:00Z",
		"WARC-Target-URI: http://a.example/" + name, "Content-Type: application/http; msgtype=response", fmt.Sprintf("Content-Length: %d", len(block))}
	for _, l := range lines {
		key, _, found := strings.Cut(l, ":")
		at := slices.IndexFunc(head, func(h string) bool { return strings.HasPrefix(h, key+":") })
		switch {
		case at < 0:
			head = append(head, l)
		case found:
			head[at] = l
		default:
			head = slices.Delete(head, at, at+1)
		}
	}
	return strings.Join(head, "\r\n") + "\r\n\r\n" + block + "\r\n\r\n"
}

func oddPage(name string, lines ...string) string { return oddRecord(name, oddHead+oddBody, lines...) }

func zipped(texts ...string) string {
	var b bytes.Buffer
	for _, t := range texts {
		z := gzip.NewWriter(&b)
		io.WriteString(z, t)
		z.Close()
	}
	return b.String()
}

// stored is a gzip member whose text can be read in the file.
func stored(text string) string {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.NoCompression)
	io.WriteString(z, text)
	z.Close()
	return b.String()
}

// changed changes the byte at a position of a text, from its end if the position is negative.
func changed(s string, at int) string {
	b := []byte(s)
	if at < 0 {
		at += len(b)
	}
	b[at] ^= 0x55
	return string(b)
}

// oddFile is a file as another program writes it, or as accidents leave it.
type oddFile struct {
	name    string
	plain   bool // its name ends in .warc
	text    string
	list    string // names of its answers
	warning string // words of a warning; "": there is none
	problem string // words of a problem; "": there is none
	stays   bool   // a copy has the same oddity
	payload string // of each; "": oddBody
}

func oddFiles() []oddFile {
	a, b, c := oddPage("a"), oddPage("b"), oddPage("c")
	lf := func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
	lfHead := func(s string) string {
		head, block, _ := strings.Cut(s, "\r\n\r\n")
		return lf(head) + "\n\n" + strings.TrimSuffix(block, "\r\n\r\n") + "\n\n"
	}
	size := len(oddHead + oddBody)
	sized := func(n int) string { return fmt.Sprintf("Content-Length: %d", size+n) }
	without := func(s string, n int) string { return s[:len(s)-n] }
	big := strings.Repeat("lorem ipsum ", 30_000)
	wrongSum := "WARC-Payload-Digest: sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	return []oddFile{
		{name: "as it should be", text: zipped(a, b), list: "ab"},
		{name: "plain", plain: true, text: a + b, list: "ab"},
		{name: "several records in a member", text: zipped(a + b + c), list: "abc", warning: "one gzip member"},
		{name: "many of such members", text: zipped(a+b, c), list: "abc", warning: "one gzip member"},
		{name: "several, long ones", text: zipped(a + oddRecord("b", oddHead+big) + c), list: "abc", warning: "one gzip member", payload: "-"},
		{name: "LF", plain: true, text: lf(oddRecord("a", lf(oddHead+oddBody), "WARC/1.0")) + lf(oddRecord("b", lf(oddHead+oddBody))), list: "ab", warning: "LF"},
		{name: "LF in headers, packed", text: zipped(lfHead(a), lfHead(b)), list: "ab", warning: "LF"},
		{name: "an old version", text: zipped(strings.Replace(a, "WARC/1.0", "WARC/0.18", 1), strings.Replace(b, "WARC/1.0", "WARC/0.17", 1)), list: "ab"},
		{name: "LF and an old version", plain: true, text: lfHead(strings.Replace(a, "WARC/1.0", "WARC/0.18", 1)), list: "a", warning: "LF"},
		{name: "a length of one too many", text: zipped(oddPage("a", sized(1)), b), list: "ab", warning: "Content-Length"},
		{name: "a length of one too few", text: zipped(oddPage("a", sized(-1)), b), list: "ab", warning: "Content-Length"},
		{name: "a length of one too many, plain", plain: true, text: a + oddPage("b", sized(1)) + c, list: "abc", warning: "Content-Length"},
		{name: "a length of one too few, plain", plain: true, text: a + oddPage("b", sized(-1)) + c, list: "abc", warning: "Content-Length"},
		{name: "a length of six too many, plain", plain: true, text: a + oddPage("b", sized(6)) + c, list: "abc", warning: "Content-Length"},
		{name: "the last length of one too few, plain", plain: true, text: a + oddPage("b", sized(-1)), list: "ab", warning: "Content-Length"},
		{name: "the last length of six too many, plain", plain: true, text: a + oddPage("b", sized(6)), list: "ab", warning: "Content-Length"},
		{name: "a length of another record too many, plain", plain: true, text: oddPage("a", sized(len(b)-99)) + b + c, list: "abc", warning: "Content-Length"},
		{name: "a length beyond the file", plain: true, text: oddPage("a", sized(1<<30)) + b + c, list: "abc", problem: "beyond the end"},
		{name: "a length beyond the member", text: zipped(oddPage("a", sized(1<<30)), b), list: "ab", warning: "Content-Length"},
		{name: "a length beyond a member of several", text: zipped(oddPage("a", sized(1<<20))+b) + zipped(c), list: "abc", warning: "Content-Length"},
		{name: "no length", text: zipped(oddPage("a", "Content-Length"), b), list: "ab", warning: "no Content-Length"},
		{name: "no length, plain", plain: true, text: oddPage("a", "Content-Length") + oddPage("b", "Content-Length: many"), list: "ab", warning: "no Content-Length"},
		{name: "one CRLF too many", text: zipped(a+"\r\n", b), list: "ab", warning: "two CRLF"},
		{name: "two CRLF too many, plain", plain: true, text: a + "\r\n\r\n" + b, list: "ab", warning: "two CRLF"},
		{name: "one CRLF too few", text: zipped(without(a, 2), b), list: "ab", warning: "two CRLF"},
		{name: "one CRLF too few, plain", plain: true, text: without(a, 2) + without(b, 2), list: "ab", warning: "two CRLF"},
		{name: "no CRLF", text: zipped(without(a, 4), without(b, 4)), list: "ab", warning: "two CRLF"},
		{name: "no CRLF at the end", plain: true, text: a + without(b, 4), list: "ab", warning: "two CRLF"},
		{name: "line ends first", plain: true, text: "\r\n\r\n" + a, list: "a", warning: "between records"},
		{name: "14 digits", text: zipped(oddPage("a", "WARC-Date: 20200101000000"), b), list: "ab", warning: "WARC-Date"},
		{name: "no Z", text: zipped(oddPage("a", "WARC-Date: 2020-01-01T00:00:00"), b), list: "ab", warning: "WARC-Date"},
		{name: "fractions", text: zipped(oddPage("a", "WARC-Date: 2020-01-01T00:00:00.123456Z"), b), list: "ab"},
		{name: "a space for the T", text: zipped(oddPage("a", "WARC-Date: 2020-01-01 00:00:00"), b), list: "ab", warning: "WARC-Date"},
		{name: "an offset", text: zipped(oddPage("a", "WARC-Date: 2020-01-01T01:00:00+0100"), b), list: "ab", warning: "WARC-Date"},
		{name: "no date", text: zipped(oddPage("a", "WARC-Date"), oddPage("b", "WARC-Date: yesterday")), list: "ab", warning: "WARC-Date is missing", stays: true},
		{name: "no Record-ID", text: zipped(oddPage("a", "WARC-Record-ID"), b), list: "ab", warning: "WARC-Record-ID"},
		{name: "names in other case", text: zipped(strings.NewReplacer("WARC-Type", "warc-type", "Content-Length", "CONTENT-LENGTH", "WARC-Target-URI", "Warc-Target-Uri").Replace(a), b), list: "ab"},
		{name: "folded lines", text: zipped(oddPage("a", "X-Long: one\r\n two\r\n\tthree"), b), list: "ab"},
		{name: "a folded target", text: zipped(oddPage("a", "WARC-Target-URI:\r\n http://a.example/a"), b), list: "ab"},
		{name: "angle brackets", text: zipped(oddPage("a", "WARC-Target-URI: <http://a.example/a>")), list: "a"},
		{name: "spaces behind the version", text: zipped(strings.Replace(a, "WARC/1.0", "WARC/1.0 ", 1), b), list: "ab", warning: "version"},
		{name: "a line that is no field", text: zipped(strings.Replace(a, "WARC-Date", "this is not a field\r\nWARC-Date", 1), b), list: "ab", warning: "not a named field"},
		{name: "garbage between members", text: zipped(a) + "garbage, or so" + zipped(b, c), list: "abc", problem: "belong to no record"},
		{name: "garbage between records", plain: true, text: a + "garbage, or so\r\n\r\n" + b + "more" + c, list: "abc", problem: "belong to no record"},
		{name: "garbage in a member", text: zipped(a+"garbage", b), list: "ab", problem: "belong to no record"},
		{name: "garbage first", text: "\x00\x1f\x8b\x08garbage" + zipped(a, b), list: "ab", problem: "damaged"},
		{name: "garbage last", text: zipped(a, b) + "garbage", list: "ab", problem: "belong to no record"},
		{name: "zero bytes last", text: zipped(a, b) + strings.Repeat("\x00", 300_000), list: "ab", warning: "zero bytes"},
		{name: "zero bytes last, plain", plain: true, text: a + b + strings.Repeat("\x00", 511), list: "ab", warning: "zero bytes"},
		{name: "an empty member", text: zipped(a, "", b, ""), list: "ab", warning: "gzip member is empty"},
		{name: "a cut member", text: zipped(a) + without(zipped(b), 60), list: "a", problem: "cut off"},
		{name: "a cut checksum", text: zipped(a) + without(zipped(b), 4), list: "ab", problem: "checksum"},
		{name: "a cut record, plain", plain: true, text: a + without(b, 30), list: "a", problem: "cut off"},
		{name: "a cut header, plain", plain: true, text: a + b[:100] + "\r\n" + c, list: "ac", problem: "breaks off"},
		{name: "a cut member among others", text: zipped(a) + without(zipped(b), 60) + zipped(c), list: "ac", problem: "damaged"},
		{name: "a cut member that is not compressed", text: zipped(a) + stored(b)[:len(stored(b))-20], list: "a", problem: "cut off"},
		{name: "a damaged member that is not compressed", text: zipped(a) + changed(stored(b), 12) + zipped(c), list: "ac", problem: "damaged"},
		{name: "a wrong checksum", text: zipped(a) + changed(zipped(b), -6) + zipped(c), list: "ac", problem: "checksum"},
		{name: "a damaged first member", text: changed(zipped(a), 40) + zipped(b, c), list: "bc", problem: "damaged"},
		{name: "two damaged members", text: changed(zipped(a), 40) + zipped(b) + changed(zipped(a), 60) + zipped(c), list: "bc", problem: "damaged"},
		{name: "a plain record among members", text: zipped(a) + b + zipped(c), list: "abc", warning: "not compressed"},
		{name: "plain with the name of a packed file", text: a + b, list: "ab", warning: "not compressed"},
		{name: "packed with the name of a plain file", plain: true, text: zipped(a, b), list: "ab"},
		{name: "a member among plain records", plain: true, text: a + zipped(b) + c, list: "abc", warning: "compressed, although"},
		{name: "a block of HTML", text: zipped(oddRecord("a", oddBody), b), list: "ab", warning: "not an HTTP message", stays: true},
		{name: "chunked, and is not", text: zipped(oddRecord("a", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"+oddBody), b), list: "ab", warning: "chunked", stays: true},
		{name: "gzip, and is not", text: zipped(oddRecord("a", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"+oddBody), b), list: "ab", warning: "in gzip, which is not", stays: true},
		{name: "no empty line", text: zipped(oddRecord("a", "HTTP/1.1 200 OK\r\nContent-Type: text/html"), b), list: "ab", warning: "empty line", stays: true, payload: "-"},
		{name: "a wrong digest", text: zipped(oddPage("a", wrongSum), b), list: "ab", problem: "does not match its digest", stays: true},
		{name: "digests in other forms", text: zipped(oddPage("a", "WARC-Payload-Digest: md5:x", "WARC-Block-Digest: xxh3:1"), b), list: "ab"},
		{name: "a long block that is one short", text: zipped(oddRecord("a", oddHead+big, fmt.Sprintf("Content-Length: %d", len(oddHead+big)-1)), b), list: "ab", warning: "Content-Length", payload: "-"},
		{name: "a long block without a length, plain", plain: true, text: oddRecord("a", oddHead+big, "Content-Length") + b, list: "ab", warning: "no Content-Length", payload: "-"},
		{name: "records in the text of a page", plain: true, text: oddRecord("a", oddHead+b+c) + c, list: "ac", payload: "-"},
		{name: "records in the text of a page whose length is one too many", plain: true, text: oddRecord("a", oddHead+b+c, fmt.Sprintf("Content-Length: %d", len(oddHead+b+c)+1)) + c, list: "ac", warning: "Content-Length", payload: "-"},
		{name: "zstd", text: "\x28\xb5\x2f\xfd" + "packed", problem: "zstd", stays: true},
		{name: "ARC", text: zipped("filedesc://x.arc 0.0.0.0 20200101000000 text/plain 76\n1 0 x\n"), problem: "ARC", stays: true},
		{name: "nothing that is known", text: "words", problem: "belong to no record", stays: true},
	}
}

// What others read is read, named, and survives a repair: list, cat and verify agree, the repaired
// file is as it should be, nothing changes when it is repaired again, and the old file is kept.
func TestOddFiles(t *testing.T) {
	for _, f := range oddFiles() {
		t.Run(f.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.warc.gz")
			if f.plain {
				path = strings.TrimSuffix(path, ".gz")
			}
			if err := os.WriteFile(path, []byte(f.text), 0o640); err != nil {
				t.Fatal(err)
			}
			before := oddVerify(t, path, f)
			did, err := Repair(path)
			if err != nil && (f.list != "" || !before.Mends || !errors.Is(err, ErrNothing)) {
				t.Fatalf("%+v, %v", did, err)
			}
			if !before.Mends || f.list == "" {
				if now, _ := os.ReadFile(path); did.Old != "" || string(now) != f.text {
					t.Fatalf("%+v: %d bytes of %d", did, len(now), len(f.text))
				}
				return
			}
			if old, _ := os.ReadFile(did.Old); string(old) != f.text || filepath.Dir(did.Old) != filepath.Dir(path) {
				t.Fatalf("%+v: %d bytes of %d are kept", did, len(old), len(f.text))
			}
			if !f.stays {
				f.warning, f.problem = "", ""
			}
			if after := oddVerify(t, path, f); after.Mends || after.Records != before.Records {
				t.Errorf("before %+v, after %+v", before, after)
			}
			once, _ := os.ReadFile(path)
			if did, err := Repair(path); err != nil || did.Old != "" {
				t.Errorf("again: %+v, %v", did, err)
			}
			if twice, _ := os.ReadFile(path); !bytes.Equal(once, twice) {
				t.Error("a second repair changes the file")
			}
		})
	}
}

// oddVerify compares list, cat and verify with what is expected.
func oddVerify(t *testing.T, path string, f oddFile) Verified {
	t.Helper()
	v, err := Verify(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		have []string
		want string
	}{{v.Problems, f.problem}, {v.Warnings, f.warning}} {
		if text := strings.Join(c.have, "\n"); c.want == "" && text != "" || !strings.Contains(text, c.want) {
			// Damage may bring warnings.
			if c.want != "" || f.problem == "" || !slices.Equal(c.have, v.Warnings) {
				t.Errorf("%q, want %q", text, c.want)
			}
		}
	}
	c, err := OpenCollection(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	list := ""
	err = c.Entries(func(e warc.Entry) error {
		list += strings.TrimPrefix(e.URL, "http://a.example/")
		return nil
	})
	if (err != nil) != (f.problem != "" && f.problem != "does not match its digest") || list != f.list || v.Answers != len(list) {
		t.Errorf("%q are listed (%v), %d verified, want %q", list, err, v.Answers, f.list)
	}
	for _, name := range f.list {
		var got string
		err := c.Find(warc.Key("http://a.example/"+string(name)), "", true, func(rec *warc.Record) error {
			block, err := io.ReadAll(rec)
			if m, ok := warc.Split(block); ok {
				body, _, _ := m.Payload()
				got = string(body)
			} else {
				got = string(block)
			}
			return err
		})
		if err != nil || f.payload == "" && got != oddBody {
			t.Errorf("%c: %q (%v)", name, got, err)
		}
	}
	return v
}
