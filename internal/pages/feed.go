package pages

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"

	bolt "go.etcd.io/bbolt"
)

// Feed is the change feed of a store: one entry for each URL that was ever stored, with the number
// of its latest change. A follower remembers the number up to which it has read, together with what
// it made of the pages, and Store.Identity, because numbers of another file mean other changes. All
// methods may be called concurrently.
//
// A page gets a new number when it is stored with another content, when what is shown of it besides
// its date changes, when it is deleted, and when it becomes or is no longer an alias.
type Feed struct {
	file     *file
	counters *atomic.Pointer[counters] // of the store
	added    signal
}

// Changed returns a channel that is closed by the next commit that adds to the feed. Call it before
// reading the feed, so that no change is missed in between.
func (f *Feed) Changed() <-chan struct{} { return f.added.wait() }

// Changes returns what changed after a number in the change feed, oldest first, at most n pages and
// a few megabytes, with bodies. Each is the latest state of its URL: Deleted is set if the page is
// no longer stored. Seq of the last one is where to continue. An empty result means that there is
// nothing more.
func (f *Feed) Changes(after uint64, n int) (found []Page, err error) {
	return f.ChangesWithin(after, n, chunkBytes)
}

// ChangesWithin is Changes with another limit for the bytes of the bodies. The body that exceeds it
// is the last one.
func (f *Feed) ChangesWithin(after uint64, n, most int) (found []Page, err error) {
	size := 0
	err = f.file.view(func(tx *bolt.Tx) error {
		meta, bodies, cur := tx.Bucket(bucketMeta), tx.Bucket(bucketBodies), tx.Bucket(bucketChanges).Cursor()
		aliases := tx.Bucket(bucketAliases)
		if aliases != nil {
			if k, _ := aliases.Cursor().First(); k == nil {
				aliases = nil // there are none, as in most crawls
			}
		}
		for k, v := cur.Seek(be64(after + 1)); k != nil && len(found) < n && size < most; k, v = cur.Next() {
			p, err := parseRecord(parseKey(v), meta.Get(v))
			if err != nil {
				return err
			}
			if seq := binary.BigEndian.Uint64(k); p.Seq != seq {
				return fmt.Errorf("%w: change feed entry %d of %s is at %d in its record", errRecord, seq, p.URL, p.Seq)
			}
			if p.Deleted == "" {
				p.Body = bytes.Clone(bodies.Get(be64(p.ID)))
				if p.Aliases, err = readAliases(aliases, v, maxAliases); err != nil {
					return err
				}
			}
			size += len(p.Body)
			found = append(found, p)
		}
		return nil
	})
	return found, err
}

// behindExact is how many entries of the change feed Behind counts one by one.
const behindExact = 10_000

// Behind returns how many changes come after a number in the change feed. Beyond ten thousand it is
// an upper bound, because it then counts numbers of replaced entries as well.
func (f *Feed) Behind(after uint64) int64 {
	c := f.counters.Load()
	if after >= c.LastSeq {
		return 0
	}
	n := int64(0)
	f.file.view(func(tx *bolt.Tx) error {
		cur := tx.Bucket(bucketChanges).Cursor()
		for k, _ := cur.Seek(be64(after + 1)); k != nil && n < behindExact; k, _ = cur.Next() {
			n++
		}
		return nil
	})
	if n < behindExact {
		return n
	}
	return min(int64(c.LastSeq-after), c.Pages+c.Tombstones)
}

// ErrEnough is returned by a callback that needs no more pages.
var ErrEnough = errors.New("no more pages are wanted")

// EachNewest calls fn for the stored pages without their bodies, those with the newest content
// first. It reads at most `most` entries of the change feed; all is false if there were more.
// Copies of aliases are left out. A page that is stored again meanwhile may come twice. No
// transaction is open while fn runs. ErrEnough from fn ends the loop, and so does any other error,
// which is returned.
func (f *Feed) EachNewest(most int, fn func(*Page) error) (all bool, err error) {
	for before := uint64(0); ; {
		chunk, last, looked, err := f.newestChunk(before, min(most, 4*chunkPages))
		if err != nil {
			return false, err
		}
		for i := range chunk {
			switch err := fn(&chunk[i]); {
			case errors.Is(err, ErrEnough):
				return false, nil
			case err != nil:
				return false, err
			}
		}
		if most -= looked; last == 0 {
			return true, nil
		}
		if most <= 0 {
			return false, nil
		}
		before = last
	}
}

// newestChunk reads the change feed backwards from before an entry, or from its end if before is 0.
// last is where to continue, 0 at the beginning of the feed.
func (f *Feed) newestChunk(before uint64, most int) (chunk []Page, last uint64, looked int, err error) {
	err = f.file.view(func(tx *bolt.Tx) error {
		meta, cur := tx.Bucket(bucketMeta), tx.Bucket(bucketChanges).Cursor()
		k, v := cur.Last()
		if before != 0 {
			if k, v = cur.Seek(be64(before)); k == nil {
				k, v = cur.Last()
			} else {
				k, v = cur.Prev()
			}
		}
		for ; k != nil; k, v = cur.Prev() {
			if looked == most {
				return nil
			}
			looked, last = looked+1, binary.BigEndian.Uint64(k)
			b := meta.Get(v)
			if len(b) == 0 || b[0] != kindPage {
				continue
			}
			p, err := parseRecord(parseKey(v), b)
			if err != nil {
				return err
			}
			if p.listed() {
				chunk = append(chunk, p)
			}
		}
		last = 0
		return nil
	})
	return chunk, last, looked, err
}
