package intake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/backoff"
)

const (
	// capacity is how many bytes of messages of a shard may wait. Append waits for space beyond it.
	capacity = 32 << 20
	// partBytes is fileBytes of Open, unless that is set.
	partBytes = 8 << 20
	// syncAfter is how long a message may wait before it is synced.
	syncAfter = time.Second
)

// MaxMessage is the size of the largest message, in bytes.
const MaxMessage = 8 << 20

// ErrClosed is returned by Append after Close.
var ErrClosed = errors.New("the intake is closed")

// Message is a message that waits to be stored. Data belongs to the caller of Take.
type Message struct {
	Data []byte
	N    uint64 // its number since the intake was opened
	part *part
}

// Intake is the intake of one shard. Append may be called from many goroutines, Take from one, and
// Settle from any.
type Intake struct {
	dir   string
	shard int
	log   *slog.Logger
	most  int64 // bytes beyond which the next message begins a new file

	mu      sync.Mutex // guards the fields below
	parts   []*part    // oldest first; messages are appended to the last one
	spare   *part      // a file that is used again; nil: there is none
	scratch []byte     // a message with its header
	waiting int64      // bytes of messages that are not settled
	pending int64      // how many they are
	taken   uint64
	closed  bool
	arrived chan struct{} // capacity 1: a message may be taken
	freed   chan struct{} // closed when a message is settled; nil: nobody waits for that
	stuck   bool          // the disk refused the last message
}

// Open opens the intake of a shard in a directory. Messages that an earlier process left are taken
// first. Messages that are appended begin a new file. A file that has more than fileBytes is
// followed by the next one; 0 means 8 MiB, and more is not possible.
func Open(dir string, shard int, fileBytes int64, log *slog.Logger) (*Intake, error) {
	in := &Intake{dir: dir, shard: shard, log: log, most: min(cmp.Or(fileBytes, partBytes), partBytes), arrived: make(chan struct{}, 1)}
	numbers, err := find(dir, shard)
	for _, n := range numbers {
		var p *part
		if p, err = openPart(partPath(dir, shard, n), n); err != nil {
			break
		}
		in.parts = append(in.parts, p)
		for _, size := range p.sizes {
			in.waiting += int64(size)
		}
		in.pending += int64(p.unsettled)
	}
	if err == nil {
		err = in.begin()
	}
	if rerr := os.Remove(sparePath(dir, shard)); err == nil && !errors.Is(rerr, os.ErrNotExist) {
		err = rerr
	}
	if err != nil {
		in.closeFiles()
		return nil, fmt.Errorf("open the intake of shard %d: %w", shard, err)
	}
	in.removeSettled()
	in.wake()
	return in, nil
}

// begin begins a new file.
func (in *Intake) begin() error {
	n := uint64(1)
	if len(in.parts) > 0 {
		n = in.parts[len(in.parts)-1].number + 1
	}
	p, err := newPart(partPath(in.dir, in.shard, n), n, in.spare)
	in.spare = nil
	if err == nil {
		in.parts = append(in.parts, p)
	}
	return err
}

func (in *Intake) wake() {
	select {
	case in.arrived <- struct{}{}:
	default:
	}
}

// Append appends a message and returns once a kill of the process does not lose it. It waits while
// too much waits to be stored, and while the disk has no space, until ctx ends. After an error the
// message may have been appended. The caller may reuse msg after Append has returned.
func (in *Intake) Append(ctx context.Context, msg []byte) error {
	if len(msg) == 0 || len(msg) > MaxMessage {
		return fmt.Errorf("a message of %d bytes: it must have 1 to %d", len(msg), MaxMessage)
	}
	again := backoff.Delay{Least: 100 * time.Millisecond, Most: 5 * time.Second}
	for {
		freed, err := in.tryAppend(msg)
		switch {
		case errors.Is(err, ErrClosed):
			return err
		case err != nil:
			if again.Sleep(ctx) != nil {
				return err
			}
		case freed == nil:
			return nil
		default:
			select {
			case <-freed:
			case <-ctx.Done():
				return fmt.Errorf("%d bytes of pages of shard %d wait to be stored: %w", capacity, in.shard, ctx.Err())
			}
		}
	}
}

// tryAppend appends a message. If there is no capacity, it returns a channel that is closed when
// there may be some.
func (in *Intake) tryAppend(msg []byte) (freed <-chan struct{}, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.closed:
		return nil, ErrClosed
	case in.waiting > 0 && in.waiting+int64(len(msg)) > capacity:
		if in.freed == nil {
			in.freed = make(chan struct{})
		}
		return in.freed, nil
	}
	p := in.parts[len(in.parts)-1]
	if p.size > in.most {
		if err = in.begin(); err == nil {
			p = in.parts[len(in.parts)-1]
			in.removeSettled()
		}
	}
	if err == nil {
		in.scratch = appendFrame(in.scratch[:0], p.number, msg)
		err = p.append(in.scratch, len(msg))
	}
	if cap(in.scratch) > keepScratch {
		in.scratch = nil
	}
	if err != nil {
		if !in.stuck {
			in.stuck = true
			in.log.Error("pages cannot be handed over; they wait and are tried again until it works", "file", p.path, "err", err)
		}
		return nil, fmt.Errorf("hand over pages of shard %d: %w", in.shard, err)
	}
	in.stuck = false
	in.waiting += int64(len(msg))
	in.pending++
	in.wake()
	return nil, nil
}

