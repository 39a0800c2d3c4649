package agentserver

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/curtsy/curtsy/internal/mobile"
	"github.com/curtsy/curtsy/internal/mobile/reading"
)

// What ends a run early.
var (
	errRetracted   = errors.New("its sender ended it")
	errInterrupted = errors.New("the host was restarted")
)

// blockWait is how long results wait until they are compressed, if more come.
const blockWait = time.Second

// run is a robot that runs or has run.
type run struct {
	s       *Server
	cancel  context.CancelCauseFunc
	done    chan struct{}
	started time.Time
	fetched int // FETCHes; guarded by Server.mu

	// Of the goroutine that runs it.
	encoder *zstd.Encoder
	block   []byte
	since   time.Time // since when the block waits
	writer  *mobile.ResultWriter

	mu      sync.Mutex // guards the fields below
	octets  []byte     // of the stream, compressed
	read    int64      // octets that some FETCH has sent
	ended   bool
	changed chan struct{} // closed and replaced when octets, read or ended change
	summary mobile.Summary
}

func newRun(s *Server) *run {
	r := &run{s: s, done: make(chan struct{}), started: time.Now(), changed: make(chan struct{}), summary: mobile.Summary{Outcome: "running"}}
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		panic(err) // only invalid options cause an error
	}
	r.encoder, r.writer = encoder, mobile.NewResultWriter(blockOf{r})
	return r
}

// blockOf appends to the block of a run.
type blockOf struct{ r *run }

func (b blockOf) Write(p []byte) (int, error) {
	if len(b.r.block) == 0 {
		b.r.since = time.Now()
	}
	b.r.block = append(b.r.block, p...)
	return len(p), nil
}

// execute runs the robot to its end.
func (r *run) execute(ctx context.Context, t mobile.Ticket, input []byte) {
	o := r.s.opt
	var docs []Document
	for _, d := range o.Documents(t.Token) {
		if below(d.Path, t.Subtree) {
			docs = append(docs, d)
		}
	}
	c := cheat{o: o.Behavior, subtree: t.Subtree, r: r}
	err := c.run(ctx, input, docs)
	outcome, reason := mobile.Done, ""
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errRetracted):
		outcome, reason = mobile.Retracted, cause.Error()
	case errors.Is(cause, errInterrupted):
		outcome, reason = mobile.Interrupted, cause.Error()
	case err != nil:
		outcome, reason = mobile.Failed, err.Error()
	}
	r.flush()
	s := r.state()
	s.Outcome, s.Reason, s.Seconds = outcome, reason, time.Since(r.started).Seconds()
	_ = r.writer.End(s) // nothing fails in memory
	r.flush()
	_ = r.encoder.Close() // likewise
	r.encoder = nil
	r.change(func() { r.ended, r.summary = true, s })
	r.s.mu.Lock()
	r.s.running--
	r.s.mu.Unlock()
	close(r.done)
}

// below reports whether a path is in a subtree, which ends with "/".
func below(path, subtree string) bool {
	return len(path) >= len(subtree) && path[:len(subtree)] == subtree
}

// emit sends a record.
func (r *run) emit(ctx context.Context, record []byte) error {
	rest := record
	for len(rest) > mobile.MaxPart {
		_ = r.writer.Part(rest[:mobile.MaxPart], false) // nothing fails in memory
		rest = rest[mobile.MaxPart:]
		if len(r.block) >= r.s.opt.Block {
			r.flush()
		}
	}
	_ = r.writer.Part(rest, true) // likewise
	r.mu.Lock()
	r.summary.Records++
	r.mu.Unlock()
	if len(r.block) >= r.s.opt.Block || time.Since(r.since) >= blockWait {
		r.flush()
	}
	return ctx.Err()
}

// log sends a line of the log at once.
func (r *run) log(ctx context.Context, line []byte) error {
	_ = r.writer.Log(line) // nothing fails in memory
	r.flush()
	return ctx.Err()
}

// flush compresses the block.
func (r *run) flush() {
	if len(r.block) > 0 {
		frame := r.encoder.EncodeAll(r.block, nil)
		r.block = r.block[:0]
		r.raw(frame)
	}
}

// raw appends octets to the stream as they are.
func (r *run) raw(octets []byte) {
	r.change(func() {
		r.octets = append(r.octets, octets...)
		r.summary.Sent = int64(len(r.octets))
	})
}

func (r *run) change(do func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	do()
	close(r.changed)
	r.changed = make(chan struct{})
}

// listed records how many documents the robot opened.
func (r *run) listed(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.summary.Documents = n
}

// state is what is reported of the run now.
func (r *run) state() mobile.Summary {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.summary
}

func (r *run) progress() (size int64, ended bool, changed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return int64(len(r.octets)), r.ended, r.changed
}

// ahead waits until at most this many octets were not fetched: a server that sends without an end
// must not fill the memory.
func (r *run) ahead(ctx context.Context, most int64) error {
	for {
		r.mu.Lock()
		enough, changed := int64(len(r.octets))-r.read <= most, r.changed
		r.mu.Unlock()
		if enough {
			return ctx.Err()
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// send copies the stream from an octet on as it grows, until its end, or until nothing has come for
// fetchWait.
func (r *run) send(ctx context.Context, from int64, w io.Writer) error {
	for {
		r.mu.Lock()
		piece, ended, changed := r.octets[min(from, int64(len(r.octets))):], r.ended, r.changed
		r.mu.Unlock()
		if len(piece) > 0 {
			n, err := w.Write(piece)
			from += int64(n)
			r.change(func() { r.read = max(r.read, from) })
			if err != nil {
				return err
			}
			continue
		}
		if ended {
			return nil
		}
		select {
		case <-changed:
		case <-time.After(fetchWait):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// number returns a pseudo-random number for a text.
func (r *run) number(text string) uint64 {
	return reading.Digest(binary.BigEndian.AppendUint64([]byte(text), uint64(r.s.opt.Seed)))
}
