package robot

import (
	"bytes"
	"errors"
	"strconv"
	"time"

	"github.com/curtsy/curtsy/internal/mobile/reading"
	"github.com/curtsy/curtsy/pkg/robotstag"
)

// Run does what the input of the robot says. now decides whether a document is still available. If
// an error is returned, the robot has not seen all documents, and its last record is missing.
func Run(h Host, now time.Time) error {
	in, err := reading.ParseInput(readInput(h))
	if err != nil {
		return err
	}
	r := &run{Host: h, in: in, now: now}
	if err := r.list(); err != nil {
		return err
	}
	if err := r.flush(); err != nil {
		return err
	}
	return r.emit(r.counts.Append(nil))
}

// run is a run of the robot. Its buffers are used for document after document: memory that a module
// has taken, it cannot give back.
type run struct {
	Host
	in     reading.Input
	now    time.Time
	counts reading.Counts

	unchanged []byte // the list that has not been sent yet
	raw       []byte // the head as the host gives it
	head      []byte // its lines
	record    []byte // space for what may stand before the body, and the body
	out       []byte // a record that is made of the body
	tags      robotstag.Set
}

// list reads all documents.
func (r *run) list() error {
	list := make([]byte, 64<<10)
	var after []byte
	for {
		n := r.List(after, list)
		if n < 0 {
			return errors.New("the documents after " + string(after) + " cannot be listed: code " + strconv.Itoa(n))
		}
		if n == 0 {
			return nil
		}
		for paths := list[:n]; len(paths) > 0; {
			path, rest, _ := bytes.Cut(paths, []byte{0})
			r.counts.Listed++
			if err := r.visit(path); err != nil {
				return err
			}
			after, paths = append(after[:0], path...), rest
		}
	}
}

// visit reads one document, and sends what is wanted of it.
func (r *run) visit(path []byte) error {
	full := r.in.MaxPages > 0 && r.counts.Sent >= r.in.MaxPages
	if full && r.in.Known.Len() == 0 || len(path) > reading.MaxPath || !r.open(path) {
		r.counts.LeftOut++
		return nil
	}
	body, truncated, ok := r.read()
	if !ok {
		r.counts.LeftOut++
		return nil
	}
	if truncated {
		r.head = append(r.head, reading.TruncatedLine+": yes\n"...)
	}
	switch p := string(path); {
	case r.in.Known.Len() > 0 && r.in.Known.Has(reading.KnownHash(p, reading.Digest(body))):
		r.counts.Unchanged++
		return r.isKnown(p)
	case full:
		r.counts.LeftOut++
		return nil
	case r.in.Want == reading.Facts:
		r.counts.Sent++
		return r.emit(r.facts(p, body, truncated))
	default:
		r.counts.Sent++
		return r.page(p, body)
	}
}

// open opens a document and reads its head. It reports whether the document is wanted.
func (r *run) open(path []byte) bool {
	if r.Open(path) < 0 {
		return false
	}
	if r.raw == nil {
		r.raw = make([]byte, reading.MaxHead)
	}
	n := r.Head(r.raw)
	if n < 0 {
		return false
	}
	r.head = reading.AppendLines(r.head[:0], r.raw[:n])
	h := reading.Head(r.head)
	// Another status is no document: a redirect or an error of the site's own server, which the
	// crawl asks for itself.
	return h.Status() == 200 && r.in.Accepts(h.Get("Content-Type"))
}

// space is for what stands before the body in its record.
const space = 1 + reading.MaxPath + 1 + reading.MaxHead + len(reading.TruncatedLine+": yes\n") + 1

// read reads the open document into r.record, behind its space.
func (r *run) read() (body []byte, truncated, ok bool) {
	size, most := space, space+int(r.in.MaxSize)
	length, err := strconv.Atoi(reading.Head(r.head).Get("Content-Length"))
	if err != nil || length < 0 {
		length = 256 << 10
	}
	// One octet more, so that the end is noticed without growing.
	r.grow(size, min(space+length, most)+1)
	for {
		if size == len(r.record) {
			r.grow(size, min(2*size, most+1))
		}
		n := r.Read(r.record[size:min(len(r.record), size+maxRead)])
		switch {
		case n < 0:
			return nil, false, false
		case n == 0:
			return r.record[space:size], false, true
		}
		if size += n; size > most {
			return r.record[space:most], true, true
		}
	}
}

// grow makes the record at least so long. Its first octets stay.
func (r *run) grow(keep, size int) {
	if size <= len(r.record) {
		return
	}
	if size < 1<<20 {
		size = 1 << 20 // most documents need no more, and none of those grows it again
	}
	longer := make([]byte, size)
	copy(longer, r.record[:min(keep, len(r.record))])
	r.record = longer
}

// isKnown sends that a document is unchanged.
func (r *run) isKnown(path string) error {
	if !reading.Head(r.head).Plain() {
		return r.emit(reading.AppendHead(nil, reading.Unchanged, path, r.head))
	}
	var fits bool
	if r.unchanged, fits = reading.AppendUnchanged(r.unchanged, path); fits {
		return nil
	}
	if err := r.flush(); err != nil {
		return err
	}
	r.unchanged, _ = reading.AppendUnchanged(r.unchanged, path)
	return nil
}

// flush sends the list of unchanged documents.
func (r *run) flush() error {
	if len(r.unchanged) == 0 {
		return nil
	}
	err := r.emit(r.unchanged)
	r.unchanged = r.unchanged[:0]
	return err
}

// page sends a document, or its skeleton. The body is in r.record.
func (r *run) page(path string, body []byte) error {
	if tags, ok := r.skeleton(body); ok {
		r.out = append(reading.AppendHead(r.out[:0], reading.Skeleton, path, r.head), tags...)
		return r.emit(r.out)
	}
	// What stands before the body is written directly before it, so that the body is not copied.
	before := reading.AppendHead(r.out[:0], reading.Document, path, r.head)
	r.out = before
	from := space - len(before)
	copy(r.record[from:], before)
	return r.emit(r.record[from : space+len(body)])
}

func (r *run) emit(record []byte) error {
	if n := r.Emit(record); n < 0 {
		return errors.New("a record cannot be sent: code " + strconv.Itoa(n))
	}
	return nil
}
