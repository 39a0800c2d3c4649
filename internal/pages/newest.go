package pages

import (
	"encoding/binary"
	"errors"

	bolt "go.etcd.io/bbolt"
)

// ErrEnough is returned by a callback that needs no more pages.
var ErrEnough = errors.New("no more pages are wanted")

// EachNewest calls fn for the stored pages without their bodies, those with the newest content
// first. It reads at most `most` entries of the change feed; all is false if there were more.
// Copies of aliases are left out. A page that is stored again meanwhile may come twice. No
// transaction is open while fn runs. ErrEnough from fn ends the loop, and so does any other error,
// which is returned.
func (s *Store) EachNewest(most int, fn func(*Page) error) (all bool, err error) {
	for before := uint64(0); ; {
		chunk, last, looked, err := s.newestChunk(before, min(most, 4*chunkPages))
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
func (s *Store) newestChunk(before uint64, most int) (chunk []Page, last uint64, looked int, err error) {
	err = s.view(func(tx *bolt.Tx) error {
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
