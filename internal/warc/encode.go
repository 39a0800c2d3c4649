package warc

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/s2"
)

// Version is the first line of the records that an Encoder writes.
const Version = "WARC/1.1"

// Types of records (ISO 28500 §6).
const (
	Warcinfo = "warcinfo"
	Response = "response"
	Resource = "resource"
	Request  = "request"
	Metadata = "metadata"
	Revisit  = "revisit"
)

// Media types of blocks.
const (
	TypeFields   = "application/warc-fields"
	TypeRequest  = "application/http; msgtype=request"
	TypeResponse = "application/http; msgtype=response"
)

// Profiles of revisits (ISO 28500 §6.7).
const (
	ProfileIdentical   = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
	ProfileNotModified = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
)

// Field is a named field of a record's header.
type Field struct{ Name, Value string }

// errField means that a field cannot be written, because it contains a line end or another invalid
// character.
var errField = errors.New("warc: not a named field")

// Piece is a part of a record's block.
type Piece struct {
	Text []byte
	S2   []byte // the same as an S2 block, or nil: then Text is searched for repetitions

	// If there is only an S2 block: the length of its text, and its CRC-32. If Append needs the
	// text, it returns ErrText.
	Size int
	CRC  uint32
}

// size is the length of the text of a piece.
func (p *Piece) size() int {
	if p.Text == nil {
		return p.Size
	}
	return len(p.Text)
}

// ErrText means that a piece cannot be written without its text.
var ErrText = errors.New("warc: the text of a piece is needed")

// Pieces returns texts as pieces of a block.
func Pieces(texts ...[]byte) (all []Piece) {
	for _, t := range texts {
		all = append(all, Piece{Text: t})
	}
	return all
}

// Encoder makes records. It is not safe for concurrent use. The zero value is ready to use.
type Encoder struct {
	answers, others deflater // their texts are of two kinds
	head, packed    []byte
}

const (
	// keepRecord is the largest buffer, in bytes, that is kept for the next record.
	keepRecord = 256 << 10
	// searched is the length from which on a piece is searched for repetitions.
	searched = 512
)

// gzipHeader is the header of a gzip member without information about a file (RFC 1952).
const gzipHeader = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"

// Append appends a record as a separate gzip member. Content-Length is added to the fields, and the
// pieces are concatenated to its block. It returns an error for a field whose name is not a token
// or whose value contains a control character, and for an S2 block that is invalid or has a text of
// another length. Then nothing was appended.
func (e *Encoder) Append(to *bytes.Buffer, fields []Field, pieces ...Piece) error {
	if err := e.begin(fields, pieces); err != nil {
		return err
	}
	d := &e.others
	if slices.Contains(fields, Field{"WARC-Type", Response}) || slices.Contains(fields, Field{"WARC-Type", Resource}) {
		d = &e.answers
	}
	if cap(d.out) > keepRecord {
		d.out = nil
	}
	d.reset(append(d.out[:0], gzipHeader...))
	d.literals(e.head)
	for _, p := range pieces {
		block := p.S2
		if len(block) == 0 {
			if len(p.Text) < searched {
				d.literals(p.Text)
				continue
			}
			e.packed = s2.Encode(e.packed[:cap(e.packed)], p.Text)
			block = e.packed
			if cap(e.packed) > keepRecord {
				e.packed = nil
			}
		}
		if err := d.s2(block, p.Text, p.size()); err != nil {
			return err
		}
	}
	d.literals([]byte(recordEnd))
	to.Write(e.trailer(d.finish(), pieces))
	return nil
}

