package agenthost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/curtsy/curtsy/internal/agenthost/sandbox"
	"github.com/curtsy/curtsy/internal/mobile"
)

// maxLogged is how many octets a robot may log.
const maxLogged = 256 << 10

// run is a robot that runs or has run. Its sandbox calls it from one goroutine; what others read is
// atomic, or does not change after done is closed. The summary does not change after the end of the
// results.
type run struct {
	record
	input   []byte
	module  *os.File
	docs    *documents
	results *results
	cancel  context.CancelCauseFunc // nil: it ended in another process
	done    chan struct{}

	documents, records, read atomic.Int64
	fetched                  atomic.Int64 // octets of results that were sent
	logged                   int
}

// state is what is reported of the run now.
func (r *run) state() mobile.Summary {
	if _, ended, _ := r.results.state(); ended {
		return r.Summary // which does not change any more
	}
	return r.summary("running", "")
}

func (r *run) summary(outcome, reason string) mobile.Summary {
	return mobile.Summary{
		Outcome: outcome, Reason: reason, Documents: r.documents.Load(), Records: r.records.Load(), Read: r.read.Load(),
		Sent: r.results.length(), Seconds: time.Since(r.Started).Seconds(),
	}
}

// List lists documents.
func (r *run) List(ctx context.Context, after string, most int) ([]byte, error) {
	return r.docs.List(ctx, after, most)
}

// Open opens a document.
func (r *run) Open(ctx context.Context, path string) ([]byte, error) {
	head, err := r.docs.Open(ctx, path)
	if err == nil {
		r.documents.Add(1)
	}
	return head, err
}

// Read reads on in a document. Reading more than the run may ends it.
func (r *run) Read(ctx context.Context, p []byte) (int, error) {
	left := r.Reserved.Read - r.read.Load()
	if left <= 0 {
		return 0, &sandbox.Ended{Outcome: mobile.ReadLimit, Reason: fmt.Sprintf("the robot read %d octets, which is what a run may read", r.Reserved.Read)}
	}
	n, err := r.docs.Read(ctx, p[:min(int64(len(p)), left)])
	r.read.Add(int64(n))
	return n, err
}

// Emit adds to the results. More than the run may send ends it.
func (r *run) Emit(part []byte, last bool) error {
	if err := r.results.part(part, last); err != nil {
		return r.full(err)
	}
	if last {
		r.records.Add(1)
	}
	return nil
}

// Log adds a line to the results. A robot that logs too much may go on, but logs no more.
func (r *run) Log(line []byte) error {
	if r.logged += len(line) + 1; r.logged > maxLogged {
		return mobile.AtLimit
	}
	return r.full(r.results.log(line))
}

func (r *run) full(err error) error {
	if errors.Is(err, errFull) {
		return &sandbox.Ended{Outcome: mobile.SendLimit, Reason: fmt.Sprintf("the results reached %d octets, which is what a run may send", r.Reserved.Sent)}
	}
	return err
}

// execute runs the robot and records its end. It is called once.
func (h *Host) execute(ctx context.Context, r *run) {
	report, failure := sandbox.Run(ctx, sandbox.Options{Memory: h.p.Memory, CPU: r.Reserved.CPU, Wall: h.p.Wall}, r.input, r.module, r)
	if report.Missing != "" {
		h.log.Warn("the process of a robot could not give up everything", "kept", report.Missing)
	}
	r.input = nil
	r.docs.close()
	failure = errors.Join(failure, r.module.Close())
	if err := r.results.finish(); errors.Is(err, errFull) {
		var ended *sandbox.Ended
		if report.Outcome == mobile.Done && errors.As(r.full(err), &ended) {
			report.Outcome, report.Reason = ended.Outcome, ended.Reason
		}
	} else {
		failure = errors.Join(failure, err)
	}
	summary := r.summary(report.Outcome, report.Reason)
	summary.CPU = report.CPU.Seconds()
	// The end of the file first: if this process is killed in between, the next one finds it there.
	r.Summary = summary
	failure = errors.Join(failure, r.results.end(summary))
	r.Ended = time.Now()
	failure = errors.Join(failure, h.store.settle(&r.record), logRun(h.p.Dir, &r.record))
	if failure != nil {
		h.log.Error("a run was not recorded completely", "robot", r.Robot, "error", failure)
	}
	h.metrics.ended(summary)
	h.log.Info("a robot has ended", "robot", r.Robot, "subtree", r.Subtree, "outcome", summary.Outcome, "reason", summary.Reason,
		"documents", summary.Documents, "read", summary.Read, "sent", summary.Sent, "cpu", summary.CPU)
	close(r.done)
}

// resume loads the runs whose results are kept. Runs that had not ended are ended.
func (h *Host) resume() error {
	records, err := h.store.runs()
	if err != nil {
		return err
	}
	for _, rec := range records {
		r := &run{record: *rec, done: make(chan struct{})}
		size := int64(0)
		if rec.Ended.IsZero() {
			s := mobile.Summary{Outcome: mobile.Interrupted, Reason: "the host was killed while the robot ran", Seconds: time.Since(rec.Started).Seconds()}
			if r.Summary, size, err = repair(h.resultsName(rec.ID), s); err != nil {
				return fmt.Errorf("results of an interrupted run: %w", err)
			}
			r.Ended = time.Now()
			if err := errors.Join(h.store.endUnseen(&r.record), logRun(h.p.Dir, &r.record)); err != nil {
				return err
			}
			h.log.Warn("a robot was interrupted", "robot", r.Robot, "subtree", r.Subtree)
		} else if info, err := os.Stat(h.resultsName(rec.ID)); errors.Is(err, os.ErrNotExist) {
			if err := h.store.forget(rec.ID); err != nil {
				return err
			}
			continue
		} else if err != nil {
			return err
		} else {
			size = info.Size()
		}
		r.results = stored(size)
		close(r.done)
		h.runs[rec.ID] = r
	}
	return h.deleteUnknown()
}

// deleteUnknown deletes files of results that no record names.
func (h *Host) deleteUnknown() error {
	names, err := filepath.Glob(h.resultsName("*"))
	for _, name := range names {
		if id := filepath.Base(name); h.runs[id[:len(id)-len(resultsEnd)]] == nil {
			err = errors.Join(err, os.Remove(name))
		}
	}
	return err
}

// send streams the results of the run to a client from an octet on.
func (h *Host) send(ctx context.Context, w io.Writer, r *run, from int64) error {
	return r.results.send(ctx, h.resultsName(r.ID), from, w, func(n int64) error {
		r.fetched.Add(n)
		if f, ok := w.(interface{ Flush() error }); ok {
			return f.Flush()
		}
		return nil
	})
}
