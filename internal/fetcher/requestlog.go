package fetcher

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/disk"
	"github.com/curtsy/curtsy/pkg/canon"
)

// requestLog records the requests that visits have not reported yet, so that they are known after
// the process ended: the next process reports them. A request is recorded before it is sent, by one
// small write without fsync. The operating system keeps it, whatever happens to the process. If the
// machine fails, it may be lost.
//
// The file consists of slots, one for each running visit. A slot begins with a head that identifies
// the visit, and requests follow, first those that are not reported yet. Records of an earlier
// visit, or of requests that were reported meanwhile, are recognised by visit and number.
type requestLog struct {
	f    *os.File
	log  *slog.Logger
	warn sync.Once

	mu   sync.Mutex // guards the fields below
	free []int64    // slots
	end  int64
}

const (
	slotBytes   = 256 << 10 // only what was written uses space on the disk
	slotHead    = 320
	slotMagic   = "curtsyj1"
	recordBytes = 96 // before the URL
	maxSlots    = 1 << 14
	longestName = 255 // of a host; and of a source of a delay: 15
)

// openRequestLog opens the log at path, and reads what an earlier process did not report.
func openRequestLog(path string, log *slog.Logger) (*requestLog, []leftOver, error) {
	f, err := disk.OpenRegular(path, os.O_CREATE|os.O_RDWR)
	if err != nil {
		return nil, nil, err
	}
	j := &requestLog{f: f, log: log}
	var left []leftOver
	buf := make([]byte, slotBytes)
	for ; j.end < maxSlots*slotBytes; j.end += slotBytes {
		n, err := f.ReadAt(buf, j.end)
		if n == 0 {
			break
		}
		clear(buf[n:])
		if l, ok := readSlot(buf); ok {
			l.at = j.end
			left = append(left, l)
		} else {
			j.free = append(j.free, j.end)
		}
		if err != nil && err != io.EOF {
			f.Close()
			return nil, nil, fmt.Errorf("read %s: %w", path, err)
		}
	}
	return j, left, nil
}

// logbook is what a visit writes into its slot. It belongs to the visit's goroutine.
type logbook struct {
	j        *requestLog
	at       int64 // of the slot; -1: it has none yet
	head     []byte
	visit    crawl.VisitID
	began    time.Time
	reported int // requests that were reported
	n        int // that were recorded
	pos      int // where the next one is written
	last     int // where the last one is
	full     bool
	buf      []byte
	ended    []byte // the record of the last request, which has ended, if it is not written yet
}

// timeToWrite is the least delay at which the end of a request is written at once. At shorter
// delays it is written with the next request, which saves half of the writes. If the process is
// killed in between, it is unknown when the request ended.
const timeToWrite = 20 * time.Millisecond

// begin makes the logbook of a visit that began at the time clock of its traces. Nothing is written
// before the first request.
func (j *requestLog) begin(job *crawl.Visit, began time.Time, clock int64) *logbook {
	head := make([]byte, slotHead)
	copy(head, slotMagic)
	binary.BigEndian.PutUint64(head[8:], job.ID.Epoch)
	binary.BigEndian.PutUint64(head[16:], job.ID.N)
	binary.BigEndian.PutUint64(head[24:], uint64(clock))
	binary.BigEndian.PutUint32(head[32:], uint32(job.Shard))
	head[40] = byte(copy(head[41:41+longestName], job.Host))
	return &logbook{j: j, at: -1, head: head, visit: job.ID, began: began, pos: slotHead}
}

// write writes to the slot. The crawl continues if it cannot.
func (b *logbook) write(p []byte, pos int) {
	if _, err := b.j.f.WriteAt(p, b.at+int64(pos)); err != nil {
		b.full = true
		b.j.warn.Do(func() {
			b.j.log.Warn("the request log cannot be written: requests that are running when the process is killed will be missing in the timeline", "err", err)
		})
	}
}

// putHead writes into a head how many requests were reported.
func (b *logbook) putHead() []byte {
	binary.BigEndian.PutUint32(b.head[36:], uint32(b.reported))
	binary.BigEndian.PutUint32(b.head[slotHead-4:], crc32.ChecksumIEEE(b.head[:slotHead-4]))
	return b.head
}

// Began records that a request is about to be sent.
func (b *logbook) Began(x *crawl.Exchange) {
	size := recordBytes + len(x.URL)
	before := b.last
	b.last = b.pos
	b.n++
	if b.full || b.pos+size > slotBytes {
		b.full = true // until its requests are reported
		return
	}
	if b.at < 0 {
		b.at = b.j.take()
		b.buf = append(b.buf[:0], b.putHead()...)
		b.buf = b.record(b.buf, x, false)
		b.write(b.buf, 0)
	} else if len(b.ended) > 0 {
		b.buf = b.record(append(b.buf[:0], b.ended...), x, false)
		b.write(b.buf, before)
	} else {
		b.buf = b.record(b.buf[:0], x, false)
		b.write(b.buf, b.pos)
	}
	b.ended = b.ended[:0]
	b.pos += size
}

// Ended records that a request has ended.
func (b *logbook) Ended(x *crawl.Exchange) {
	if b.full {
		return
	}
	b.ended = b.record(b.ended[:0], x, true)
	if x.Bound >= timeToWrite {
		b.write(b.ended, b.last)
		b.ended = b.ended[:0]
	}
}

// Undone removes the last request, because the host did not receive it.
func (b *logbook) Undone() {
	b.n--
	b.pos, b.ended = b.last, b.ended[:0]
}

