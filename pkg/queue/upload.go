package queue

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// pieceBytes is the maximum size of a piece. In a JSON answer the piece is a third larger, and that
// must fit the server's limit of 1 MiB for a message.
const pieceBytes = 512 << 10

// Put stores the bytes that write produces, about size bytes, under name. It returns the compressed
// size. Afterwards the snapshot is complete; after an error it does not exist. A name should be
// used only once. If it is used again, the newer snapshot replaces the older one, and Sweep removes
// the pieces of the older one. While the broker is unreachable, Put waits; it takes at most half a
// minute and a second for each MiB.
func (s *Snapshots) Put(ctx context.Context, name string, size int64, write func(io.Writer) error) (int64, error) {
	stored, err := s.put(ctx, name, size, write)
	if err != nil {
		return 0, fmt.Errorf("put snapshot %s into %s: %w", name, s.cfg.Bucket, err)
	}
	return stored, nil
}

func (s *Snapshots) put(ctx context.Context, name string, size int64, write func(io.Writer) error) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, snapshotTime(size))
	defer cancel()
	if err := s.makeRoom(ctx, size, false); err != nil {
		return 0, err
	}
	u := &upload{s: s, id: nuid.Next(), left: size, sum: sha256.New()}
	if err := u.run(ctx, name, write); err != nil {
		u.discard(ctx, name)
		return 0, err
	}
	return int64(u.size), nil
}

// upload is one running upload of a snapshot. Nobody else writes to the subject of its pieces. Each
// piece is sent with the sequence number of the previous piece on that subject, and the server
// refuses it if that is no longer the last one. So each piece is stored once and in order, however
// often it is sent.
type upload struct {
	s     *Snapshots
	id    string
	last  uint64 // sequence of the last piece
	left  int64  // the estimated number of bytes still to come
	size  uint64
	n     uint32 // number of pieces
	sum   hash.Hash
	named bool // the message that names the pieces was sent
}

func (u *upload) run(ctx context.Context, name string, write func(io.Writer) error) error {
	r, w := io.Pipe()
	written := make(chan error, 1)
	go func() {
		z := s2.NewWriter(w, s2.WriterConcurrency(1))
		err := write(z)
		if err == nil {
			err = z.Close()
		}
		w.CloseWithError(err) // nil: the reader gets EOF
		written <- err
	}()
	stop := context.AfterFunc(ctx, func() { r.CloseWithError(ctx.Err()) })
	err := u.send(ctx, r)
	stop()
	// The write function must not wait for a reader that has ended.
	r.CloseWithError(errors.Join(err, io.ErrClosedPipe))
	if werr := <-written; err == nil {
		err = werr
	}
	if err == nil {
		err = u.count(ctx)
	}
	if err == nil {
		err = u.name(ctx, name)
	}
	return err
}

