package archive

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/curtsy/curtsy/internal/warc"
)

// FuzzOddFiles: for any file, reading ends, and list, cat and verify have the same answers. A
// repair keeps them all and the old file, its file has nothing left that a repair mends, and a
// second one changes nothing.
func FuzzOddFiles(f *testing.F) {
	for _, o := range oddFiles() {
		if len(o.text) < 8<<10 {
			f.Add([]byte(o.text), !o.plain)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, packed bool) {
		path := filepath.Join(t.TempDir(), "a.warc.gz")
		if !packed {
			path = strings.TrimSuffix(path, ".gz")
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		before, list := fuzzVerify(t, path)
		did, err := Repair(path)
		if err != nil {
			if before.Records > 0 {
				t.Fatalf("%+v: %v", before, err)
			}
			return
		}
		if did.Old == "" {
			if before.Mends {
				t.Fatalf("%+v is not mended", before)
			}
			return
		}
		if old, err := os.ReadFile(did.Old); string(old) != string(text) {
			t.Fatalf("%d bytes of %d are kept (%v)", len(old), len(text), err)
		}
		after, again := fuzzVerify(t, path)
		if after.Mends || after.Records != before.Records || !slices.Equal(again, list) {
			t.Fatalf("before %+v %q\nafter %+v %q", before, list, after, again)
		}
		if did, err := Repair(path); err != nil || did.Old != "" {
			t.Fatalf("again: %+v, %v", did, err)
		}
	})
}

// fuzzVerify compares what list and verify find, and reads each answer as cat does.
func fuzzVerify(t *testing.T, path string) (v Verified, list []string) {
	v, err := Verify(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []warc.Entry
	if err := Entries(path, func(e warc.Entry) error { all = append(all, e); return nil }); err != nil && len(v.Problems) == 0 {
		t.Fatalf("%v, and verify found nothing", err)
	}
	if len(all) != v.Answers {
		t.Fatalf("%d answers are listed, %d verified", len(all), v.Answers)
	}
	for _, e := range all {
		err := Read(path, e, func(rec *warc.Record) error {
			if utf8.ValidString(rec.URI()) && utf8.ValidString(e.URL) && rec.URI() != e.URL && !strings.ContainsRune(e.URL, utf8.RuneError) {
				t.Fatalf("%q is read for %q", rec.URI(), e.URL)
			}
			return rec.Close()
		})
		if err != nil {
			t.Fatalf("%+v: %v", e, err)
		}
		list = append(list, e.Time+" "+e.Status+" "+valid.Replace(strings.ToValidUTF8(e.URL, "")))
	}
	slices.Sort(list) // an index is sorted
	return v, list
}

// valid removes what JSON puts in for bytes that are not UTF-8.
var valid = strings.NewReplacer("\uFFFD", "")
