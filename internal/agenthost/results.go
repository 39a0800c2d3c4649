package agenthost

import (
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/curtsy/curtsy/internal/disk"
	"github.com/curtsy/curtsy/internal/mobile"
)

// Results are compressed when there is this much, or when the first of them has waited for this
// time and another one comes. Each block is compressed by itself, and small ones badly: with a wait
// of a second, a visit that finds little new takes a third more octets, and with half the size,
// pages of a manual take a sixth more. A block with one part of a record more is still smaller than
// the largest frame that readers accept (mobile.MaxWindow).
const (
	blockSize = 896 << 10
	blockWait = 5 * time.Second
)

// errFull means that a stream of results has reached its limit.
var errFull = errors.New("the results are as long as they may be")

// results is the stream of results of a run, in a file. The file consists of whole zstd frames, and
// each ends with a frame of package mobile: what a crash leaves behind can therefore be cut to its
// last whole frame and ended properly. Only octets that are on the disk are shown to readers, so a
// reader can continue where it was, whatever happens to this process.
//
// One goroutine writes; others may read.
type results struct {
	file    *os.File
	encoder *zstd.Encoder
	most    int64 // octets of the file, its end not counted
	block   block
	writer  *mobile.ResultWriter // to block

	mu      sync.Mutex // guards what follows
	size    int64
	ended   bool
	changed chan struct{} // closed and replaced when size or ended change
}

// block is what was not compressed yet.
type block struct {
	octets []byte
	began  time.Time // when its first octet came
}

func (b *block) Write(p []byte) (int, error) {
	if len(b.octets) == 0 {
		b.began = time.Now()
	}
	b.octets = append(b.octets, p...)
	return len(p), nil
}

func newEncoder() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
}

// createResults makes the file of a run.
func createResults(name string, most int64) (*results, error) {
	encoder, err := newEncoder()
	if err != nil {
		return nil, err
	}
	file, err := disk.OpenRegular(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return nil, err
	}
	r := &results{file: file, encoder: encoder, most: most, changed: make(chan struct{})}
	r.writer = mobile.NewResultWriter(&r.block)
	return r, nil
}

func (r *results) part(b []byte, last bool) error {
	if err := r.writer.Part(b, last); err != nil {
		return err
	}
	return r.compress(last)
}

func (r *results) log(line []byte) error {
	if err := r.writer.Log(line); err != nil {
		return err
	}
	return r.compress(true)
}

// compress writes the block if it is full, or between results if it has waited long enough.
func (r *results) compress(between bool) error {
	if len(r.block.octets) < blockSize && (!between || time.Since(r.block.began) < blockWait) {
		return nil
	}
	return r.flush(r.most)
}

// flush writes the block, unless the file would become longer than most.
func (r *results) flush(most int64) error {
	if len(r.block.octets) == 0 {
		return nil
	}
	frame := r.encoder.EncodeAll(r.block.octets, nil)
	r.block.octets = r.block.octets[:0]
	if r.length()+int64(len(frame)) > most {
		return errFull
	}
	if _, err := r.file.Write(frame); err != nil {
		return err
	}
	if err := r.file.Sync(); err != nil {
		return err
	}
	r.change(int64(len(frame)), false)
	return nil
}

func (r *results) change(more int64, ended bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.size, r.ended = r.size+more, ended
	close(r.changed)
	r.changed = make(chan struct{})
}

// finish writes what is left. Its octets count as sent. After that only end may be called.
func (r *results) finish() error { return r.flush(r.most) }

// end writes the end and closes the file.
func (r *results) end(s mobile.Summary) error {
	err := r.writer.End(s)
	if err == nil {
		err = r.flush(1 << 62)
	}
	r.change(0, true)
	err = errors.Join(err, r.encoder.Close(), r.file.Close())
	// Results are kept for long after their end, and an encoder has several megabytes.
	r.encoder, r.block, r.writer = nil, block{}, nil
	return err
}

// length is how many octets can be read now.
func (r *results) length() int64 {
	size, _, _ := r.state()
	return size
}

