package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/testaid"
)

const blockSize = 1200

func openPacked(t testing.TB) (*bolt.DB, func() *bolt.Tx) {
	t.Helper()
	db, err := bolt.Open(filepath.Join(t.TempDir(), "x.db"), 0o600, &bolt.Options{NoSync: true, NoGrowSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db, func() *bolt.Tx {
		tx, err := db.Begin(true)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.CreateBucketIfNotExists([]byte("x")); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = tx.Rollback() })
		return tx
	}
}

// TestMapIsAMap makes the same random changes to a PackedMap and to a Go map, in many transactions,
// some of which are rolled back.
func TestMapIsAMap(t *testing.T) {
	for seed := range uint64(testaid.Runs(8, 2)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			_, begin := openPacked(t)
			want := map[string]string{}
			groups := 1 + r.IntN(30)
			key := func() []byte {
				k := binary.BigEndian.AppendUint32(nil, uint32(1+r.IntN(groups)))
				switch r.IntN(4) {
				case 0: // short ones
					return append(k, byte(r.IntN(5)))
				case 1: // random keys
					return binary.BigEndian.AppendUint64(k, r.Uint64())
				default: // growing keys
					return binary.BigEndian.AppendUint64(k, uint64(len(want)+r.IntN(40)))
				}
			}
			value := func() []byte {
				v := []byte(strings.Repeat("shared by all ", r.IntN(4)))
				v = append(v, fmt.Sprint(r.IntN(1000))...)
				if r.IntN(200) == 0 {
					v = append(v, bytes.Repeat([]byte{7}, 5000)...)
				}
				return v
			}
			for range 40 {
				tx := begin()
				m, before := NewPackedMap(tx.Bucket([]byte("x")), 2, blockSize), maps.Clone(want)
				for _, kind := range []byte{1, 3} { // neighbours
					o := NewPackedMap(tx.Bucket([]byte("x")), kind, blockSize)
					for range 20 {
						if err := o.Put(key(), value()); err != nil {
							t.Fatal(err)
						}
					}
					if err := o.Flush(); err != nil {
						t.Fatal(err)
					}
				}
				for range r.IntN(300) {
					k := key()
					if len(want) > 0 && r.IntN(2) == 0 {
						keys := slices.Sorted(maps.Keys(want))
						k = []byte(keys[r.IntN(len(keys))])
					}
					switch r.IntN(10) {
					case 0, 1, 2:
						delete(want, string(k))
						if err := m.Delete(k); err != nil {
							t.Fatal(err)
						}
					case 3:
						if got, ok := want[string(k)]; (m.Get(k) != nil) != ok || string(m.Get(k)) != got {
							t.Fatalf("%x is %q, want %q", k, m.Get(k), got)
						}
					default:
						v := value()
						want[string(k)] = string(v)
						if err := m.Put(k, v); err != nil {
							t.Fatal(err)
						}
						clear(v)
					}
				}
				check(t, m, want)
				if r.IntN(5) == 0 {
					if err := tx.Rollback(); err != nil {
						t.Fatal(err)
					}
					want = before
					continue
				}
				if err := m.Flush(); err != nil {
					t.Fatal(err)
				}
				check(t, m, want)
				if err := tx.Commit(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// check iterates over all of m, and seeks to places in the middle.
func check(t *testing.T, m *PackedMap, want map[string]string) {
	t.Helper()
	keys := slices.Sorted(maps.Keys(want))
	c, i := m.Cursor(), 0
	for k, v := c.First(); k != nil; k, v = c.Next() {
		if i >= len(keys) || string(k) != keys[i] || string(v) != want[keys[i]] {
			t.Fatalf("key %d is %x %q", i, k, v)
		}
		i++
	}
	if i != len(keys) {
		t.Fatalf("%d keys, want %d", i, len(keys))
	}
	for n := 0; n < len(keys); n += 1 + len(keys)/20 {
		for _, from := range [][]byte{[]byte(keys[n]), []byte(keys[n])[:group], append([]byte(keys[n]), 0), []byte(keys[n])[:group+1]} {
			i, _ := slices.BinarySearch(keys, string(from))
			k, _ := m.Cursor().Seek(from)
			if i == len(keys) && k != nil || i < len(keys) && string(k) != keys[i] {
				t.Fatalf("from %x on comes %x, want number %d of %d: %x", from, k, i, len(keys), keys[i])
			}
		}
	}
}

// TestSetIsASet does the same with a Set, with many equal hashes.
func TestSetIsASet(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	_, begin := openPacked(t)
	type known struct {
		of   uint32
		hash uint64
	}
	want, n := map[known][]uint64{}, uint64(0)
	for range 60 {
		tx := begin()
		s := NewPackedSet(tx.Bucket([]byte("x")), 2)
		for range 400 {
			n++
			k := known{uint32(1 + r.IntN(3)), r.Uint64()}
			if r.IntN(2) == 0 {
				k.hash = uint64(r.IntN(50)) << 56
			}
			k.hash &^= 0xff // bits that the set does not store
			if err := s.Add(k.of, k.hash|uint64(r.IntN(256)), n); err != nil {
				t.Fatal(err)
			}
			want[k] = append(want[k], n)
		}
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
		for k, numbers := range want {
			var got []uint64
			s.Each(k.of, k.hash, func(n uint64) bool {
				got = append(got, n)
				return true
			})
			if !slices.Equal(got, numbers) {
				t.Fatalf("%v has %d, want %d", k, got, numbers)
			}
			if s.Each(k.of+3, k.hash, func(uint64) bool { t.Error("another group has it"); return false }); t.Failed() {
				return
			}
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	// Very many entries of one hash, and one other, before and after.
	for _, other := range []uint64{1 << 20, 3 << 20} {
		tx := begin()
		s, of := NewPackedSet(tx.Bucket([]byte("x")), 2), uint32(other)
		for i := range uint64(2*setRecords + 1) {
			if err := s.Add(of, 2<<20, i); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(s.Add(of, other, 7), s.Flush()); err != nil {
			t.Fatal(err)
		}
		n := 0
		s.Each(of, 2<<20, func(uint64) bool { n++; return true })
		s.Each(of, other, func(uint64) bool { n++; return true })
		if n != 2*setRecords+2 {
			t.Errorf("%d numbers, want %d", n, 2*setRecords+2)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	tx := begin()
	if s := NewPackedSet(tx.Bucket([]byte("x")), 2); s.Add(1, 1, MaxNumber) != nil || s.Add(1, 1, MaxNumber+1) == nil {
		t.Error("the largest number is not the largest")
	}
}

// TestNeighboursShare checks the purpose of the format: what neighbours have in common is stored
// once.
func TestNeighboursShare(t *testing.T) {
	_, begin := openPacked(t)
	tx := begin()
	m := NewPackedMap(tx.Bucket([]byte("x")), 2, blockSize)
	size := func() (n int) {
		_ = tx.Bucket([]byte("x")).ForEach(func(k, v []byte) error {
			if n += len(k) + len(v); len(v) > blockSize {
				t.Errorf("a block of %d bytes", len(v))
			}
			return nil
		})
		return n
	}
	const each = 1000
	for i := range each {
		k := binary.BigEndian.AppendUint64([]byte{0, 0, 0, 1}, uint64(i))
		if err := m.Put(k, fmt.Appendf(nil, "https://www.example.org/some/directory/page-%d.html", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Flush(); err != nil {
		t.Fatal(err)
	}
	if n := size() / each; n > 15 {
		t.Errorf("%d bytes a record", n)
	}
	if m.Put(make([]byte, MaxKey), nil) != nil || m.Put(make([]byte, MaxKey+1), nil) == nil || m.Put(make([]byte, group-1), nil) == nil {
		t.Error("the longest key is not the longest, or the shortest not the shortest")
	}
}

// FuzzBlock reads any bytes of a damaged file: the result is records, or a panic that reports the
// damage.
func FuzzBlock(f *testing.F) {
	f.Add(appendEntry(appendEntry(nil, nil, nil, []byte("aaaab"), []byte("one")), []byte("aaaab"), []byte("one"), []byte("aaaac"), []byte("once")))
	f.Add([]byte{5, 1, 2})
	f.Fuzz(func(t *testing.T, raw []byte) {
		defer func() {
			if what := recover(); what != nil && !strings.HasPrefix(fmt.Sprint(what), "packed: ") {
				panic(what)
			}
		}()
		k := &block{raw: raw}
		k.split()
		var again []entry
		_ = k.pieces(blockSize, func(_, raw []byte) error {
			p := &block{raw: bytes.Clone(raw)}
			p.split()
			again = append(again, p.form.entries...)
			return nil
		})
		if !slices.EqualFunc(again, k.form.entries, func(a, b entry) bool { return bytes.Equal(a.key, b.key) && bytes.Equal(a.val, b.val) }) {
			t.Errorf("read again: %q, want %q", again, k.form.entries)
		}
	})
}

// TestWrittenTheSame writes records in order and in random order, and flushes them together and
// each kind separately: the file has the same content.
func TestWrittenTheSame(t *testing.T) {
	_, begin := openPacked(t)
	tx := begin()
	written := func(name string, shuffled, together bool) map[string]string {
		b, err := tx.CreateBucketIfNotExists([]byte(name))
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(3, 4))
		for round := range uint64(6) {
			known, records, queues := NewPackedSet(b, 1), NewPackedMap(b, 3, blockSize), NewPackedMap(b, 2, 500)
			for of := range uint32(5) {
				numbers := make([]uint64, 3+int(of)*(40+int(round)))
				for i := range numbers {
					numbers[i] = round<<20 + uint64(i)
				}
				if shuffled {
					r.Shuffle(len(numbers), func(i, j int) { numbers[i], numbers[j] = numbers[j], numbers[i] })
				}
				for _, n := range numbers {
					key := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(nil, of+1), n)
					err := errors.Join(known.Add(of+1, n*0x9E3779B97F4A7C15, n), records.Put(key, []byte("before")),
						records.Put(key, fmt.Appendf(nil, "https://www.example.org/%d/%d", of, n)), queues.Put(key, nil))
					if err != nil {
						t.Fatal(err)
					}
					if got := records.Get(key); string(got) != fmt.Sprintf("https://www.example.org/%d/%d", of, n) {
						t.Fatalf("%x is %q", key, got)
					}
				}
			}
			if together {
				err = Flush(known, records, queues)
			} else {
				err = errors.Join(queues.Flush(), records.Flush(), known.Flush())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		all := map[string]string{}
		if err := b.ForEach(func(k, v []byte) error { all[string(k)] = string(v); return nil }); err != nil {
			t.Fatal(err)
		}
		return all
	}
	want := written("a", false, false)
	if len(want) < 60 {
		t.Fatalf("%d blocks are few", len(want))
	}
	for i, other := range []map[string]string{written("b", true, false), written("c", false, true), written("d", true, true)} {
		if !maps.Equal(want, other) {
			t.Errorf("%d: %d blocks, and %d when records come in order and are flushed one after the other", i, len(other), len(want))
		}
	}
}
