package reading

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
)

// Table is a set of hashes: eight octets each, big-endian, in ascending order, each once.
type Table []byte

// MakeTable makes a table of hashes in any order. It sorts them in place.
func MakeTable(hashes []uint64) Table {
	slices.Sort(hashes)
	hashes = slices.Compact(hashes)
	t := make(Table, 0, 8*len(hashes))
	for _, h := range hashes {
		t = binary.BigEndian.AppendUint64(t, h)
	}
	return t
}

// Len returns how many hashes the table has.
func (t Table) Len() int { return len(t) / 8 }

// At returns one of the hashes, counted from 0.
func (t Table) At(i int) uint64 { return binary.BigEndian.Uint64(t[8*i:]) }

// Has reports whether a hash is in the table.
func (t Table) Has(h uint64) bool {
	from, to := 0, t.Len()
	for from < to {
		middle := int(uint(from+to) / 2)
		if t.At(middle) < h {
			from = middle + 1
		} else {
			to = middle
		}
	}
	return from < t.Len() && t.At(from) == h
}

func (t Table) valid() bool {
	if len(t)%8 != 0 || t.Len() > MaxKnown {
		return false
	}
	for i := 1; i < t.Len(); i++ {
		if t.At(i-1) >= t.At(i) {
			return false
		}
	}
	return true
}

// PathHash returns the first eight octets of the SHA-256 of a path, which includes the query.
func PathHash(path string) uint64 { return Digest([]byte(path)) }

// KnownHash returns the hash by which the robot recognises a stored document. It depends on the
// path and on the digest of the body.
func KnownHash(path string, digest uint64) uint64 { return KnownHashOf(PathHash(path), digest) }

// KnownHashOf is KnownHash for whoever has only the PathHash of the path.
func KnownHashOf(path, digest uint64) uint64 {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], path)
	binary.BigEndian.PutUint64(b[8:], digest)
	return Digest(b[:])
}

// Digest returns the digest of a body, as a crawl keeps it: the first eight octets of its SHA-256.
func Digest(body []byte) uint64 {
	sum := sha256.Sum256(body)
	return binary.BigEndian.Uint64(sum[:])
}
