package export

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Items are divided at their borders only, no file is larger than it may be, and an item that fits
// no file is left out.
func TestParts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	p, err := OpenParts(dir, 100)
	if err != nil {
		t.Fatal(err)
	}
	var all string
	for i, n := range []int{60, 40, 1, 100, 101, 99, 1, 1} {
		item := strings.Repeat(string(rune('a'+i)), n-1) + "\n"
		if n <= 100 {
			all += item
		}
		if got, err := p.Write([]byte(item)); err != nil || got != n {
			t.Fatal(got, err)
		}
	}
	if err := p.Close(); err != nil || p.TooLarge != 1 {
		t.Errorf("%v, %d left out", err, p.TooLarge)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 5 {
		t.Fatalf("%v, %v", files, err)
	}
	got := ""
	for i, f := range files {
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil || len(b) > 100 || f.Name() != "part-00000"+string(rune('1'+i))+".ndjson" {
			t.Errorf("%s has %d bytes, %v", f.Name(), len(b), err)
		}
		got += string(b)
	}
	if got != all {
		t.Errorf("%q, want %q", got, all)
	}
	if _, err := OpenParts(dir, 100); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("a folder with files: %v", err)
	}
}