// AppendStored is Append for pieces that have their texts. It does not compress the record, because
// it is short or contains compressed data. That costs almost nothing.
func (e *Encoder) AppendStored(to *bytes.Buffer, fields []Field, pieces ...Piece) error {
	if err := e.begin(fields, pieces); err != nil {
		return err
	}
	to.WriteString(gzipHeader)
	put := func(b []byte, last byte) {
		for first := true; first || len(b) > 0; first = false { // RFC 1951 §3.2.4
			n := min(len(b), 1<<16-1)
			final := byte(0)
			if n == len(b) {
				final = last
			}
			to.Write([]byte{final, byte(n), byte(n >> 8), ^byte(n), ^byte(n >> 8)})
			to.Write(b[:n])
			b = b[n:]
		}
	}
	put(e.head, 0)
	for _, p := range pieces {
		put(p.Text, 0)
	}
	put([]byte(recordEnd), 1)
	to.Write(e.trailer(nil, pieces))
	return nil
}

// recordEnd ends each record.
const recordEnd = "\r\n\r\n"

// begin makes the record's header.
func (e *Encoder) begin(fields []Field, pieces []Piece) error {
	length := 0
	for _, p := range pieces {
		length += p.size()
	}
	e.head = append(append(e.head[:0], Version...), "\r\n"...)
	for _, f := range fields {
		if !isToken(f.Name) || !isValue(f.Value) {
			return fmt.Errorf("%w: %q: %q", errField, f.Name, f.Value)
		}
		e.head = append(append(append(append(e.head, f.Name...), ": "...), f.Value...), "\r\n"...)
	}
	e.head = strconv.AppendInt(append(e.head, "Content-Length: "...), int64(length), 10)
	e.head = append(e.head, "\r\n\r\n"...)
	return nil
}

// trailer appends the end of a gzip member: checksum and length of the record.
func (e *Encoder) trailer(to []byte, pieces []Piece) []byte {
	sum, n := crc32.ChecksumIEEE(e.head), len(e.head)+len(recordEnd)
	for _, p := range pieces {
		if n += p.size(); p.Text == nil && p.Size > 0 {
			sum = joinCRC(sum, p.CRC, p.Size)
			continue
		}
		sum = crc32.Update(sum, crc32.IEEETable, p.Text)
	}
	sum = crc32.Update(sum, crc32.IEEETable, []byte(recordEnd))
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(to, sum), uint32(n))
}

// isToken reports whether a name is a token (ISO 28500 §4).
func isToken(s string) bool {
	for i := range len(s) {
		if !tokenBytes[s[i]] {
			return false
		}
	}
	return s != ""
}

// tokenBytes are the bytes that may occur in a token.
var tokenBytes = func() (all [256]bool) {
	for c := '!'; c <= '~'; c++ {
		all[c] = !strings.ContainsRune(`()<>@,;:\"/[]?={}`, c)
	}
	return all
}()

// isValue reports whether a text can be a field's value: it contains no control character.
func isValue(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] == 0x7f {
			return false
		}
	}
	return true
}

// Time is a WARC-Date: UTC, with milliseconds unless they are zero (ISO 28500 §5.4).
func Time(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.999Z") }

// ParseTime reads a WARC-Date.
func ParseTime(s string) (time.Time, error) { return time.Parse(time.RFC3339Nano, s) }

// Digest is a labelled digest (ISO 28500 §5.8) of the concatenated pieces.
func Digest(pieces ...[]byte) string {
	h := sha256.New()
	for _, p := range pieces {
		h.Write(p)
	}
	var sum [sha256.Size]byte
	return DigestOf([sha256.Size]byte(h.Sum(sum[:0])))
}

// DigestOf is the labelled digest of a SHA-256.
func DigestOf(sum [sha256.Size]byte) string { return "sha256:" + hex.EncodeToString(sum[:]) }

// ID is a record's identity, which is the same for the same parts: a UUID of version 8, as a URN in
// angle brackets.
func ID(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(strconv.Itoa(len(p)) + " " + p))
	}
	u := h.Sum(nil)[:16]
	u[6], u[8] = u[6]&0x0f|0x80, u[8]&0x3f|0x80
	x := hex.EncodeToString(u)
	return "<urn:uuid:" + x[:8] + "-" + x[8:12] + "-" + x[12:16] + "-" + x[16:20] + "-" + x[20:] + ">"
}
