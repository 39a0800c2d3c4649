package pages

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
)

// A document about datasets that is too large for a message arrives in parts (crawl.Page.Part), and
// is stored in parts. The page itself arrives after its parts and is stored with them. It is put
// once all parts of its visit are there; then it counts, and the parts of older visits are removed.
// Until then the stored copy stays unchanged. The parts of a document that is never complete are
// removed with the next one. In bucketClaims such a page has the visit of its parts, because a page
// that is fetched again without a change gets a new visit and no new parts.
var bucketParts = []byte("parts")

// wholePart is the number of the page itself, after all its parts.
const wholePart = 1<<32 - 1

// partsOf returns the prefix of the keys of a page's parts. No URL contains a NUL.
func partsOf(key []byte) []byte { return append(bytes.Clone(key), 0) }

// visitOf returns what follows partsOf in the keys of one visit. It sorts as visits do.
func visitOf(v crawl.VisitID) []byte {
	return binary.BigEndian.AppendUint64(be64(v.Epoch), v.N)
}

const visitBytes = 16

// PutParts stores parts of documents, and puts the pages that they complete, in one transaction
// with one fsync. Each element has Part or Parts. To put a batch again changes nothing, and the
// order of the parts does not matter. After an error nothing of the batch is stored.
func (s *Store) PutParts(batch []Page) (res Result, err error) {
	err = s.update(func() string { return fmt.Sprintf("store %d parts of documents", len(batch)) }, func(ch *change) error {
		res = Result{}
		b := ch.tx.Bucket(bucketParts)
		seen := map[string]bool{}
		for i := range batch {
			p := &batch[i]
			w := write{key: appendKey(nil, p.URL), page: *p}
			if err := ch.read(&w); err != nil {
				return err
			}
			if w.old.ID != 0 && p.Visit.Compare(w.old.Visit) <= 0 {
				res.Late++
				continue // it is complete already, or there is a newer visit
			}
			prefix := append(partsOf(w.key), visitOf(p.Visit)...)
			if err := overtaken(b, ch.tx.Bucket(bucketClaims), &w); err != nil {
				return err
			}
			n, body := uint32(wholePart), []byte(nil)
			if p.Part > 0 {
				n, body = uint32(p.Part), p.Body
			} else {
				body = crawl.AppendPages(nil, []crawl.Page{p.Page})
			}
			if err := b.Put(binary.BigEndian.AppendUint32(bytes.Clone(prefix), n), body); err != nil {
				return err
			}
			seen[string(prefix)] = true
		}
		for prefix := range seen {
			if err := ch.putWhole([]byte(prefix), &res); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return Result{}, err
	}
	return res, nil
}

// overtaken removes parts of a page that are no longer needed: those of earlier visits, except the
// parts of the stored copy.
func overtaken(b, claims *bolt.Bucket, w *write) error {
	held, now := claims.Get(w.key), visitOf(w.page.Visit)
	return dropParts(b, partsOf(w.key), func(visit []byte) bool {
		return bytes.Equal(visit, held) || bytes.Compare(visit, now) >= 0
	})
}

// dropParts removes the parts whose keys begin with prefix, except those of visits for which keep
// returns true. keep may be nil.
func dropParts(b *bolt.Bucket, prefix []byte, keep func(visit []byte) bool) error {
	var gone [][]byte
	cur := b.Cursor()
	for k, _ := cur.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); {
		visit := k[len(prefix) : len(prefix)+visitBytes]
		if keep == nil || !keep(visit) {
			gone = append(gone, bytes.Clone(k))
			k, _ = cur.Next()
			continue
		}
		// There may be many parts of this visit, and they must not be read again for each part that
		// arrives.
		behind := slices.Concat(prefix, visit, []byte{0xff, 0xff, 0xff, 0xff, 0xff})
		k, _ = cur.Seek(behind)
	}
	for _, k := range gone {
		if err := b.Delete(k); err != nil {
			return err
		}
	}
	return nil
}

// putWhole puts the page of a visit if all its parts are there.
func (ch *change) putWhole(prefix []byte, res *Result) error {
	b := ch.tx.Bucket(bucketParts)
	end := binary.BigEndian.AppendUint32(bytes.Clone(prefix), wholePart)
	said := b.Get(end)
	if said == nil {
		return nil
	}
	decoded, err := crawl.DecodePages(bytes.Clone(said))
	if err != nil || len(decoded) != 1 {
		return fmt.Errorf("%w: the page of parts: %v", errRecord, err)
	}
	n, size := 0, 0
	cur := b.Cursor()
	for k, v := cur.Seek(prefix); k != nil && bytes.Compare(k, end) < 0; k, v = cur.Next() {
		n, size = n+1, size+len(v)
	}
	if n != decoded[0].Parts {
		return nil
	}
	if err := b.Delete(end); err != nil {
		return err
	}
	w := write{key: prefix[:len(prefix)-visitBytes-1], page: Page{Page: decoded[0], Claims: visitOf(decoded[0].Visit)}}
	return ch.put([]write{w}, res)
}

// applyParts removes the parts of the previous copy of a page.
func applyParts(b, claims *bolt.Bucket, w *write) error {
	if w.page.Renewed && w.page.Deleted == "" || w.old.Encoding != crawl.EncodingParts && w.page.Encoding != crawl.EncodingParts && w.page.Deleted == "" {
		return nil
	}
	held := claims.Get(w.key)
	return dropParts(b, partsOf(w.key), func(visit []byte) bool {
		if bytes.Equal(visit, held) {
			return w.page.Encoding == crawl.EncodingParts && w.page.Deleted == ""
		}
		return bytes.Compare(visit, visitOf(w.page.Visit)) > 0 // its document is still arriving
	})
}

// countParts returns how many parts a page has, by its entry in bucketClaims.
func countParts(tx *bolt.Tx, key, held []byte) (n int, err error) {
	if len(held) != visitBytes {
		return 0, fmt.Errorf("its parts came from an unknown visit")
	}
	prefix := append(partsOf(key), held...)
	cur := tx.Bucket(bucketParts).Cursor()
	for k, _ := cur.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, _ = cur.Next() {
		n++
	}
	if n == 0 {
		return 0, fmt.Errorf("it should have parts but has none")
	}
	return n, nil
}
