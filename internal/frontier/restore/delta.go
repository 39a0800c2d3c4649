package restore

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"slices"

	xxhash "github.com/cespare/xxhash/v2"

	"github.com/curtsy/curtsy/internal/disk"
)

// A checkpoint is a full copy of a shard's file, or a delta: the pages that have changed since the
// checkpoint before, so that its cost depends on the changes and not on the size. A delta names the
// checkpoint on which it is based. Changed pages are found by hashes of all pages as of the last
// checkpoint, which are kept in memory. So the first checkpoint of an owner is a full one.

const (
	deltaMagic = "curtsy: pages changed since another checkpoint, 1\n"
	deltaPage  = 4096 // in bytes; independent of bbolt's page size
	// maxDeltas is the maximum number of deltas on a full checkpoint.
	maxDeltas = 500
)

// Deltas says when a checkpoint is a delta. The zero value means the defaults.
type Deltas struct {
	// Least is the size of a file in bytes from which on deltas are made. 0: 4 MiB.
	Least int64
	// Times limits the total size of the deltas on a full checkpoint, as a multiple of its size. So
	// full copies add 1/Times of the size of the deltas. It also limits what a restore reads. 0: 2.
	Times int64
}

func (d Deltas) orDefault() Deltas {
	return Deltas{Least: cmp.Or(d.Least, 4<<20), Times: cmp.Or(d.Times, 2)}
}

// pageSum identifies the contents of a page by two hashes. Each process has its own variant of the
// first one.
type pageSum [2]uint64

var sumSeed = maphash.MakeSeed()

func sumOf(page []byte) pageSum { return pageSum{maphash.Bytes(sumSeed, page), xxhash.Sum64(page)} }

// Chain is the last recorded checkpoint, to which the next one may be a delta.
type Chain struct {
	name  string
	full  int   // n of the full checkpoint on which it is based, or which it is
	whole int64 // size of that in bytes
	since int64 // total size of the deltas on it
	n     int   // number of these deltas
	sums  []pageSum
	on    []string // the checkpoints on which it is based, and itself as the last
}

// broken reports whether one of the checkpoints on which it is based is not among the existing
// names.
func (c *Chain) broken(names []string) bool {
	return len(c.on) > 0 && slices.ContainsFunc(c.on[:len(c.on)-1], func(name string) bool { return !slices.Contains(names, name) })
}

// usable reports whether the next checkpoint is to be a delta.
func (c *Chain) usable(d Deltas) bool {
	return c.name != "" && c.whole >= d.Least && c.since < d.Times*c.whole && c.n < maxDeltas
}

// differ writes a file to w, or only the pages that differ from another checkpoint.
type differ struct {
	w      io.Writer
	before []pageSum
	delta  bool
	after  []pageSum
	part   []byte // the beginning of a page
	passed int64  // bytes written
}

// newDiffer returns a differ, after writing the head of a delta.
func newDiffer(w io.Writer, against *Chain, size int64) (*differ, error) {
	d := &differ{w: w, part: make([]byte, 0, deltaPage)}
	if against == nil {
		return d, nil
	}
	d.before, d.delta = against.sums, true
	head := append([]byte(deltaMagic), byte(len(against.name)))
	head = append(head, against.name...)
	head = binary.BigEndian.AppendUint64(head, uint64(size))
	return d, d.pass(head)
}

func (d *differ) pass(b []byte) error {
	n, err := d.w.Write(b)
	d.passed += int64(n)
	return err
}

// Write takes the next part of the file.
func (d *differ) Write(p []byte) (n int, err error) {
	n = len(p)
	for len(p) > 0 {
		take := min(deltaPage-len(d.part), len(p))
		d.part, p = append(d.part, p[:take]...), p[take:]
		if len(d.part) == deltaPage {
			if err := d.page(); err != nil {
				return 0, err
			}
		}
	}
	return n, nil
}

func (d *differ) page() error {
	at, sum := len(d.after), sumOf(d.part)
	d.after = append(d.after, sum)
	var err error
	if !d.delta {
		err = d.pass(d.part)
	} else if at >= len(d.before) || d.before[at] != sum {
		var number [4]byte
		binary.BigEndian.PutUint32(number[:], uint32(at+1))
		if err = d.pass(number[:]); err == nil {
			err = d.pass(d.part)
		}
	}
	d.part = d.part[:0]
	return err
}

// end ends the file.
func (d *differ) end() error {
	if len(d.part) > 0 {
		return fmt.Errorf("a file of %d pages and %d bytes", len(d.after), len(d.part))
	}
	if !d.delta {
		return nil
	}
	return d.pass(make([]byte, 4))
}

// next is the chain to which the next checkpoint may be a delta, once this one is recorded.
func (d *differ) next(c *Chain, name Name) Chain {
	if !d.delta {
		return Chain{name: name.String(), full: name.N, whole: d.passed, sums: d.after, on: []string{name.String()}}
	}
	return Chain{name: name.String(), full: c.full, whole: c.whole, since: c.since + d.passed, n: c.n + 1, sums: d.after,
		on: append(slices.Clone(c.on), name.String())}
}

// errDelta: a delta is malformed.
var errDelta = errors.New("malformed delta of a checkpoint")

// deltaBase reads the name of the checkpoint on which the one in a file is based; "" if it is a
// full one.
func deltaBase(r *bufio.Reader) (name string, size int64, err error) {
	head, err := r.Peek(len(deltaMagic))
	if err != nil && !errors.Is(err, io.EOF) {
		return "", 0, err
	}
	if !bytes.Equal(head, []byte(deltaMagic)) {
		return "", 0, nil
	}
	_, _ = r.Discard(len(deltaMagic))
	n, err := r.ReadByte()
	if err != nil {
		return "", 0, errDelta
	}
	rest := make([]byte, int(n)+8)
	if _, err := io.ReadFull(r, rest); err != nil || n == 0 {
		return "", 0, errDelta
	}
	if size = int64(binary.BigEndian.Uint64(rest[n:])); size < 0 || size%deltaPage != 0 || size/deltaPage >= 1<<32-1 {
		return "", 0, errDelta
	}
	return string(rest[:n]), size, nil
}

// baseOfFile is deltaBase of the file at path.
func baseOfFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	name, _, err := deltaBase(bufio.NewReader(f))
	return name, err
}

// applyDelta applies the delta in one file to the file at path.
func applyDelta(path, delta string) (err error) {
	in, err := os.Open(delta)
	if err != nil {
		return err
	}
	defer in.Close()
	r := bufio.NewReaderSize(in, 1<<20)
	base, size, err := deltaBase(r)
	if err == nil && base == "" {
		err = errDelta
	}
	if err != nil {
		return err
	}
	out, err := disk.OpenRegular(path, os.O_WRONLY)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	var number [4]byte
	page := make([]byte, deltaPage)
	for {
		if _, err := io.ReadFull(r, number[:]); err != nil {
			return errDelta
		}
		n := int64(binary.BigEndian.Uint32(number[:])) - 1
		if n < 0 {
			break
		}
		if _, err := io.ReadFull(r, page); err != nil || (n+1)*deltaPage > size {
			return errDelta
		}
		if _, err := out.WriteAt(page, n*deltaPage); err != nil {
			return err
		}
	}
	return errors.Join(out.Truncate(size), out.Sync())
}
