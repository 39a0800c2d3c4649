package lenientjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

func isList(name []byte) bool { return string(name) == "dataset" || string(name) == "@graph" }

// read reads an input with a Reader.
func read(t testing.TB, in io.Reader, keep int64) ([]byte, Report) {
	t.Helper()
	r := NewReader(in, isList)
	r.keep = keep
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return out, r.Report()
}

// valid reports whether out is one JSON document, or several with a line end between them.
func valid(out []byte) bool {
	dec := json.NewDecoder(bytes.NewReader(out))
	for {
		var v json.RawMessage
		if err := dec.Decode(&v); err == io.EOF {
			return true
		} else if err != nil {
			return false
		}
	}
}

// Beside encoding/json: what that accepts comes back unchanged and without a problem. Whatever the
// reader yields is JSON. Its output is bounded, and does not depend on how the input is cut.
func FuzzReader(f *testing.F) {
	for _, c := range cases {
		f.Add([]byte(c.in), 64)
	}
	for _, c := range lostCases {
		f.Add([]byte(c.in), 20)
	}
	f.Fuzz(func(t *testing.T, in []byte, keep int) {
		fixed, report := Fix(in, isList)
		if json.Valid(in) {
			if !report.Clean() || !bytes.Equal(fixed, in) {
				t.Fatalf("strict JSON %q became %q: %+v", in, fixed, report)
			}
		} else if report.Clean() && !bytes.HasPrefix(in, []byte("\xef\xbb\xbf")) {
			t.Fatalf("%q became %q without a problem", in, fixed)
		}
		if report.Failed != (fixed == nil) || fixed != nil && !json.Valid(bytes.TrimPrefix(fixed, []byte("\xef\xbb\xbf"))) {
			t.Fatalf("%q became %q, which is no JSON: %+v", in, fixed, report)
		}
		if len(fixed) > 6*len(in)+16 {
			t.Fatalf("%d bytes became %d", len(in), len(fixed))
		}
		if (report.String() == "") != report.Clean() {
			t.Fatalf("%+v is described as %q", report, report.String())
		}
		for _, limit := range []int64{MaxEntry, int64(max(8, min(keep, 1<<20)))} {
			out, report := read(t, bytes.NewReader(in), limit)
			if json.Valid(in) && (!report.Clean() || !bytes.Equal(out, in)) {
				t.Fatalf("strict JSON %q became %q: %+v", in, out, report)
			}
			if !valid(out) || report.Failed != (len(bytes.TrimSpace(out)) == 0) {
				t.Fatalf("%q became %q, which is no JSON: %+v", in, out, report)
			}
			for _, cut := range []io.Reader{iotest.OneByteReader(bytes.NewReader(in)), iotest.DataErrReader(iotest.HalfReader(bytes.NewReader(in)))} {
				again, second := read(t, cut, limit)
				if !bytes.Equal(again, out) || !reflect.DeepEqual(second, report) {
					t.Fatalf("%q became %q, %+v, and cut otherwise %q, %+v", in, out, report, again, second)
				}
			}
		}
	})
}

// An error of the input comes after all that was read before it.
func TestErrorOfTheInput(t *testing.T) {
	torn := errors.New("torn")
	in := `{"dataset":[` + strings.Repeat(`{"a":1},`, 200_000)
	r := NewReader(&tornReader{[]byte(in), torn}, isList)
	out, err := io.ReadAll(r)
	if err != torn || len(out) < len(in)-10 {
		t.Errorf("%d bytes, %v", len(out), err)
	}
}

// tornReader returns an error together with the last bytes.
type tornReader struct {
	left []byte
	err  error
}

func (r *tornReader) Read(p []byte) (int, error) {
	n := copy(p, r.left)
	if r.left = r.left[n:]; len(r.left) == 0 {
		return n, r.err
	}
	return n, nil
}

// Malicious inputs cost time in proportion to their length: the bytes that are looked at are
// counted by the buffer that has to hold them.
func TestBombs(t *testing.T) {
	for _, s := range []string{"{", "[", `{"a":`, "[{", `"`, "/*", "//", "<!--", "#", "'", "&quot;", "}", "]", ",", ":", `\`, "-", "0", " ", "\x00", `{"a":1,`, `"},{`, "+", `{"a":"b" c`,
		"[{\"a\" ", "\n{", "u'", "a(", "/*'", `["",`, `{"dataset":[{"`} {
		in := []byte(strings.Repeat(s, 2<<20/len(s)))
		fixed, report := Fix(in, isList)
		if report.Clean() || fixed != nil && !json.Valid(fixed) {
			t.Errorf("%q: %d bytes, %+v", s, len(fixed), report)
		}
		r := NewReader(bytes.NewReader(in), isList)
		var got bytes.Buffer
		if _, err := io.Copy(&got, r); err != nil || cap(r.buf)+cap(r.out) > 16*MaxEntry {
			t.Errorf("%q: %v, %d bytes in memory", s, err, cap(r.buf)+cap(r.out))
		}
		if !valid(got.Bytes()) {
			t.Errorf("%q: no JSON", s)
		}
	}
}
