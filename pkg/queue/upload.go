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

// pieceBytes is the size of a piece at most. Read back in JSON it grows by a third and must fit the
// server's limit of 1 MiB for a message.
const pieceBytes = 512 << 10

// Put stores what write writes, about size bytes, under name, and returns how many bytes that took
// compressed. Afterwards all of it is there or, after an error, nothing of that name. Names are
// meant to be used once. If a name is used again, the newer snapshot replaces the older one, whose
// pieces are left to Sweep. While the broker is away Put waits, in all for half a minute and a
// second for each MiB.
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

// upload is one snapshot on its way. Nobody else writes to the subject of its pieces. Each piece is
// sent with the sequence of the piece before it on that subject, and is refused when that is no
// longer the last. So a piece is stored once and in order, however often it is sent.
type upload struct {
	s     *Snapshots
	id    string
	last  uint64 // sequence of the last piece
	left  int64  // bytes that are still to come, about
	size  uint64
	n     uint32 // pieces
	sum   hash.Hash
	named bool // the message that names it was sent
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
		w.CloseWithError(err) // nil: the end
		written <- err
	}()
	stop := context.AfterFunc(ctx, func() { r.CloseWithError(ctx.Err()) })
	err := u.send(ctx, r)
	stop()
	// write must not wait for a reader that has ended
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

// send cuts what r has into pieces.
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

// piece stores one piece, and tries as often as necessary.
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
		case full(err): // others put snapshots too
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

// full reports whether a message was refused for want of room in its stream.
func full(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == codeStoreFailed && strings.Contains(api.Description, "maximum")
}

// stored reports whether the last piece is data: then it was stored and only the answer was lost.
func (u *upload) stored(ctx context.Context, data []byte) (done bool, err error) {
	m, err := u.s.last(ctx, u.s.pieces(u.id), sure)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return false, errors.New("its pieces were removed while it was uploaded")
	case err != nil:
		return false, err
	case m.Sequence <= u.last: // the server that answered has not heard of the last piece yet
		return false, nil
	case !bytes.Equal(m.Data, data):
		return false, fmt.Errorf("piece %d differs from what was sent", u.n)
	}
	u.last = m.Sequence
	return true, nil
}

// count checks that there are as many pieces as were sent. Older snapshots are removed once this
// one is there, so it had better be complete.
func (u *upload) count(ctx context.Context) error {
	n, _, err := u.s.subjects(ctx, u.s.pieces(u.id))
	if got := n[u.s.pieces(u.id)]; err == nil && got != uint64(u.n) {
		err = fmt.Errorf("only %d of its %d pieces were stored", got, u.n)
	}
	return err
}

// name makes the pieces a snapshot.
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
	// it does no harm to do this twice
	return u.s.c.apiUntil(ctx, u.s.cfg.Bucket, func(ctx context.Context) error {
		_, err := u.s.c.JS.PublishMsg(ctx, m)
		return err
	})
}

// discard removes what was stored, as far as possible; Sweep finds the rest.
func (u *upload) discard(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if u.named {
		_ = u.s.purge(ctx, u.s.nameSubject(name))
	}
	_ = u.s.purge(ctx, u.s.pieces(u.id))
}

// makeRoom reserves more for the store when size more bytes would not fit, or in any case (more).
// It always asks for half as much again as is needed: two processes may do this at the same time,
// the room becomes one or the other, and the smaller one must hold what is there already. The
// server drops the oldest messages of a stream that is made too small.
func (s *Snapshots) makeRoom(ctx context.Context, size int64, more bool) error {
	select { // no mutex: whoever has it may wait for a broker that is away
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
