package archive

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/curtsy/curtsy/internal/warc"
)

// Verified is the result of verifying a file.
type Verified struct {
	Records  int
	Answers  int
	Problems []string // damage, at most maxProblems
	Warnings []string // what is odd and was read all the same, one line for each kind
	Mends    bool     // Repair would write the file as it should be

	kinds map[string]*kind
	order []*kind
}

// kind counts the oddities of one kind.
type kind struct {
	warc.Oddity
	times int
}

const maxProblems = 20

func (v *Verified) problem(format string, args ...any) {
	if len(v.Problems) < maxProblems {
		v.Problems = append(v.Problems, fmt.Sprintf(format, args...))
	}
}

// odd counts an oddity.
func (v *Verified) odd(o warc.Oddity) {
	v.Mends = v.Mends || o.Mends
	if o.Damage {
		v.problem("damaged at byte %d: %s", o.Offset, o.What)
		return
	}
	k := v.kinds[o.What]
	if k == nil {
		k = &kind{Oddity: o}
		if v.kinds == nil {
			v.kinds = map[string]*kind{}
		}
		v.kinds[o.What], v.order = k, append(v.order, k)
	}
	k.times++
}

// warn writes the warnings.
func (v *Verified) warn(name string) {
	for _, k := range v.order {
		text := fmt.Sprintf("%sat byte %d: %s", name, k.Offset, k.What)
		if k.times > 1 {
			text += fmt.Sprintf(" (%d times)", k.times)
		}
		v.Warnings = append(v.Warnings, text)
	}
	v.kinds, v.order = nil, nil
}

// places identifies a set of answers by their positions, in any order: by their number, and the sum
// of a hash of each.
type places struct {
	n   int
	sum uint64
}

func (p *places) add(file string, offset, length, within int64) {
	h := fnv.New64a()
	io.WriteString(h, file)
	text := []byte{0}
	for _, n := range []int64{offset, length, within} {
		text = binary.BigEndian.AppendUint64(text, uint64(n))
	}
	h.Write(text)
	p.n++
	p.sum += h.Sum64()
}

// Verify reads a file to its end. Damage is what cannot be read or belongs to no record, digests
// that do not match their block or payload, and an index that does not list the answers at their
// positions. What is odd and can be read is a warning. An error is one of reading.
func Verify(path string) (v Verified, err error) {
	f, err := os.Open(path)
	if err != nil {
		return v, err
	}
	defer f.Close()
	var answers, indexed places
	if err := v.records(f, filepath.Base(path), &answers); err != nil {
		return v, err
	}
	v.warn("")
	err = readIndex(path, func(e warc.Entry) error {
		indexed.add(filepath.Base(path), e.Offset, e.Length, e.Within)
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return v, nil
	}
	if err != nil {
		v.problem("its index cannot be read: %v", err)
	}
	if indexed != answers {
		v.problem("its index does not list its %d responses; to write a new index, type: curtsy archive index --all %s", v.Answers, filepath.Dir(path))
	}
	return v, nil
}

// records checks the records of a file, and adds the positions of its answers. A problem of a
// record is not an error; an error is one of reading.
func (v *Verified) records(r io.Reader, name string, answers *places) error {
	in := warc.NewScanner(r, name)
	in.Report = v.odd
	for {
		rec, err := in.Next()
		if err == io.EOF {
			if v.Records == 0 && len(v.Problems) == 0 && len(v.order) > 0 {
				v.problem("it has no records")
			}
			return nil
		}
		if err == nil {
			err = v.record(rec)
		}
		if errors.Is(err, warc.ErrDamaged) {
			continue // it was reported
		}
		if err != nil {
			return err
		}
		if v.Records++; rec.Answer() {
			v.Answers++
			answers.add(name, rec.Offset, rec.Length, rec.Within)
		}
	}
}

// verifyBlock is the largest block whose payload is checked, because it is read into memory.
const verifyBlock = 64 << 20

// record checks one record, and closes it.
func (v *Verified) record(rec *warc.Record) error {
	if rec.Size > verifyBlock {
		return rec.Close() // gzip has verified its checksum
	}
	block, err := io.ReadAll(io.LimitReader(rec, verifyBlock+1))
	if err == nil {
		err = rec.Close()
	}
	if err != nil || len(block) > verifyBlock {
		return err
	}
	if !isDigest(rec.Get("WARC-Block-Digest"), block) {
		v.problem("at byte %d: the block of %s does not match its digest", rec.Offset, rec.URI())
	}
	if rec.Type() == warc.Response {
		v.message(rec, block)
	}
	return nil
}

// What can be odd about the message of a response. A copy of the record leaves it as it is.
const (
	oddNoHTTP   = "a response is not an HTTP message; its whole block counts as its payload"
	oddNoEmpty  = "the header of an HTTP message has no empty line at its end"
	oddChunked  = "the header of an HTTP message has a chunked body, which is not chunked; its body is read as it is"
	oddEncoding = "the header of an HTTP message has a body in gzip, which is not compressed; its body is read as it is"
)

// message checks the message of a response.
func (v *Verified) message(rec *warc.Record, block []byte) {
	if media, _, _ := strings.Cut(rec.Get("Content-Type"), ";"); !strings.EqualFold(strings.TrimSpace(media), "application/http") && !bytes.HasPrefix(block, []byte("HTTP/")) {
		return // of another protocol: ftp, dns
	}
	odd := func(what string) { v.odd(warc.Oddity{Offset: rec.Offset, What: what}) }
	m, ok := warc.Split(block)
	switch {
	case !bytes.HasPrefix(block, []byte("HTTP/")):
		odd(oddNoHTTP)
		return
	case !ok:
		odd(oddNoEmpty)
		return
	case m.NotChunked():
		odd(oddChunked)
	}
	payload, _, _ := m.Payload()
	if NotGzip(m, payload) {
		odd(oddEncoding)
	}
	// Some programs compute the digest of the body as it was sent, including chunks.
	if d := rec.Get("WARC-Payload-Digest"); d != "" && !isDigest(d, payload) && !isDigest(d, m.Body) {
		v.problem("at byte %d: the payload of %s does not match its digest", rec.Offset, rec.URI())
	}
}

// NotGzip reports whether the payload of a message is said to be compressed with gzip, and is not.
// Some programs archive a decompressed body, and leave the header as it was.
func NotGzip(m warc.Message, payload []byte) bool {
	encoding := strings.ToLower(m.Get("Content-Encoding"))
	return (encoding == "gzip" || encoding == "x-gzip") && len(payload) > 1 && (payload[0] != 0x1f || payload[1] != 0x8b)
}

// isDigest reports whether a labelled digest is that of a text. The standard does not specify the
// algorithms and the spelling of digests: one that we cannot read is accepted.
func isDigest(labelled string, text []byte) bool {
	algorithm, value, _ := strings.Cut(labelled, ":")
	var sum []byte
	switch strings.ToLower(strings.ReplaceAll(algorithm, "-", "")) {
	case "sha1":
		s := sha1.Sum(text)
		sum = s[:]
	case "sha256":
		s := sha256.Sum256(text)
		sum = s[:]
	case "sha512":
		s := sha512.Sum512(text)
		sum = s[:]
	default:
		return true
	}
	if len(value) == hex.EncodedLen(len(sum)) {
		return strings.EqualFold(value, hex.EncodeToString(sum))
	}
	return strings.EqualFold(strings.TrimRight(value, "="), base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum))
}
