package pages

import (
	"errors"
	"fmt"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// Files that come together are stored in one transaction. If nothing changes, there is none.
func TestUpdateFilesTogether(t *testing.T) {
	s := openTemp(t)
	committed := func() (id int) { // transactions are numbered
		if err := s.view(func(tx *bolt.Tx) error { id = tx.ID(); return nil }); err != nil {
			t.Fatal(err)
		}
		return id
	}
	transactions := func(do func() error) int {
		t.Helper()
		before := committed()
		if err := do(); err != nil {
			t.Fatal(err)
		}
		return committed() - before
	}
	var keys []string
	for i := range 50 {
		keys = append(keys, fmt.Sprintf("https://h%02d.example", i))
	}
	keys = append(keys, keys[0])
	set := func(i int, old []byte) ([]byte, error) { return append(old[:len(old):len(old)], byte(i)), nil }
	together := transactions(func() error { return s.Datasets().UpdateFiles(keys, set) })
	one := transactions(func() error {
		return s.Datasets().UpdateFiles([]string{"https://one.example"}, func(int, []byte) ([]byte, error) { return []byte("x"), nil })
	})
	if none := transactions(func() error {
		return s.Datasets().UpdateFiles(keys, func(int, []byte) ([]byte, error) { return nil, nil })
	}); none != 0 {
		t.Errorf("%d transactions when nothing changes", none)
	}
	if together != 1 || one != 1 {
		t.Errorf("51 files took %d transactions, one %d", together, one)
	}
	if v, err := s.Datasets().File(keys[0]); err != nil || string(v) != "\x00\x32" {
		t.Errorf("a key that came twice: %q, %v", v, err)
	}
	if v, err := s.Datasets().File("https://none.example"); v != nil || err != nil {
		t.Errorf("no file: %q, %v", v, err)
	}
	bad := errors.New("bad")
	if err := s.Datasets().UpdateFiles(keys, func(i int, _ []byte) ([]byte, error) {
		if i == 3 {
			return nil, bad
		}
		return []byte("y"), nil
	}); !errors.Is(err, bad) {
		t.Errorf("an error: %v", err)
	}
	if v, _ := s.Datasets().File(keys[1]); string(v) != "\x01" {
		t.Errorf("half a transaction was kept: %q", v)
	}
}

func TestNextFile(t *testing.T) {
	s := openTemp(t)
	if _, _, ok, err := s.Datasets().NextFile("", func(string) bool { return true }); ok || err != nil {
		t.Errorf("of nothing: %v, %v", ok, err)
	}
	for _, k := range []string{"https://a.example", "https://a.example/x/data.txt", "https://a.example:8", "https://b.example"} {
		if err := s.Datasets().UpdateFiles([]string{k}, func(int, []byte) ([]byte, error) { return []byte("of " + k), nil }); err != nil {
			t.Fatal(err)
		}
	}
	got, after := "", ""
	for {
		k, v, ok, err := s.Datasets().NextFile(after, func(key string) bool { return len(key) < 20 })
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		if string(v) != "of "+k {
			t.Errorf("%s: %q", k, v)
		}
		got += k + " "
		after = k
	}
	if got != "https://a.example https://a.example:8 https://b.example " {
		t.Errorf("%s", got)
	}
}

// Telling changes after each change of what is stored about datasets, and after nothing else.
func TestTelling(t *testing.T) {
	s := openTemp(t)
	last := s.Datasets().Version()
	changes := func(want bool, what string, do func() error) {
		t.Helper()
		if err := do(); err != nil {
			t.Fatal(err)
		}
		if now := s.Datasets().Version(); (now != last) != want {
			t.Errorf("%s: %s after %s", what, now, last)
		} else {
			last = now
		}
	}
	put := func(p Page) func() error {
		return func() error { _, err := s.Put([]Page{p}); return err }
	}
	file := func(v []byte) func() error {
		return func() error {
			return s.Datasets().UpdateFiles([]string{"https://d.example"}, func(int, []byte) ([]byte, error) { return v, nil })
		}
	}
	changes(false, "a page that tells of none", put(page("https://d.example/a", 1, "words")))
	changes(true, "a page that tells", put(telling("https://d.example/b", 1)))
	changes(true, "it tells of none any more", put(page("https://d.example/b", 2, "words")))
	changes(true, "a data.txt", file([]byte("v")))
	changes(false, "one that stays as it was", file(nil))
	changes(true, "it is gone", func() error { return s.Datasets().DropFiles(func(string) bool { return true }) })
	changes(false, "it is gone already", func() error { return s.Datasets().DropFiles(func(string) bool { return true }) })
}

// telling returns a page that describes datasets.
func telling(u string, visit uint64) Page {
	p := page(u, visit, "words")
	p.Claims = []byte("c")
	return p
}
