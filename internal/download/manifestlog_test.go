package download

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/testaid"
)

// resourceN returns the n-th of many files.
func resourceN(n int) resource {
	return resource{Path: fmt.Sprintf("station-%05d.csv", n), Bytes: 3, Hash: "sha256:" + sumOf([]byte("abc")), Sources: []source{{Title: "d.example", Path: "http://d.example"}},
		Curtsy: origin{Dataset: "d1", Title: "Rain", URL: fmt.Sprintf("http://d.example/%d", n), Documents: []string{fmt.Sprintf("http://d.example/%d/data.txt", n/100)}}}
}

// The cost of a file does not grow with the number of files: the lists are written a few times, and
// not for each file.
func TestManifestOfManyFiles(t *testing.T) {
	dir := t.TempDir()
	b, err := openManifestLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	const files = 600
	var last os.FileInfo
	written := 0
	for n := range files {
		if err := b.add(resourceN(n)); err != nil {
			t.Fatal(err)
		}
		now, err := os.Stat(filepath.Join(dir, packageName))
		if err != nil {
			t.Fatal(err)
		}
		if last == nil || !os.SameFile(last, now) {
			written++
		}
		last = now
	}
	if most := 60; written > most {
		t.Errorf("%d files: both lists were written %d times, want at most %d", files, written, most)
	}
	// The next process knows what a killed process has logged.
	if b, err = openManifestLog(dir); err != nil {
		t.Fatal(err)
	}
	for n := range files {
		if r, ok := b.find(resourceN(n).Curtsy.URL); !ok || r.Path != resourceN(n).Path {
			t.Fatalf("%d: %+v, %v", n, r, ok)
		}
	}
}

// If thousands of files have the same name, each of them costs no more.
func TestManyFilesOfOneName(t *testing.T) {
	take := func(files int) func() {
		return func() {
			n, seen := names{}, map[string]bool{}
			for range files {
				seen[n.take("data.csv")] = true
			}
			if last := fmt.Sprintf("data-%d.csv", files); len(seen) != files || !seen[last] {
				t.Errorf("%d names for %d files, %s: %v", len(seen), files, last, seen[last])
			}
		}
	}
	testaid.Linear(t, "names of files", take(1000), take(8000))
}

// A package may have any size: what was written can be read.
func TestLargePackage(t *testing.T) {
	dir := t.TempDir()
	r := resourceN(1)
	r.Title = strings.Repeat("x", testaid.Volume(65<<20, 1<<20))
	if err := replace(dir, packageName, func(w io.Writer) error {
		return json.NewEncoder(w).Encode(dataPackage{CreatedBy: createdBy, Resources: []resource{r, resourceN(2)}})
	}); err != nil {
		t.Fatal(err)
	}
	b, err := openManifestLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := b.find(resourceN(2).Curtsy.URL); !ok {
		t.Error("its second file is not known")
	}
}

func BenchmarkAddToBook(b *testing.B) {
	for _, n := range []int{1000, 16000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			k, err := openManifestLog(b.TempDir())
			if err != nil {
				b.Fatal(err)
			}
			for i := range n {
				k.know(resourceN(i))
			}
			for i := 0; b.Loop(); i++ {
				if err := k.add(resourceN(n + i)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The log counts like the lists, even if a crash left an incomplete last line. The next Get writes
// the lists.
func TestManifestLog(t *testing.T) {
	dir := t.TempDir()
	b, err := openManifestLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	b.share = -1
	for n := range 3 {
		if err := errors.Join(os.WriteFile(filepath.Join(dir, resourceN(n).Path), []byte("abc"), 0o644), b.add(resourceN(n))); err != nil {
			t.Fatal(err)
		}
	}
	half, err := os.OpenFile(filepath.Join(dir, logName), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	half.WriteString(`{"name":"","path":"stat`)
	half.Close()
	if rep, err := Verify(t.Context(), dir); err != nil || rep.OK || rep.Files != 3 || len(rep.Problems) != 2 || rep.Problems[1].Problem != "unfinished" {
		t.Errorf("Verify: %+v, %v", rep, err)
	}
	if b, err = openManifestLog(dir); err != nil {
		t.Fatal(err)
	}
	b.share = -1
	newer := resourceN(1)
	newer.Bytes, newer.Hash = 4, "sha256:"+sumOf([]byte("abcd"))
	os.WriteFile(filepath.Join(dir, newer.Path), []byte("abcd"), 0o644)
	if err := b.add(newer); err != nil {
		t.Fatal(err)
	}
	if logged, _, err := readLog(dir); len(logged) != 4 || err != nil {
		t.Errorf("the log has %d entries, %v", len(logged), err)
	}
	if res, err := Get(t.Context(), nil, Options{Dir: dir}); len(res) != 0 || err != nil {
		t.Error(res, err)
	}
	checked(t, dir, 3)
	if _, err := os.Lstat(filepath.Join(dir, logName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the log is still there: %v", err)
	}
	os.WriteFile(filepath.Join(dir, logName), []byte("rubbish\n"), 0o644)
	if _, err := openManifestLog(dir); err == nil || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("a damaged log: %v", err)
	}
}

// Lists of a version that had no log.
func TestOldManifest(t *testing.T) {
	dir := t.TempDir()
	const old = `{
  "profile": "data-package",
  "name": "rain",
  "title": "Rain",
  "created": "2026-11-20T10:00:00Z",
  "created_by": "curtsy datasets get",
  "licenses": [{"name": "CC0-1.0"}],
  "sources": [{"title": "http://d.example/data.txt", "path": "http://d.example/data.txt"}],
  "resources": [
    {"name": "rain.csv", "path": "rain.csv", "bytes": 3, "hash": "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
      "sources": [{"title": "http://d.example", "path": "http://d.example/rain.csv"}],
      "curtsy": {"dataset": "d1", "url": "http://d.example/rain.csv", "documents": ["http://d.example/data.txt"], "retrieved": "2026-11-20T10:00:00Z"}}
  ]
}
`
	for name, text := range map[string]string{packageName: old, sumsName: sumLine(sumOf([]byte("abc")), "rain.csv"), "rain.csv": "abc"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	simnet.Test(t, func(t *testing.T) {
		s := newSite(t, content(`"1"`, bytesOf(500)))
		res := get(t, options(t, s, dir), datasetOf("http://d.example/rain.csv", "http://d.example/more.csv"))
		if res[0].Outcome != Had || res[1].Outcome != Done || len(s.take()) != 1 {
			t.Errorf("%+v", res)
		}
	})
	checked(t, dir, 2)
}
