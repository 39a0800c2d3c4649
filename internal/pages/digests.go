package pages

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"sort"
	"sync"

	bolt "go.etcd.io/bbolt"
)

// Digests are random, and a B-tree needs a leaf for each random key: an index by digest in a bucket
// would take a third of the time of storing a page (m: 11 of 38 µs). The index is therefore
// log-structured. New entries stay in memory, and after every digestRun pages they are written as
// one sorted run, which is a single value. At the start, memory is filled again from the change
// feed, from the number with which the last run ends. Entries are never removed. An entry whose
// number in the change feed was replaced leads nowhere and is skipped. When most entries are like
// that, all runs are written again.

const (
	digestRun   = 16 << 10 // entries in memory before they become a run
	digestEntry = 16       // bytes: 8 of the digest, then the number in the change feed
)

// digests is the part of the index that is in memory.
type digests struct {
	run    int        // digestRun, or less in tests
	mu     sync.Mutex // guards what follows
	loaded bool
	recent []byte // entries newer than the last run, in order of arrival
}

func appendEntry(dst []byte, sum [32]byte, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, sum[:8]...), seq)
}

// load reads the entries that are newer than the last run from the change feed, once.
func (d *digests) load(tx *bolt.Tx) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.loaded {
		return nil
	}
	from := []byte{}
	if last, _ := tx.Bucket(bucketDigests).Cursor().Last(); last != nil {
		from = be64(binary.BigEndian.Uint64(last) + 1)
	}
	meta, cur := tx.Bucket(bucketMeta), tx.Bucket(bucketChanges).Cursor()
	for seq, key := cur.Seek(from); seq != nil; seq, key = cur.Next() {
		p, err := parseRecord(parseKey(key), meta.Get(key))
		if err != nil {
			return err
		}
		if p.Deleted == "" {
			d.recent = appendEntry(d.recent, p.SHA256, p.Seq)
		}
	}
	d.loaded = true
	return nil
}

// add adds the pages of a batch, which are in their buckets already. It returns the entries that
// must be in memory after the commit.
func (d *digests) add(tx *bolt.Tx, live []*write, c *counters) (recent []byte, err error) {
	d.mu.Lock()
	recent = d.recent
	d.mu.Unlock()
	for _, w := range live {
		if w.page.Seq != w.old.Seq && w.page.Deleted == "" {
			recent = appendEntry(recent, w.page.SHA256, w.page.Seq)
		}
	}
	if len(recent) < d.run*digestEntry {
		return recent, nil
	}
	bucket := tx.Bucket(bucketDigests)
	entries, keys := 0, [][]byte{}
	err = bucket.ForEach(func(k, run []byte) error {
		entries += len(run) / digestEntry
		keys = append(keys, k)
		return nil
	})
	if err != nil {
		return nil, err
	}
	run := slices.Clone(recent) // it must not change if the transaction fails
	if int64(entries) > 2*c.Pages+4*int64(d.run) {
		if run, err = allEntries(tx, c.Pages); err != nil {
			return nil, err
		}
		for _, k := range keys {
			if err := bucket.Delete(bytes.Clone(k)); err != nil {
				return nil, err
			}
		}
	}
	sort.Sort(entriesInOrder(run))
	return nil, bucket.Put(be64(c.LastSeq), run)
}

// set replaces the entries in memory, after the commit.
func (d *digests) set(recent []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.recent = recent
}

// allEntries makes an entry for every stored page. pages is how many there are without copies of
// aliases.
func allEntries(tx *bolt.Tx, pages int64) (all []byte, err error) {
	all = make([]byte, 0, max(pages, 0)*digestEntry)
	err = tx.Bucket(bucketMeta).ForEach(func(k, v []byte) error {
		p, err := parseRecord(parseKey(k), v)
		if err == nil && p.Deleted == "" {
			all = appendEntry(all, p.SHA256, p.Seq)
		}
		return err
	})
	return all, err
}

// entriesInOrder sorts entries in place. A run of a million entries has 16 MB, and pointers to them
// would need 24 MB more.
type entriesInOrder []byte

func (e entriesInOrder) at(i int) []byte    { return e[i*digestEntry:][:digestEntry] }
func (e entriesInOrder) Len() int           { return len(e) / digestEntry }
func (e entriesInOrder) Less(i, j int) bool { return bytes.Compare(e.at(i), e.at(j)) < 0 }
func (e entriesInOrder) Swap(i, j int) {
	a, b := (*[digestEntry]byte)(e.at(i)), (*[digestEntry]byte)(e.at(j))
	*a, *b = *b, *a
}

// find returns the numbers in the change feed under which pages with this digest may be found.
func (d *digests) find(tx *bolt.Tx, recent []byte, sum [32]byte) (seqs []uint64, err error) {
	prefix := sum[:8]
	for e := range slices.Chunk(recent, digestEntry) {
		if bytes.HasPrefix(e, prefix) {
			seqs = append(seqs, binary.BigEndian.Uint64(e[8:]))
		}
	}
	err = tx.Bucket(bucketDigests).ForEach(func(_, run []byte) error {
		n := len(run) / digestEntry
		low, high := 0, n
		for low < high {
			if mid := (low + high) / 2; bytes.Compare(run[mid*digestEntry:][:8], prefix) < 0 {
				low = mid + 1
			} else {
				high = mid
			}
		}
		for ; low < n && bytes.HasPrefix(run[low*digestEntry:], prefix); low++ {
			seqs = append(seqs, binary.BigEndian.Uint64(run[low*digestEntry+8:]))
		}
		return nil
	})
	slices.Sort(seqs)
	return slices.Compact(seqs), err
}

// known returns all entries in memory and in the file, and an error if a run is not sorted.
func (d *digests) known(tx *bolt.Tx) (map[string]bool, error) {
	if err := d.load(tx); err != nil {
		return nil, err
	}
	d.mu.Lock()
	known := make(map[string]bool)
	for e := range slices.Chunk(d.recent, digestEntry) {
		known[string(e)] = true
	}
	d.mu.Unlock()
	err := tx.Bucket(bucketDigests).ForEach(func(k, run []byte) error {
		entries := slices.Collect(slices.Chunk(run, digestEntry))
		if !slices.IsSortedFunc(entries, bytes.Compare) {
			return fmt.Errorf("digests: run %x is not sorted", k)
		}
		for _, e := range entries {
			known[string(e)] = true
		}
		return nil
	})
	return known, err
}

// ByDigest returns the pages whose body has this SHA-256, without bodies, at most limit, those
// stored longest first.
func (s *Store) ByDigest(sum [32]byte, limit int) (found []Page, err error) {
	if err := s.view(s.digests.load); err != nil {
		return nil, err
	}
	// This is read before the transaction begins: entries that leave memory later are in a run that
	// the transaction sees.
	s.digests.mu.Lock()
	recent := s.digests.recent
	s.digests.mu.Unlock()
	err = s.view(func(tx *bolt.Tx) error {
		seqs, err := s.digests.find(tx, recent, sum)
		if err != nil {
			return err
		}
		meta, changes := tx.Bucket(bucketMeta), tx.Bucket(bucketChanges)
		for _, seq := range seqs {
			key := changes.Get(be64(seq))
			if key == nil {
				continue // replaced or removed since
			}
			p, err := parseRecord(parseKey(key), meta.Get(key))
			if err != nil {
				return err
			}
			if p.Deleted == "" && p.SHA256 == sum {
				if found = append(found, p); len(found) == limit {
					break
				}
			}
		}
		return nil
	})
	return found, err
}
