package archive

import (
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
	Bytes    int64    // of complete records
	Tail     int64    // bytes after them
	Problems []string // at most maxProblems
}

const maxProblems = 20

func (v *Verified) problem(format string, args ...any) {
	if len(v.Problems) < maxProblems {
		v.Problems = append(v.Problems, fmt.Sprintf(format, args...))
	}
}

// places identifies a set of answers by their positions, in any order: by their number, and the sum
// of a hash of each.
type places struct {
	n   int
	sum uint64
}

func (p *places) add(file string, offset, length int64) {
	h := fnv.New64a()
	io.WriteString(h, file)
	h.Write(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64([]byte{0}, uint64(offset)), uint64(length)))
	p.n++
	p.sum += h.Sum64()
}

// Verify reads a file to its end: each record must be complete, its digests must match its block
// and payload, and the index, if there is one, must list its answers at their positions.
func Verify(path string) (v Verified, err error) {
	f, err := os.Open(path)
	if err != nil {
		return v, err
	}
	defer f.Close()
	var answers, indexed places
	if err := v.records(f, "", &answers); err != nil {
		return v, err
	}
	if info, err := f.Stat(); err == nil {
		v.Tail = info.Size() - v.Bytes
	}
	err = readIndex(path, func(e warc.Entry) error {
		indexed.add("", e.Offset, e.Length)
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
	in := warc.NewReader(r)
	for {
		rec, err := in.Next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = v.record(rec)
		}
		if errors.Is(err, warc.ErrDamaged) {
			v.problem("%v", err)
			return nil
		}
		if err != nil {
			return err
		}
		v.Records, v.Bytes = v.Records+1, rec.Offset+rec.Length
		if t := rec.Type(); t == warc.Response || t == warc.Revisit || t == warc.Resource {
			v.Answers++
			answers.add(name, rec.Offset, rec.Length)
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
	block, err := io.ReadAll(rec)
	if err == nil {
		err = rec.Close()
	}
	if err != nil {
		return err
	}
	if !isDigest(rec.Get("WARC-Block-Digest"), block) {
		v.problem("at byte %d: the block of %s does not match its digest", rec.Offset, rec.URI())
	}
	if rec.Type() != warc.Response {
		return nil
	}
	m, ok := warc.Split(block)
	payload, _, _ := m.Payload()
	// Some programs compute the digest of the body as it was sent, including chunks.
	if d := rec.Get("WARC-Payload-Digest"); d != "" && ok && !isDigest(d, payload) && !isDigest(d, m.Body) {
		v.problem("at byte %d: the payload of %s does not match its digest", rec.Offset, rec.URI())
	}
	return nil
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
