package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// A record of a PackedSet: seven bytes of the hash, five of the number.
const (
	hashBytes   = 7
	numberBytes = 5
	recordBytes = hashBytes + numberBytes
)

// MaxNumber is the largest number that a PackedSet accepts.
const MaxNumber = 1<<(8*numberBytes) - 1

// setRecords is the maximum number of records in a block of a PackedSet, except that records with
// the same hash stay together.
const setRecords = 100

// PackedSet maps hashes, of which it stores 56 bits, to numbers: for each group and hash the
// numbers that were added. See the package's documentation.
type PackedSet struct{ blocks }

// NewPackedSet returns the PackedSet of a kind in a bucket.
func NewPackedSet(bucket *bolt.Bucket, kind byte) *PackedSet {
	s := &PackedSet{}
	s.init(bucket, kind)
	return s
}

// appendKey appends the key of a hash in a group.
func appendKey(b []byte, of uint32, hash uint64) []byte {
	b = binary.BigEndian.AppendUint32(b, of)
	b = binary.BigEndian.AppendUint64(b, hash)
	return b[:len(b)-8+hashBytes]
}

// Each calls f for the numbers of a hash until it returns false.
func (s *PackedSet) Each(of uint32, hash uint64, f func(number uint64) bool) {
	var buffer [group + 8]byte
	key := appendKey(buffer[:0], of, hash)
	k := s.find(key)
	if k == nil {
		return
	}
	raw := k.records()
	for i := lookUp(raw, key[group:]); i < len(raw) && string(raw[i:i+hashBytes]) == string(key[group:]); i += recordBytes {
		if !f(number(raw[i:])) {
			return
		}
	}
}

// Add adds a number to a hash.
func (s *PackedSet) Add(of uint32, hash, n uint64) error {
	if n > MaxNumber {
		return fmt.Errorf("packed: %d is too large a number", n)
	}
	var buffer [group + 8]byte
	key := appendKey(buffer[:0], of, hash)
	k := s.find(key)
	if k == nil {
		var err error
		if k, err = s.first(key); err != nil {
			return err
		}
	}
	s.keep(k)
	if !k.own {
		k.raw, k.own = append(make([]byte, 0, len(k.raw)+8*recordBytes), k.raw...), true
	}
	raw := k.records()
	i := lookUp(raw, key[group:])
	for i < len(raw) && string(raw[i:i+hashBytes]) == string(key[group:]) {
		i += recordBytes
	}
	var rec [hashBytes + 8]byte
	copy(rec[:], key[group:])
	binary.BigEndian.PutUint64(rec[hashBytes:], n<<(64-8*numberBytes))
	k.raw = slices.Insert(raw, i, rec[:recordBytes]...)
	return nil
}

// Flush writes what was changed into the bucket.
func (s *PackedSet) Flush() error { return Flush(s) }

func (s *PackedSet) put(k *block) error {
	return s.write(k, func(yield func(key, raw []byte) error) error {
		raw := k.raw
		for n := (len(raw)/recordBytes + setRecords - 1) / setRecords; n > 1; n-- {
			at := max(len(raw)/recordBytes/n, 1) * recordBytes
			for at < len(raw) && string(raw[at-recordBytes:at-recordBytes+hashBytes]) == string(raw[at:at+hashBytes]) {
				at += recordBytes
			}
			if at >= len(raw) {
				break
			}
			if err := yield(k.keyOf(raw), raw[:at:at]); err != nil {
				return err
			}
			raw = raw[at:]
		}
		return yield(k.keyOf(raw), raw)
	})
}

// keyOf is the lower bound of a piece of the block.
func (k *block) keyOf(raw []byte) []byte {
	return append(bytes.Clone(k.low[:group]), raw[:min(hashBytes, len(raw))]...)
}

func (k *block) records() []byte {
	if len(k.raw)%recordBytes != 0 {
		panic(senseless)
	}
	return k.raw
}

// lookUp is the index of the first record whose hash is not less.
func lookUp(raw, hash []byte) int {
	lo, hi := 0, len(raw)/recordBytes
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if at := mid * recordBytes; string(raw[at:at+hashBytes]) < string(hash) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo * recordBytes
}

func number(rec []byte) uint64 {
	var b [8]byte
	copy(b[8-numberBytes:], rec[hashBytes:recordBytes])
	return binary.BigEndian.Uint64(b[:])
}