func (r *results) state() (size int64, ended bool, changed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.size, r.ended, r.changed
}

// stored are the results of a run that has ended, size octets.
func stored(size int64) *results {
	return &results{size: size, ended: true, changed: make(chan struct{})}
}

// fetchWait is how long a FETCH waits for more octets, before it ends without them and the client
// asks again: connections without an octet are cut on the way.
const fetchWait = 30 * time.Second

// send copies the octets of the file from offset on to w, as they come, until the end, or until
// none have come for fetchWait. sent is called after each piece with its length.
func (r *results) send(ctx context.Context, name string, offset int64, w io.Writer, sent func(n int64) error) error {
	f, err := disk.OpenRegular(name, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		size, ended, changed := r.state()
		if offset < size {
			n, err := io.Copy(w, io.NewSectionReader(f, offset, size-offset))
			offset += n
			if err = errors.Join(err, sent(n)); err != nil {
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

// repair ends the file of a run that was interrupted: it is cut behind its last whole frame, and
// gets an end, unless it has one already. It returns the summary in the end, and the file's length.
func repair(name string, s mobile.Summary) (mobile.Summary, int64, error) {
	f, err := disk.OpenRegular(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return s, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return s, 0, err
	}
	size := int64(0)
	for {
		n, ok := frameLength(f, size, info.Size())
		if !ok {
			break
		}
		size += n
	}
	if err := f.Truncate(size); err != nil {
		return s, 0, err
	}
	s.Sent = size
	if end, ok, err := readEnd(io.NewSectionReader(f, 0, size), &s); err != nil || ok {
		return end, size, err
	}
	var b block
	encoder, err := newEncoder()
	if err != nil {
		return s, 0, err
	}
	if err := mobile.NewResultWriter(&b).End(s); err != nil {
		return s, 0, err
	}
	frame := encoder.EncodeAll(b.octets, nil)
	_, err = f.WriteAt(frame, size)
	return s, size + int64(len(frame)), errors.Join(err, f.Sync(), encoder.Close())
}

// readEnd looks for the end of a stream, and counts its records into s.
func readEnd(r io.Reader, s *mobile.Summary) (end mobile.Summary, ok bool, err error) {
	decoder, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(1<<20))
	if err != nil {
		return *s, false, err
	}
	defer decoder.Close()
	for reader := mobile.NewResultReader(decoder); ; {
		got, err := reader.Next()
		switch {
		case err != nil: // there is none
			return *s, false, nil
		case got.End != nil:
			return *got.End, true, nil
		case got.Record != nil:
			s.Records++
		}
	}
}

// frameLength returns the length of the zstd frame at offset of a file with size octets, by the
// headers of its blocks (RFC 8878 §3.1.1). It is not ok if the frame is not whole.
func frameLength(f io.ReaderAt, offset, size int64) (n int64, ok bool) {
	head := make([]byte, zstd.HeaderMaxSize)
	got, _ := f.ReadAt(head, offset) // what is missing is noticed below
	var h zstd.Header
	if h.Decode(head[:got]) != nil || h.Skippable {
		return 0, false
	}
	at := offset + int64(h.HeaderSize)
	for last := false; !last; {
		var b [3]byte
		if _, err := f.ReadAt(b[:], at); err != nil {
			return 0, false
		}
		length := int64(b[0])>>3 | int64(b[1])<<5 | int64(b[2])<<13
		if b[0]>>1&3 == 1 { // one octet, repeated
			length = 1
		}
		last = b[0]&1 == 1
		at += 3 + length
	}
	if h.HasCheckSum {
		at += 4
	}
	return at - offset, at <= size
}

// rangeStart parses the value of a Range field: octets=N-
func rangeStart(value string) (int64, error) {
	text, ok1 := strings.CutPrefix(value, "octets=")
	text, ok2 := strings.CutSuffix(text, "-")
	n, err := strconv.ParseUint(text, 10, 62)
	if !ok1 || !ok2 || err != nil {
		return 0, errors.New("a Range is octets=N-, where N is the first octet")
	}
	return int64(n), nil
}