// send cuts the data of r into pieces and stores them.
func (u *upload) send(ctx context.Context, r io.Reader) error {
	buf := make([]byte, min(pieceBytes, u.s.c.NC.MaxPayload()/2))
	for {
		n, err := io.ReadFull(r, buf)
		if n > 0 {
			u.sum.Write(buf[:n])
			if err := u.piece(ctx, buf[:n]); err != nil {
				return err
			}
			u.size += uint64(n)
			u.left -= int64(n)
			u.n++
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// piece stores one piece and retries as often as necessary.
func (u *upload) piece(ctx context.Context, data []byte) error {
	subject := u.s.pieces(u.id)
	b := backoff{least: 20 * time.Millisecond, most: time.Second}
	for {
		seq, err := u.s.publish(ctx, &nats.Msg{Subject: subject, Data: data}, jetstream.WithExpectLastSequencePerSubject(u.last))
		if err == nil {
			u.last = seq
			return nil
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case ChangedMeanwhile(err):
			done, err := u.stored(ctx, data)
			if done || err != nil {
				return err
			}
		case full(err): // others store snapshots too
			if err := u.s.makeRoom(ctx, max(u.left, 0)+int64(len(data)), true); err != nil {
				return err
			}
		case !Unanswered(err):
			return err
		}
		if b.wait(ctx, nil) != nil {
			return err
		}
	}
}

// publish sends a message once.
func (s *Snapshots) publish(ctx context.Context, m *nats.Msg, opts ...jetstream.PublishOpt) (seq uint64, err error) {
	err = s.c.apiTry(ctx, s.c.current(), s.cfg.Bucket, func(ctx context.Context) error {
		ack, err := s.c.JS.PublishMsg(ctx, m, opts...)
		if err == nil {
			seq = ack.Sequence
		}
		return err
	})
	return seq, err
}

// full reports whether a message was refused because its stream is full.
func full(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == codeStoreFailed && strings.Contains(api.Description, "maximum")
}

// stored reports whether the last stored piece is data. If it is, the piece was stored and only the
// answer was lost.
func (u *upload) stored(ctx context.Context, data []byte) (done bool, err error) {
	m, err := u.s.last(ctx, u.s.pieces(u.id), sure)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return false, errors.New("its pieces were removed while it was uploaded")
	case err != nil:
		return false, err
	case m.Sequence <= u.last: // the server that answered does not know the last piece yet
		return false, nil
	case !bytes.Equal(m.Data, data):
		return false, fmt.Errorf("piece %d differs from what was sent", u.n)
	}
	u.last = m.Sequence
	return true, nil
}

// count checks that the number of stored pieces is the number of sent pieces. Older snapshots are
// removed once this one exists, so it must be complete.
func (u *upload) count(ctx context.Context) error {
	n, _, err := u.s.subjects(ctx, u.s.pieces(u.id))
	if got := n[u.s.pieces(u.id)]; err == nil && got != uint64(u.n) {
		err = fmt.Errorf("only %d of its %d pieces were stored", got, u.n)
	}
	return err
}

// name stores the message that makes the pieces a snapshot.
func (u *upload) name(ctx context.Context, name string) error {
	info, err := json.Marshal(jetstream.ObjectInfo{
		ObjectMeta: jetstream.ObjectMeta{Name: name, Opts: &jetstream.ObjectMetaOptions{ChunkSize: pieceBytes}},
		Bucket:     u.s.cfg.Bucket, NUID: u.id, Size: u.size, Chunks: u.n, Digest: jetstream.GetObjectDigestValue(u.sum),
	})
	if err != nil {
		return err
	}
	u.named = true
	m := &nats.Msg{Subject: u.s.nameSubject(name), Data: info, Header: nats.Header{jetstream.MsgRollup: {jetstream.MsgRollupSubject}}}
	// Storing this message twice does no harm.
	return u.s.c.apiUntil(ctx, u.s.cfg.Bucket, func(ctx context.Context) error {
		_, err := u.s.c.JS.PublishMsg(ctx, m)
		return err
	})
}

// discard removes the stored pieces as far as possible; Sweep removes the rest later.
func (u *upload) discard(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if u.named {
		_ = u.s.purge(ctx, u.s.nameSubject(name))
	}
	_ = u.s.purge(ctx, u.s.pieces(u.id))
}

// makeRoom increases the capacity of the store if size more bytes do not fit, or in any case if
// more is set. It always requests half as much again as is needed. Two processes may do this at the
// same time, and the later request determines the capacity, so even the smaller one must suffice
// for the existing messages: the server drops the oldest messages of a stream that becomes too
// small.
func (s *Snapshots) makeRoom(ctx context.Context, size int64, more bool) error {
	select { // no mutex: the goroutine that has it may wait for a broker that is away
	case s.grow <- struct{}{}:
		defer func() { <-s.grow }()
	case <-ctx.Done():
		return ctx.Err()
	}
	return s.c.apiUntil(ctx, s.cfg.Bucket, func(ctx context.Context) error {
		info, err := s.st.Info(ctx)
		if err != nil {
			return err
		}
		cfg, used := info.Config, int64(info.State.Bytes)
		need := used + size + size/8 + 1<<20
		if cfg.MaxBytes < 0 || !more && need <= cfg.MaxBytes {
			return nil
		}
		cfg.MaxBytes = max(need+need/2, cfg.MaxBytes)
		_, err = s.c.JS.UpdateStream(ctx, cfg)
		return streamError(cfg, err)
	})
}
