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

// Memory for pages. An ordinary page needs none of it: its buffer is its hand's. A large one takes
// room before it is read on, for the largest it may become, and gives back what it did not need
// once it is read. Each request takes room once, so nobody who has some waits for more.
const (
	// KeepBuffer is the largest buffer a hand keeps, and the size from which a page takes room.
	KeepBuffer = 256 << 10
	// memoryFactor is how often a page is in memory while it is worked on: what was read, the
	// buffer that grew, what is sent.
	memoryFactor = 3
	// decoderMemory is what a br or zstd decoder takes at most, with the largest window
	// it may be asked for.
	decoderMemory = 16 << 20
)

// Roomy is the size of a buffer that is made for n bytes. The pages of a site are about as large as
// each other, and a hand's buffer must not be made anew for each that is a little larger than all
// before it.
func Roomy(n int) int {
	if n >= KeepBuffer-memoryStep { // it is not kept, or is as large as one that is kept may be
		return n
	}
	return (n + memoryStep - 1) / memoryStep * memoryStep
}

const memoryStep = 16 << 10

// memoryBudget is the memory that the pages under way share. Safe for concurrent use.
type memoryBudget struct {
	size     int64
	free     *semaphore.Weighted
	decoding chan struct{} // an element for each decoder at work on an ordinary page
}

func newMemoryBudget(size int64) *memoryBudget {
	// Decoding an ordinary page waits for nobody but the processor.
	return &memoryBudget{size: size, free: semaphore.NewWeighted(size), decoding: make(chan struct{}, max(runtime.GOMAXPROCS(0), 2))}
}

// take waits for room and returns how much it is: never more than there is, so that a single page
// finds room in any case.
func (r *memoryBudget) take(ctx context.Context, n int64) (int64, error) {
	n = min(n, r.size)
	return n, r.free.Acquire(ctx, n)
}

// takeMemory waits until there is memory for a page of n bytes, and for extra besides. Its origin
// is not to blame for that: the time counts against no limit.
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

// MemoryUnused reports whether no large page has any of the memory for them.
func (c *Client) MemoryUnused() bool {
	unused := c.memory.free.TryAcquire(c.memory.size)
	if unused {
		c.memory.free.Release(c.memory.size)
	}
	return unused
}

// fitMemory gives back the room that a page which has been read does not need.
func (h *Session) fitMemory() {
	if need := memoryFactor * int64(cap(h.Buf)); need < h.memory {
		h.c.memory.free.Release(h.memory - need)
		h.memory = need
	}
}

// letGo gives back the memory of a large page.
func (h *Session) letGo() {
	if h.memory > 0 {
		h.c.memory.free.Release(h.memory)
		h.memory, h.Buf = 0, nil
	}
}

// unpacker decodes a body under a Content-Encoding. A decoder may need 16 MiB, so none of them
// waits for the network on behalf of an ordinary page: that is read first, and then decoded. A body
// that is larger takes room, for its decoder too, and is decoded as it comes.
type unpacker struct {
	h        *Session
	wire     *wireReader
	encoding string
	limit    int64 // decoded bytes
	packed   []byte
	put      func()
	slot     bool // a decoder of room.decoding
}

// heavy reports whether decoding takes much memory.
func heavy(encoding string) bool {
	return slices.ContainsFunc(codings(encoding), needsMemory)
}

// needsMemory reports whether the decoder of a content coding takes much memory.
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

// fetch reads what an ordinary page may have, or takes room.
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
			return nil // whoever decodes meets it again
		}
	}
}

// grow is called when the decoded body is larger than an ordinary page: it takes room. If
// it returns another reader, the body begins anew there: the decoder must not be kept while
// room is waited for.
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

// unpack is a reader of a gzip stream that no header tells of.
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

// close gives the decoder back.
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

// bytesReader reads bytes and does nothing else; decoders treat a bytes.Reader as
// something they may keep.
type bytesReader struct{ b []byte }

func (r *bytesReader) Read(p []byte) (int, error) {
	if len(r.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.b)
	r.b = r.b[n:]
	return n, nil
}