// keepScratch is the size of the largest buffer that is kept for the next message.
const keepScratch = 512 << 10

// Take waits until messages are there, and returns the first ones that were not taken yet, in
// order: at most n, and at most limit bytes, but always one. When ctx has ended, it does not wait:
// it returns what is there, and then the error of ctx. An error that is not that of ctx means that
// a file cannot be read.
func (in *Intake) Take(ctx context.Context, n, limit int) ([]Message, error) {
	for {
		batch, err := in.take(n, limit)
		if err != nil || len(batch) > 0 {
			return batch, err
		}
		select {
		case <-in.arrived:
		case <-ctx.Done():
			if batch, err := in.take(n, limit); err != nil || len(batch) > 0 {
				return batch, err
			}
			return nil, ctx.Err()
		}
	}
}

func (in *Intake) take(n, limit int) (batch []Message, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, p := range in.parts {
		if len(p.sizes) == 0 {
			continue
		}
		all, err := p.take(n, limit)
		if err != nil {
			return nil, fmt.Errorf("read pages of shard %d: %w", in.shard, err)
		}
		for _, data := range all {
			in.taken++
			batch = append(batch, Message{Data: data, N: in.taken, part: p})
		}
		return batch, nil
	}
	return nil, nil
}

// Settle records that a message of Take is stored, or dropped for good. Call it once for each.
func (in *Intake) Settle(m Message) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.waiting -= int64(len(m.Data))
	in.pending--
	if m.part.unsettled--; m.part.unsettled == 0 {
		in.removeSettled()
	}
	if in.freed != nil {
		close(in.freed)
		in.freed = nil
	}
}

// removeSettled removes the files of which all messages are settled, except the last one. One of
// them is kept to be used again. A file that cannot be removed is read again at the next start,
// which changes nothing.
func (in *Intake) removeSettled() {
	kept := in.parts[:0]
	for i, p := range in.parts {
		if p.unsettled > 0 || i == len(in.parts)-1 {
			kept = append(kept, p)
			continue
		}
		var err error
		if in.spare == nil && p.size > in.most {
			if err = p.setAside(sparePath(in.dir, in.shard)); err == nil {
				in.spare = p
				continue
			}
		}
		if err = errors.Join(err, p.remove()); err != nil {
			in.log.Warn("a file whose pages are stored cannot be removed", "file", p.path, "err", err)
		}
	}
	clear(in.parts[len(kept):])
	in.parts = kept
}

// Pending returns how many messages are not settled.
func (in *Intake) Pending() int64 {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.pending
}

// Sync syncs messages that have waited for more than a second. Call it about once a second.
func (in *Intake) Sync(now time.Time) error {
	in.mu.Lock()
	var late []*part
	for _, p := range in.parts {
		if p.unsettled > 0 && p.synced < p.size && now.Sub(p.since) >= syncAfter {
			late = append(late, p)
		}
	}
	in.mu.Unlock()
	var all error
	for _, p := range late {
		all = errors.Join(all, in.sync(p))
	}
	return all
}

// sync syncs a file without keeping others from appending meanwhile.
func (in *Intake) sync(p *part) error {
	in.mu.Lock()
	size, began := p.size, time.Now()
	in.mu.Unlock()
	err := p.sync()
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case errors.Is(err, os.ErrClosed): // all of it was settled meanwhile
		return nil
	case err != nil:
		return err
	}
	if p.synced, p.since = size, (time.Time{}); p.size > size {
		p.since = began
	}
	return nil
}

// Close closes the files. If everything is settled, it removes them. Otherwise the messages are
// there when the intake is opened again. Append fails from now on.
func (in *Intake) Close() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		return nil
	}
	in.closed = true
	if in.pending > 0 {
		return in.closeFiles()
	}
	all := in.dropSpare()
	for _, p := range in.parts {
		all = errors.Join(all, p.remove())
	}
	in.parts = nil
	return all
}

func (in *Intake) dropSpare() error {
	if in.spare == nil {
		return nil
	}
	p := in.spare
	in.spare = nil
	return p.remove()
}

func (in *Intake) closeFiles() error {
	all := in.dropSpare()
	for _, p := range in.parts {
		all = errors.Join(all, p.f.Sync(), p.f.Close())
	}
	return all
}
