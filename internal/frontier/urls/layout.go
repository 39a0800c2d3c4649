package urls

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Flags beside the class.
const (
	flagNoSnippet = 0x80
	flagGlued     = 0x40
	recordFlags   = flagNoSnippet | flagGlued
)

// layoutShared is the first byte of a record in which the texts come first; no class has this
// value. Neighbouring records in a block (package store) then share FoundOn and the beginning of
// their URLs. A record without it has the layout of file format 1.
const layoutShared = 0x20

// The optional parts of a record, as bits of the number before them.
const (
	partDepth = 1 << iota
	partRedirects
	partAttempts
	partDue
	partEpoch
	partVisit
	partStatus
	partLine
	partFetched
	partReason
	partDetail
)

// Append encodes r: layoutShared; FoundOn and a zero byte; the length of the beginning that the URL
// shares with it; the rest of the URL and a zero byte; class and origin; a number that says which
// parts follow; these parts; then the optional fields of StoredCopy and Again.
func (r *Record) Append(b []byte) []byte {
	if strings.IndexByte(string(r.URL), 0) >= 0 || strings.IndexByte(string(r.FoundOn), 0) >= 0 {
		return r.appendOlder(b) // no URL that we produce has a zero byte
	}
	b = append(b, layoutShared)
	b = append(append(b, r.FoundOn...), 0)
	n := sharedLen(r.FoundOn, r.URL)
	b = binary.AppendUvarint(b, uint64(n))
	b = append(append(b, r.URL[n:]...), 0)
	b = append(b, r.classByte(), r.Origin)
	numbers, parts := r.numbers(), uint64(0)
	for i, n := range numbers {
		if n != 0 {
			parts |= 1 << i
		}
	}
	if r.Reason != "" {
		parts |= partReason
	}
	if r.Detail != "" {
		parts |= partDetail
	}
	b = binary.AppendUvarint(b, parts)
	for _, n := range numbers {
		if n != 0 {
			b = binary.AppendUvarint(b, n)
		}
	}
	if r.Reason != "" {
		b = store.AppendText(b, string(r.Reason))
	}
	if r.Detail != "" {
		b = store.AppendText(b, r.Detail)
	}
	return r.appendMore(b)
}

func sharedLen(a, b canon.URL) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func (r *Record) classByte() byte {
	c := byte(r.Class)
	if r.NoSnippet {
		c |= flagNoSnippet
	}
	if r.Glued {
		c |= flagGlued
	}
	return c
}

// numbers are the numeric parts of r, in the order of their bits.
func (r *Record) numbers() [9]uint64 {
	var due uint64
	if !r.Due.IsZero() {
		due = uint64(r.Due.UnixMilli())
	}
	return [...]uint64{
		uint64(r.Depth), uint64(r.Redirects), uint64(r.Attempts), due, r.Visit.Epoch, r.Visit.N,
		uint64(max(r.Status, 0)), uint64(max(r.Line, 0)), uint64(max(r.FetchedAt, 0)),
	}
}

func (r *Record) setNumbers(n [9]uint64) {
	r.Depth, r.Redirects, r.Attempts = int(n[0]), int(n[1]), int(n[2])
	if n[3] != 0 {
		r.Due = time.UnixMilli(int64(n[3]))
	}
	r.Visit.Epoch, r.Visit.N = n[4], n[5]
	r.Status, r.Line, r.FetchedAt = int(n[6]), int(n[7]), int64(n[8])
}

// texts splits a record of this layout into FoundOn, the length of the beginning that its URL
// shares with it, the rest of the URL, and what follows.
func texts(v []byte) (foundOn []byte, n int, rest, tail []byte, ok bool) {
	at := bytes.IndexByte(v[1:], 0)
	if at < 0 {
		return nil, 0, nil, nil, false
	}
	foundOn, v = v[1:1+at], v[at+2:]
	shared, size := binary.Uvarint(v)
	if size <= 0 || shared > uint64(len(foundOn)) {
		return nil, 0, nil, nil, false
	}
	v = v[size:]
	if at = bytes.IndexByte(v, 0); at < 0 || len(v) < at+3 {
		return nil, 0, nil, nil, false
	}
	return foundOn, int(shared), v[:at], v[at+1:], true
}

// DecodeRecord decodes the record with that key. Its texts are copies, because the store's bytes
// are valid only until the transaction ends.
func DecodeRecord(key, v []byte) (r Record, err error) {
	if len(v) < 2 || len(key) < 12 {
		return r, store.ErrRecord
	}
	r.Order = store.KeyOrder(key)
	if v[0] != layoutShared {
		return r, r.decodeOlder(v)
	}
	foundOn, n, rest, tail, ok := texts(v)
	if !ok {
		return r, store.ErrRecord
	}
	both := string(foundOn) + string(rest)
	r.FoundOn = canon.URL(both[:len(foundOn)])
	if r.URL = canon.URL(both[len(foundOn):]); n > 0 {
		r.URL = r.FoundOn[:n] + r.URL
	}
	r.setClass(tail[0])
	r.Origin = tail[1]
	s := store.Scanner{B: tail[2:]}
	parts := s.Uint()
	var numbers [9]uint64
	for left := parts & (partReason - 1); left != 0; left &= left - 1 {
		numbers[bits.TrailingZeros64(left)] = s.Uint()
	}
	r.setNumbers(numbers)
	if parts&partReason != 0 {
		r.Reason = crawl.Reason(s.Text())
	}
	if parts&partDetail != 0 {
		r.Detail = string(s.Text())
	}
	r.decodeMore(&s)
	if s.Bad {
		return r, store.ErrRecord
	}
	r.counted = r.toCount()
	return r, nil
}

func (r *Record) setClass(c byte) {
	r.Class = crawl.Class(c &^ recordFlags)
	r.NoSnippet, r.Glued = c&flagNoSnippet != 0, c&flagGlued != 0
}

// Peek reads only what is needed to accept a link: whether the URL is the same, its depth and its
// class.
func Peek(v []byte, u canon.URL) (same bool, depth int, class crawl.Class) {
	if len(v) < 2 {
		return false, 0, 0
	}
	if v[0] != layoutShared {
		return peekOlder(v, u)
	}
	foundOn, n, rest, tail, ok := texts(v)
	if !ok {
		return false, 0, 0
	}
	s := store.Scanner{B: tail[2:]}
	if s.Uint()&partDepth != 0 {
		depth = int(s.Uint())
	}
	same = len(u) == n+len(rest) && string(u[:n]) == string(foundOn[:n]) && string(u[n:]) == string(rest)
	return same, depth, crawl.Class(tail[0] &^ recordFlags)
}

// OriginOf is the index of the URL's origin among those of its host; -1 if the record is malformed.
func OriginOf(v []byte) int {
	switch {
	case len(v) < 2:
		return -1
	case v[0] != layoutShared:
		return int(v[1])
	}
	if _, _, _, tail, ok := texts(v); ok {
		return int(tail[1])
	}
	return -1
}
