package wire

import (
	"bufio"
	"context"
	"io"
	"runtime"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/fair"
)

// Memory for pages. An ordinary page needs none of the budgets, because it is read into the buffer
// of its scratch, and its links are gathered in tables of ordinary size.
//
// There are two budgets. A large page reserves memory of the first one before it is read further,
// for the largest size that it may have, and returns what it did not need after it was read. A page
// with many links reserves memory of the second one before more of them are gathered
// (Memory.Gather), and returns it when they are published. Both are divided among parties.
//
// Nobody waits forever: a request reserves once of each budget, of the second one after the first,
// and what it has is released before the next request of its visit. So whoever has memory of the
// second budget waits for no memory, but only until what it gathered is published, which needs
// none; and whoever has memory of the first one waits only for those.
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
	// gatherPart is the part of the memory for pages that is for what they gather.
	gatherPart = 8
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
	bodies   *fair.Queue   // bytes; costs are MiB times seconds
	gathered *fair.Queue   // the same, of size/gatherPart bytes
	size     int64         // of both
	decoding chan struct{} // an element for each decoder that works on an ordinary page
}

func newMemoryBudget(size int64) *memoryBudget {
	return &memoryBudget{
		size:     size,
		bodies:   fair.NewQueue(fair.Options{Capacity: size - size/gatherPart, Pressed: collectSooner}),
		gathered: fair.NewQueue(fair.Options{Capacity: size / gatherPart, Pressed: collectSooner}),
		// The decoding of an ordinary page waits for nothing but the processor.
		decoding: make(chan struct{}, max(runtime.GOMAXPROCS(0), 2)),
	}
}

// Memory is what a session has reserved of the memory for pages. It belongs to the visit's
// goroutine.
type Memory struct {
	h        *Session
	body     reserved
	gathered reserved
}

// reserved is memory of one budget.
type reserved struct {
	claim *fair.Claim // nil: none
	n     int64       // bytes
	since time.Time   // when it became n
	cost  float64     // of the time before
}

// take waits for memory. It takes no more than the whole budget, so a single page always gets its
// memory.
func (r *reserved) take(ctx context.Context, from *fair.Queue, n int64, parties []fair.Party) error {
	if r.claim != nil {
		return nil
	}
	claim, err := from.Acquire(ctx, n, parties...)
	if err != nil {
		return err
	}
	*r = reserved{claim: claim, n: n, since: time.Now()}
	return nil
}

// shrink returns all but n bytes.
func (r *reserved) shrink(n int64) {
	if r.claim != nil && n < r.n {
		r.count()
		r.n = n
		r.claim.Shrink(n)
	}
}

func (r *reserved) release() {
	if r.claim != nil {
		r.count()
		r.claim.Release(r.cost)
		*r = reserved{}
	}
}

// count adds up what the memory has cost others.
func (r *reserved) count() {
	now := time.Now()
	r.cost += float64(r.n) / (1 << 20) * now.Sub(r.since).Seconds()
	r.since = now
}

// takeBody waits until there is memory for a page of n bytes, and extra bytes besides. The origin
// is not the cause, so this time counts against no limit.
func (m *Memory) takeBody(n, extra int64) error {
	if m.body.claim != nil {
		return nil
	}
	start := time.Now()
	if err := m.body.take(m.h.ctx, m.h.c.memory.bodies, memoryFactor*n+extra, m.h.Parties()); err != nil {
		return err
	}
	m.h.PausedSince(start)
	return nil
}

// fitBody returns the memory that a page does not need after it was read.
func (m *Memory) fitBody() { m.body.shrink(memoryFactor * int64(cap(m.h.Buf))) }

// Gather waits until n bytes may be gathered from the last answer, beside its body. It is called
// when the request has ended, and before they are gathered. The session reserves memory for that
// once: later calls do nothing until Gathered or the next request returns the memory.
func (m *Memory) Gather(n int64) error {
	return m.gathered.take(m.h.ctx, m.h.c.memory.gathered, n, m.h.Parties())
}

// TryGather is Gather for those who do not wait. It reports whether the memory is reserved.
func (m *Memory) TryGather(n int64) bool {
	if m.gathered.claim != nil {
		return true
	}
	budget := m.h.c.memory
	n = min(n, budget.size/gatherPart)
	claim, ok := budget.gathered.Try(n, m.h.Parties()...)
	if ok {
		m.gathered = reserved{claim: claim, n: n, since: time.Now()}
	}
	return ok
}

// Gathered returns all but n bytes of what Gather reserved: all of it if n is 0.
func (m *Memory) Gathered(n int64) {
	if n <= 0 {
		m.gathered.release()
	} else {
		m.gathered.shrink(n)
	}
}

// Done returns the memory of the last page before the next request, and its body is not valid any
// more. Whoever goes on with a copy of the body, and has others send requests, must not have memory
// that they may wait for.
func (m *Memory) Done() { m.release() }

// release returns the memory of the last page.
func (m *Memory) release() {
	m.gathered.release()
	if m.body.claim != nil {
		m.body.release()
		m.h.Buf = nil
	}
}

// MemoryUnused reports whether no page has reserved memory.
func (c *Client) MemoryUnused() bool { return c.memory.bodies.Idle() && c.memory.gathered.Idle() }

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
	if heavy(u.encoding) && u.h.Memory.body.claim == nil {
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
			return u.h.Memory.takeBody(u.limit, decoderMemory)
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
		return nil, u.h.Memory.takeBody(n, 0)
	}
	u.close()
	if err := u.h.Memory.takeBody(n, decoderMemory); err != nil {
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
