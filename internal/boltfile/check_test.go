package boltfile

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/testaid"
)

// fill makes a file with branches, overflowing values, an inline bucket and a free list, and
// returns its bytes.
func fill(t *testing.T, unsynced bool) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.db")
	f, err := Open(path, bolt.Options{Timeout: time.Second, NoSync: true, NoFreelistSync: unsynced}, "move it away")
	if err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		err := f.Update(func(tx *bolt.Tx) error {
			small, err := tx.CreateBucketIfNotExists([]byte("small"))
			if err != nil {
				return err
			}
			large, err := tx.CreateBucketIfNotExists([]byte("large"))
			if err != nil {
				return err
			}
			for i := range 300 {
				if err := large.Put(fmt.Appendf(nil, "key-%04d", i*(round+1)), make([]byte, 50+i*(round+1)*13%(200+5000*(i%20/19)))); err != nil {
					return err
				}
			}
			return small.Put([]byte("a"), []byte("b"))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// use reads and writes a file as a program would. It reports whether that failed, and fails the
// test only if an error does not name the file and the remedy.
func use(t *testing.T, path string, unsynced, readOnly bool) (failed bool) {
	f, err := Open(path, bolt.Options{Timeout: time.Second, NoSync: true, NoFreelistSync: unsynced, ReadOnly: readOnly}, "move it away")
	if err == nil {
		err = f.View(func(tx *bolt.Tx) error {
			return tx.ForEach(func(_ []byte, b *bolt.Bucket) error {
				return b.ForEach(func(k, v []byte) error {
					for _, c := range v {
						_ = c
					}
					b.Get(k)
					return nil
				})
			})
		})
		if err == nil && !readOnly {
			err = f.Update(func(tx *bolt.Tx) error {
				b, err := tx.CreateBucketIfNotExists([]byte("large"))
				if err != nil {
					return err
				}
				for i := range 50 {
					if err := b.Put(fmt.Appendf(nil, "key-%04d", i*7), make([]byte, 3000)); err != nil {
						return err
					}
				}
				return nil
			})
		}
		f.Close()
	}
	if err == nil {
		return false
	}
	if s := err.Error(); IsDamaged(err) && (!strings.Contains(s, path) || !strings.Contains(s, "move it away")) {
		t.Errorf("the error names neither the file nor the remedy: %v", err)
	}
	// The lock is released after each kind of error.
	if g, err := openLocked(path, os.O_RDWR, false, 50*time.Millisecond); err != nil {
		t.Errorf("still locked: %v", err)
	} else {
		g.Close()
	}
	return true
}

func TestDamageIsAnError(t *testing.T) {
	for _, unsynced := range []bool{false, true} {
		whole := fill(t, unsynced)
		if path := filepath.Join(t.TempDir(), "b.db"); os.WriteFile(path, whole, 0o600) != nil || use(t, path, unsynced, true) || use(t, path, unsynced, false) {
			t.Fatal("an intact file is refused")
		}
		rnd, found := rand.New(rand.NewPCG(1, 2)), 0
		for i := range 150 {
			b := append([]byte(nil), whole...)
			page := rnd.IntN(len(b) / 4096)
			at := b[page*4096 : (page+1)*4096]
			switch i % 5 {
			case 0:
				clear(at)
			case 1:
				copy(at, b[rnd.IntN(len(b)/4096)*4096:]) // written to the wrong place
			case 2:
				b = b[:page*4096] // cut short
			default: // in the headers, where damage has the largest effect
				for range 1 + rnd.IntN(4) {
					at[rnd.IntN(256)] ^= 1 << rnd.IntN(8)
				}
			}
			path := filepath.Join(t.TempDir(), "b.db")
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			if use(t, path, unsynced, i%2 == 0) {
				found++
			}
		}
		if found < 40 {
			t.Errorf("only %d of 150 damaged files were noticed", found)
		}
	}
}

// A file that cannot be read any more while it is open causes a fault in the mapped memory.
func TestAFaultIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	if err := os.WriteFile(path, fill(t, false), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path, bolt.Options{Timeout: time.Second, InitialMmapSize: 64 << 20}, "move it away")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 8192); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		err = f.View(func(tx *bolt.Tx) error {
			return tx.Bucket([]byte("large")).ForEach(func(_, _ []byte) error { return nil })
		})
		if !IsDamaged(err) {
			t.Fatalf("got %v", err)
		}
	}
	if err := f.Update(func(*bolt.Tx) error { return nil }); !IsDamaged(err) {
		t.Errorf("written to: %v", err)
	}
	done := make(chan struct{})
	go func() { f.Close(); close(done) }()
	testaid.Receive(t, "Close has returned", done)
}

func TestOpenFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "target")
	if err := os.WriteFile(target, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "a.db")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	if f, err := Open(link, bolt.Options{Timeout: time.Second}, ""); err == nil {
		f.Close()
		t.Error("opened through a link")
	} else if !strings.Contains(err.Error(), "symbolic link") {
		t.Error(err)
	}
	if _, err := Open(dir, bolt.Options{Timeout: time.Second, ReadOnly: true}, ""); err == nil || !strings.Contains(err.Error(), "regular") {
		t.Error(err)
	}
}

// A file that is only read is checked at its upper pages. Damage below them is found when it is
// read. Before a file is written to, more of it is checked.
func TestReadersCheckUpperPages(t *testing.T) {
	for _, unsynced := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "a.db")
		f, err := Open(path, bolt.Options{NoSync: true, NoFreelistSync: unsynced}, "move it away")
		if err != nil {
			t.Fatal(err)
		}
		const entries = 3 * checkPagesToRead // two on a page
		err = f.Update(func(tx *bolt.Tx) error {
			b, err := tx.CreateBucket([]byte("b"))
			if err != nil {
				return err
			}
			b.FillPercent = 1
			for i := range entries {
				if err := b.Put(fmt.Appendf(nil, "key-%06d", i), make([]byte, 1700)); err != nil {
					return err
				}
			}
			return nil
		})
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []int{1, entries - 9} { // the first key of a page is in a branch too
			b := bytes.Clone(whole)
			at := bytes.Index(b, fmt.Appendf(nil, "key-%06d", key)) / 4096 * 4096
			b[at] ^= 0xff // another page's number
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			if f, err := Open(path, bolt.Options{NoFreelistSync: unsynced}, "move it away"); !IsDamaged(err) {
				t.Errorf("opened for writing: %v", err)
				f.Close()
			}
			f, err := Open(path, bolt.Options{ReadOnly: true, NoFreelistSync: unsynced}, "move it away")
			if key == 1 {
				if !IsDamaged(err) {
					t.Errorf("an upper page is damaged: %v", err)
				}
				continue
			}
			if err != nil {
				t.Fatalf("more than the upper pages are checked: %v", err)
			}
			get := func(key int) error {
				return f.View(func(tx *bolt.Tx) error {
					tx.Bucket([]byte("b")).Get(fmt.Appendf(nil, "key-%06d", key))
					return nil
				})
			}
			if err := get(0); err != nil {
				t.Errorf("an intact page is not read: %v", err)
			}
			if err := get(key); !IsDamaged(err) {
				t.Errorf("a damaged page is read: %v", err)
			}
			f.Close()
		}
	}
}
