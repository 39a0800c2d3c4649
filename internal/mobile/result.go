package mobile

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Limits of a stream of results.
const (
	MaxPart   = 64 << 10 // octets of one frame
	MaxRecord = 32 << 20 // octets of a record, in all its frames
	MaxLog    = 4 << 10  // octets of a line of the log
)

// Kinds of frames. A frame is its kind, its length (four octets, big-endian) and its octets. A
// record is any number of parts and then one last frame; a run that ends within a record leaves
// parts without one.
const (
	kindPart   = 'P'
	kindRecord = 'R'
	kindLog    = 'L'
	kindEnd    = 'E'
)

// ErrResult means that a stream of results cannot be parsed. It is wrapped with the reason.
var ErrResult = errors.New("not a stream of results")

// Outcomes of a run.
const (
	Done        = "done"        // the robot returned, or exited with 0
	Failed      = "failed"      // it exited with another code, trapped, or could not be started
	Crashed     = "crashed"     // its process ended, probably because memory ran out
	Killed      = "killed"      // its process was killed by the system or a user
	CPULimit    = "cpu"         // it used its processor time
	Deadline    = "deadline"    // it did not end in time
	ReadLimit   = "read"        // it read as much as it may
	SendLimit   = "sent"        // it sent as much as it may
	Retracted   = "retracted"   // RETRACT ended it
	Interrupted = "interrupted" // the host was stopped
)

// Summary is what a host reports about a run, as JSON: in the last frame of the results, and in the
// answers to MESSAGE and RETRACT.
type Summary struct {
	Outcome   string  `json:"outcome"`          // "running", or one of the outcomes
	Reason    string  `json:"reason,omitempty"` // for people
	Documents int64   `json:"documents"`        // opened
	Records   int64   `json:"records"`          // emitted completely
	Read      int64   `json:"read"`             // octets of documents
	Sent      int64   `json:"sent"`             // octets of results, compressed
	CPU       float64 `json:"cpu"`              // seconds of processor time, when the run has ended
	Seconds   float64 `json:"seconds"`          // since it was started
}

// ResultWriter writes a stream of results. It must not be used concurrently.
type ResultWriter struct{ w io.Writer }

// NewResultWriter returns a writer of frames to w.
func NewResultWriter(w io.Writer) *ResultWriter { return &ResultWriter{w} }

// Part writes at most MaxPart octets of a record, and with last ends it.
func (w *ResultWriter) Part(b []byte, last bool) error {
	if last {
		return w.frame(kindRecord, b)
	}
	return w.frame(kindPart, b)
}

// Log writes a line of the log, cut to MaxLog octets.
func (w *ResultWriter) Log(line []byte) error { return w.frame(kindLog, line[:min(len(line), MaxLog)]) }

// End writes the last frame.
func (w *ResultWriter) End(s Summary) error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return w.frame(kindEnd, b)
}

func (w *ResultWriter) frame(kind byte, b []byte) error {
	if len(b) > MaxPart {
		return fmt.Errorf("%w: a frame of more than %d octets", ErrResult, MaxPart)
	}
	head := [5]byte{kind}
	binary.BigEndian.PutUint32(head[1:], uint32(len(b)))
	if _, err := w.w.Write(head[:]); err != nil {
		return err
	}
	_, err := w.w.Write(b)
	return err
}

// Result is one thing that a robot or its host reported: a record, a line of the log, or the end.
type Result struct {
	Record []byte   // nil if it is something else
	Log    []byte   // likewise
	End    *Summary // likewise
}

// ResultReader reads a stream of results. It must not be used concurrently.
type ResultReader struct {
	r     *bufio.Reader
	taken int64
	ended bool
}

// NewResultReader returns a reader of what r has, decompressed.
func NewResultReader(r io.Reader) *ResultReader {
	return &ResultReader{r: bufio.NewReaderSize(r, MaxPart)}
}

// Offset returns how many octets the results took that were returned so far, with what was dropped
// between them. The next one begins there.
func (r *ResultReader) Offset() int64 { return r.taken }

// Next returns the next result, and io.EOF after the end. A stream that stops before its end is an
// io.ErrUnexpectedEOF, and one that goes on behind it an ErrResult. The parts of a record that a
// robot did not complete are dropped.
func (r *ResultReader) Next() (Result, error) {
	var record []byte
	for {
		kind, b, err := r.frame(record)
		if err != nil {
			return Result{}, err
		}
		switch kind {
		case kindPart:
			record = b
		case kindRecord:
			return Result{Record: b}, nil
		case kindLog:
			// A line may come between the parts of a record only if the robot left the record.
			return Result{Log: b}, nil
		case kindEnd:
			s := new(Summary)
			if err := json.Unmarshal(b, s); err != nil {
				return Result{}, fmt.Errorf("%w: its end is not JSON", ErrResult)
			}
			r.ended = true
			return Result{End: s}, nil
		default:
			return Result{}, fmt.Errorf("%w: a frame of an unknown kind", ErrResult)
		}
	}
}

// frame reads a frame. A part of a record is appended to the parts before it.
func (r *ResultReader) frame(record []byte) (kind byte, b []byte, err error) {
	var head [5]byte
	n, err := io.ReadFull(r.r, head[:])
	r.taken += int64(n)
	switch {
	case r.ended && n == 0 && err == io.EOF:
		return 0, nil, io.EOF
	case r.ended && n > 0:
		return 0, nil, fmt.Errorf("%w: octets behind its end", ErrResult)
	case err == io.EOF:
		return 0, nil, io.ErrUnexpectedEOF
	case err != nil:
		return 0, nil, err
	}
	kind, length := head[0], binary.BigEndian.Uint32(head[1:])
	if kind != kindPart && kind != kindRecord {
		record = nil
	}
	if length > MaxPart || len(record)+int(length) > MaxRecord {
		return 0, nil, fmt.Errorf("%w: a frame of %d octets, or a record of more than %d", ErrResult, length, MaxRecord)
	}
	from := len(record)
	b = append(record, make([]byte, length)...)
	if b == nil {
		b = []byte{} // an empty record is a record
	}
	n, err = io.ReadFull(r.r, b[from:])
	r.taken += int64(n)
	if err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	return kind, b, nil
}
