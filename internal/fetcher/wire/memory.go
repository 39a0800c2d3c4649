package wire

import (
	"bufio"
	"context"
	"io"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/semaphore"
)

// Memory for pages. An ordinary page needs none of the budget, because it is read into the buffer
// of its scratch. A large page reserves memory before it is read further, for the largest size that
// it may have, and returns what it did not need after it was read. Each request reserves memory
// once, so nobody who has some waits for more.
const (
	// KeepBuffer is the size of the largest buffer that a scratch keeps. A page that is larger
	// reserves memory.
	KeepBuffer = 256 << 10
	// memoryFactor is how often a page is in memory while it is processed: what was read, the
	// buffer that grew, and what is sent.
	memoryFactor = 3
	// decoderMemory is the most that a br or zstd decoder uses, with the largest window that it
	// accepts.
	decoderMemory = 16 << 20
)

// Roomy returns the size of a buffer that is made for n bytes. The pages of a site have similar
// sizes. The buffer of a scratch should not be made again for each page that is a little larger
// than all before it.
func Roomy(n int) int {
	if n >= KeepBuffer-memoryStep { // it is not kept, or has the largest size that is kept
		return n
	}
	return (n + memoryStep - 1) / memoryStep * memoryStep
}

const memoryStep = 16 << 10

// memoryBudget is the memory that the pages in flight share. It may be used concurrently.
type memoryBudget struct {
	size     int64
	free     *semaphore.Weighted
	decoding chan struct{} // an element for each decoder that works on an ordinary page
}

func newMemoryBudget(size int64) *memoryBudget {
	// The decoding of an ordinary page waits for nothing but the processor.
	return &memoryBudget{size: size, free: semaphore.NewWeighted(size), decoding: make(chan struct{}, max(runtime.GOMAXPROCS(0), 2))}
}

// take waits for memory and returns how much was reserved. That is never more than the whole
// budget, so a single page always gets its memory.
func (r *memoryBudget) take(ctx context.Context, n int64) (int64, error) {
	n = min(n, r.size)
	return n, r.free.Acquire(ctx, n)
}

// takeMemory waits until there is memory for a page of n bytes, and extra bytes besides. The origin
// is not the cause, so this time counts against no limit.
func (h *Session) takeMemory(n, extra int64) error {
	if h.memory > 0 {
		return nil
	}
	start := time.Now()
	got, err := h.c.memory.take(h.ctx, memoryFactor*n+extra)
	if err != nil {
		return err
	}
	h.memory = got
	h.PausedSince(start)
	return nil
}

// MemoryUnused reports whether no large page uses the memory for them.
func (c *Client) MemoryUnused() bool {
	unused := c.memory.free.TryAcquire(c.memory.size)
	if unused {
		c.memory.free.Release(c.memory.size)
	}
	return unused
}

// fitMemory returns the memory that a page does not need after it was read.
func (h *Session) fitMemory() {
	if need := memoryFactor * int64(cap(h.Buf)); need < h.memory {
		h.c.memory.free.Release(h.memory - need)
		h.memory = need
	}
}

// letGo returns the memory of a large page.
func (h *Session) letGo() {
	if h.memory > 0 {
		h.c.memory.free.Release(h.memory)
		h.memory, h.Buf = 0, nil
	}
}

// unpacker decodes a body under a Content-Encoding. A decoder may need 16 MiB, so none of them
// waits for the network because of an ordinary page: such a page is read first, and then decoded. A
// larger body reserves memory, also for its decoder, and is decoded as it arrives.
type unpacker struct {
	h        *Session
	wire     *wireReader
	encoding string
	limit    int64 // decoded bytes
	packed   []byte
	put      func()
	slot     bool // it has an element of memoryBudget.decoding
}

// heavy reports whether decoding needs much memory.
func heavy(encoding string) bool {
	return slices.ContainsFunc(codings(encoding), needsMemory)
}

// needsMemory reports whether the decoder of a content coding needs much memory.
func needsMemory(name string) bool { return name == "br" || name == "zstd" }

// open returns a reader of the decoded body. close must be called in any case.
func (u *unpacker) open() (io.Reader, error) {
	if heavy(u.encoding) && u.packed == nil {
		if err := u.fetch(); err != nil {
			return nil, err
		}
	}
	if heavy(u.encoding) && u.h.memory == 0 {
		select {
		case u.h.c.memory.decoding <- struct{}{}:
			u.slot = true
		case <-u.h.ctx.Done():
			return nil, u.h.ctx.Err()
		}
	}
	body := io.Reader(u.wire)
	if len(u.packed) > 0 {
		body = io.MultiReader(&bytesReader{u.packed}, u.wire)
	}
	r, put, err := Decoder(body, u.encoding)
	if err != nil {
		return nil, u.wire.blame(err)
	}
	u.put = put
	return r, nil
}

// fetch reads as much as an ordinary page may have, or reserves memory.
func (u *unpacker) fetch() error {
	u.packed = u.h.packed[:0]
	for {
		if len(u.packed) >= KeepBuffer {
			return u.h.takeMemory(u.limit, decoderMemory)
		}
		if len(u.packed) == cap(u.packed) {
			u.packed = append(u.packed, make([]byte, max(4<<10, cap(u.packed)))...)[:len(u.packed)]
			u.h.packed = u.packed
		}
		n, err := u.wire.Read(u.packed[len(u.packed):min(cap(u.packed), KeepBuffer)])
		u.packed = u.packed[:len(u.packed)+n]
		if err != nil {
			return nil // the decoder gets the error again
		}
	}
}

// grow is called when the decoded body is larger than an ordinary page. It reserves memory. If it
// returns another reader, the body begins again there, because the decoder must not be kept while
// memory is waited for.
func (u *unpacker) grow(n int64) (again io.Reader, err error) {
	if !u.slot {
		return nil, u.h.takeMemory(n, 0)
	}
	u.close()
	if err := u.h.takeMemory(n, decoderMemory); err != nil {
		return nil, err
	}
	return u.open()
}

// unpack returns a reader of a gzip stream that the header does not mention.
func (u *unpacker) unpack(r io.Reader) (io.Reader, error) {
	in := inputs.Get().(*bufio.Reader)
	in.Reset(r)
	unpacked, done, err := layer(in, "gzip", false)
	before := u.put
	u.put = func() {
		if done != nil {
			done()
		}
		in.Reset(nil)
		inputs.Put(in)
		if before != nil {
			before()
		}
	}
	return unpacked, err
}

// close returns the decoder.
func (u *unpacker) close() {
	if u.put != nil {
		u.put()
		u.put = nil
	}
	if u.slot {
		u.slot = false
		<-u.h.c.memory.decoding
	}
}

// bytesReader reads bytes and does nothing else. Decoders treat a bytes.Reader as something that
// they may keep.
type bytesReader struct{ b []byte }

func (r *bytesReader) Read(p []byte) (int, error) {
	if len(r.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.b)
	r.b = r.b[n:]
	return n, nil
}