// Reported records that all requests were reported. last says that the end of the visit was, too.
func (b *logbook) Reported(last bool) {
	b.reported, b.pos, b.full, b.ended = b.n, slotHead, false, b.ended[:0]
	switch {
	case b.at < 0:
	case last:
		b.write(make([]byte, len(slotMagic)), 0)
		b.j.give(b.at)
		b.at = -1
	default:
		b.write(b.putHead(), 0)
	}
}

// record appends the record of the last request.
func (b *logbook) record(p []byte, x *crawl.Exchange, ended bool) []byte {
	from := len(p)
	p = append(p, make([]byte, recordBytes)...)
	r := p[from:]
	binary.BigEndian.PutUint64(r[4:], b.visit.Epoch)
	binary.BigEndian.PutUint64(r[12:], b.visit.N)
	binary.BigEndian.PutUint32(r[20:], uint32(b.n-1))
	binary.BigEndian.PutUint64(r[24:], uint64(x.Start.Sub(b.began)))
	if ended {
		binary.BigEndian.PutUint64(r[32:], uint64(x.End.Sub(b.began)))
		r[40] = 1
	}
	if x.Unsent {
		r[41] = 1
	}
	r[42] = byte(x.Kind)
	r[43] = byte(copy(r[44:60], x.BoundSource))
	binary.BigEndian.PutUint64(r[60:], uint64(x.Bound))
	binary.BigEndian.PutUint32(r[68:], uint32(x.Status))
	binary.BigEndian.PutUint64(r[72:], uint64(x.Bytes))
	binary.BigEndian.PutUint32(r[80:], uint32(len(x.URL)))
	p = append(p, x.URL...)
	binary.BigEndian.PutUint32(p[from:], crc32.ChecksumIEEE(p[from+4:]))
	return p
}

// take returns a free slot.
func (j *requestLog) take() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	if n := len(j.free); n > 0 {
		at := j.free[n-1]
		j.free = j.free[:n-1]
		return at
	}
	j.end += slotBytes
	return j.end - slotBytes
}

func (j *requestLog) give(at int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.free = append(j.free, at)
}

// leftOver is what an earlier process did not report.
type leftOver struct {
	at    int64 // its slot
	shard int
	visit crawl.VisitID
	trace crawl.Trace
}

// readSlot reads a slot. ok is false if it is free.
func readSlot(b []byte) (l leftOver, ok bool) {
	head := b[:slotHead]
	if string(head[:len(slotMagic)]) != slotMagic || crc32.ChecksumIEEE(head[:slotHead-4]) != binary.BigEndian.Uint32(head[slotHead-4:]) {
		return l, false
	}
	l.visit = crawl.VisitID{Epoch: binary.BigEndian.Uint64(head[8:]), N: binary.BigEndian.Uint64(head[16:])}
	l.shard = int(binary.BigEndian.Uint32(head[32:]))
	l.trace = crawl.Trace{Host: canon.Host(bytes.Clone(head[41 : 41+int(head[40])])), Begin: int64(binary.BigEndian.Uint64(head[24:])),
		From: int(binary.BigEndian.Uint32(head[36:])), Last: true}
	if l.trace.Begin < 0 {
		return l, false
	}
	begin := time.UnixMicro(l.trace.Begin)
	var all []crawl.Exchange
	for r := b[slotHead:]; len(r) >= recordBytes && len(all) < crawl.MaxTrace; {
		size := recordBytes + int(binary.BigEndian.Uint32(r[80:]))
		if size > len(r) || crc32.ChecksumIEEE(r[4:size]) != binary.BigEndian.Uint32(r) ||
			binary.BigEndian.Uint64(r[4:]) != l.visit.Epoch || binary.BigEndian.Uint64(r[12:]) != l.visit.N ||
			int(binary.BigEndian.Uint32(r[20:])) != l.trace.From+len(all) {
			break
		}
		x := crawl.Exchange{URL: string(r[recordBytes:size]), Kind: crawl.RequestKind(r[42]), Unsent: r[41] != 0, Cut: r[40] == 0,
			Start:       begin.Add(time.Duration(binary.BigEndian.Uint64(r[24:]))),
			BoundSource: string(r[44 : 44+min(r[43], 16)]), Bound: time.Duration(binary.BigEndian.Uint64(r[60:])),
			Status: int(binary.BigEndian.Uint32(r[68:])), Bytes: int64(binary.BigEndian.Uint64(r[72:]))}
		if !x.Cut {
			x.End = begin.Add(time.Duration(binary.BigEndian.Uint64(r[32:])))
		}
		all = append(all, x)
		r = r[size:]
	}
	l.trace.Trace(all, begin)
	return l, true
}

// reportLeft reports what an earlier process did not report, until ctx ends. What it cannot report
// stays in its slot.
func (f *Fetcher) reportLeft(ctx context.Context) {
	for _, l := range f.left {
		if l.shard < f.shards {
			ev := crawl.Event{Visit: l.visit, Fetcher: f.opt.Name, Traces: []crawl.Trace{l.trace}}
			if err := f.appendEvent(ctx, l.shard, crawl.AppendEvent(nil, &ev)); err != nil {
				if ctx.Err() == nil {
					f.log.Warn("requests of the previous process cannot be reported", "visit", l.visit, "err", err)
				}
				continue
			}
		}
		if _, err := f.requestLog.f.WriteAt(make([]byte, len(slotMagic)), l.at); err == nil {
			f.requestLog.give(l.at)
		}
	}
	f.left = nil
}
