package queue

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/klauspost/compress/s2"
	"github.com/nats-io/nats.go/jetstream"
)

// Get writes the snapshot with the given name to w. The error wraps ErrNoSnapshot if there is no
// such snapshot, or if it is damaged in any way; w may have received a part of it then.
func (s *Snapshots) Get(ctx context.Context, name string, w io.Writer) error {
	err := s.get(ctx, name, w)
	if err != nil {
		return fmt.Errorf("snapshot %s of %s: %w", name, s.cfg.Bucket, err)
	}
	return nil
}

func (s *Snapshots) get(ctx context.Context, name string, w io.Writer) error {
	lctx, cancel := context.WithTimeout(ctx, apiWithin)
	defer cancel()
	info, err := s.lookup(lctx, name, sure)
	if err != nil {
		return err
	}
	ctx, cancel = context.WithTimeout(ctx, snapshotTime(int64(info.Size)))
	defer cancel()
	d := &download{ctx: ctx, s: s, info: info, sum: sha256.New()}
	out := &sink{w: w}
	_, err = io.Copy(out, s2.NewReader(d))
	switch {
	case out.err != nil:
		return out.err
	case d.err != nil:
		return d.err
	case err != nil && !errors.Is(err, ErrNoSnapshot):
		return fmt.Errorf("%w: %w", ErrNoSnapshot, err) // it cannot be decompressed
	}
	return err
}

// sink remembers the error of a writer, to distinguish it from an error in the data.
type sink struct {
	w   io.Writer
	err error
}

func (o *sink) Write(p []byte) (n int, err error) {
	n, err = o.w.Write(p)
	o.err = err
	return n, err
}

// download reads the pieces of a snapshot one after another, each when it is needed. At the end it
// checks their number, size and digest.
type download struct {
	ctx  context.Context
	s    *Snapshots
	info *jetstream.ObjectInfo
	next uint64 // lower bound for the sequence of the next piece
	n    uint32 // pieces read
	size uint64
	sum  hash.Hash
	rest []byte // the unread part of the current piece
	err  error  // an error of the broker; damage of the snapshot is not recorded here
}

func (d *download) Read(p []byte) (int, error) {
	for len(d.rest) == 0 {
		if d.n == d.info.Chunks {
			return 0, d.end()
		}
		if err := d.fetch(); err != nil {
			return 0, err
		}
	}
	n := copy(p, d.rest)
	d.rest = d.rest[n:]
	return n, nil
}

func (d *download) fetch() error {
	m, err := d.s.read(d.ctx, sure, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
		return d.s.st.GetMsg(ctx, max(d.next, 1), jetstream.WithGetMsgSubject(d.s.pieces(d.info.NUID)))
	})
	switch {
	case gone(err):
		return fmt.Errorf("%w: only %d of its %d pieces exist", ErrNoSnapshot, d.n, d.info.Chunks)
	case err != nil:
		d.err = err
		return err
	}
	d.next, d.rest = m.Sequence+1, m.Data
	d.n++
	d.size += uint64(len(m.Data))
	d.sum.Write(m.Data)
	return nil
}

func (d *download) end() error {
	want, err := jetstream.DecodeObjectDigest(d.info.Digest)
	if err != nil || d.size != d.info.Size || !bytes.Equal(d.sum.Sum(nil), want) {
		return fmt.Errorf("%w: it does not match its digest", ErrNoSnapshot)
	}
	return io.EOF
}
