package sandbox

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/curtsy/curtsy/internal/confine"
	"github.com/curtsy/curtsy/internal/mobile"
)

// Host answers what a robot asks. It is called by one goroutine. An error that is or wraps a
// [mobile.Code] is the answer to the robot; any other error ends the run.
type Host interface {
	// List returns paths of documents in sorted order, beginning after this one ("": with the
	// first), each followed by NUL: at most most octets in total, and none after the last path.
	List(ctx context.Context, after string, most int) ([]byte, error)
	// Open opens a document instead of the one that was open, and returns the lines of its head.
	Open(ctx context.Context, path string) (head []byte, err error)
	// Read fills p with octets of the open document, and returns 0 at its end.
	Read(ctx context.Context, p []byte) (int, error)
	// Emit receives a part of a record, and with last its end.
	Emit(part []byte, last bool) error
	// Log receives a line.
	Log(line []byte) error
}

// Options limit a run.
type Options struct {
	Memory int64         // bytes of linear memory
	CPU    time.Duration // processor time, in whole seconds
	Wall   time.Duration // by the clock
}

// Report is how a run ended.
type Report struct {
	Outcome string        // one of the outcomes of package mobile
	Reason  string        // for people
	CPU     time.Duration // processor time that was used
	Missing string        // what the child could not give up, or nothing
}

// Ended is an error that ends a run with an outcome: as an error of a Host, or as the cause of the
// end of Run's context.
type Ended struct{ Outcome, Reason string }

// Error returns outcome and reason.
func (e *Ended) Error() string { return e.Outcome + ": " + e.Reason }

// Run runs a robot until it ends or is ended. An error means that this program failed, not the
// robot; the report is valid then too. The process has gone when Run returns.
func Run(ctx context.Context, o Options, input []byte, module io.Reader, h Host) (Report, error) {
	// The kernel ends the child with the thread that has started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer time.AfterFunc(o.Wall, func() {
		cancel(&Ended{mobile.Deadline, fmt.Sprintf("the run did not end within %s", o.Wall)})
	}).Stop()

	cmd := exec.CommandContext(ctx, confine.Self())
	cmd.Args = []string{os.Args[0]}
	cmd.Env = []string{childEnv + "=1", memoryEnv + "=" + strconv.FormatInt(o.Memory, 10), cpuEnv + "=" + strconv.Itoa(int((o.CPU+time.Second-1)/time.Second))}
	cmd.Dir = string(os.PathSeparator)
	in, err := cmd.StdinPipe()
	if err != nil {
		return Report{Outcome: mobile.Failed, Reason: notStarted}, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return Report{Outcome: mobile.Failed, Reason: notStarted}, err
	}
	if err := cmd.Start(); ctx.Err() != nil && err != nil {
		var report Report
		report.Outcome, report.Reason, err = (&session{}).outcome(ctx, o, nil, 0, nil)
		return report, err
	} else if err != nil {
		return Report{Outcome: mobile.Failed, Reason: notStarted}, err
	}
	s := &session{in: in, out: bufio.NewReaderSize(out, maxMessage), host: h, most: o.CPU, buf: make([]byte, maxMessage), answer: make([]byte, maxMessage)}
	failure := s.serve(ctx, input, module)
	if failure != nil {
		cancel(failure)
	}
	_ = in.Close()
	// A child that is not killed by the end of ctx has reported its end, or has died.
	_ = cmd.Wait()
	report := Report{CPU: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), Missing: s.missing}
	report.Outcome, report.Reason, err = s.outcome(ctx, o, failure, report.CPU, cmd.ProcessState)
	return report, err
}

const notStarted = "the host could not start a process for the robot"

// session is the conversation with one child.
type session struct {
	in   io.Writer
	out  *bufio.Reader
	host Host
	most time.Duration // for which the host works

	buf, answer []byte // for one question, for its answer

	missing string
	worked  time.Duration // for the robot, by the clock
	ended   bool          // the child has reported the end of the robot
	failed  bool          // which was a failure
	reason  string        // of the failure
}

// errGone means that the child has ended without a report, so how it ended is the outcome.
var errGone = errors.New("the child has gone")

// serve sends the robot to the child and answers its questions until it ends. The error is errGone,
// an *Ended, or a failure of ours.
func (s *session) serve(ctx context.Context, input []byte, module io.Reader) error {
	for begun := false; ; {
		kind, payload, err := readMessage(s.out, s.buf)
		switch {
		case errors.Is(err, errMessage):
			return err
		case err != nil:
			return errGone
		case kind == msgReady && !begun:
			begun, s.missing = true, string(payload)
			if err := s.send(input, module); err != nil {
				return err
			}
		case !begun:
			return errMessage
		case kind == msgEnd && len(payload) > 0:
			s.ended, s.failed, s.reason = true, payload[0] != 0, string(payload[1:])
			return nil
		default:
			if err := s.question(ctx, kind, payload); err != nil {
				return err
			}
		}
	}
}

// send sends input and module, piece by piece.
func (s *session) send(input []byte, module io.Reader) error {
	for len(input) > 0 {
		n := min(len(input), mobile.MaxPart)
		if writeMessage(s.in, msgInput, input[:n], nil) != nil {
			return errGone
		}
		input = input[n:]
	}
	for {
		n, err := io.ReadFull(module, s.answer[:mobile.MaxPart])
		if n > 0 && writeMessage(s.in, msgModule, s.answer[:n], nil) != nil {
			return errGone
		}
		switch err {
		case nil:
		case io.EOF, io.ErrUnexpectedEOF:
			if writeMessage(s.in, msgStart, nil, nil) != nil {
				return errGone
			}
			return nil
		default:
			return err
		}
	}
}

// question answers one question. The host works for as long as the robot may compute, and then the
// run ends: a robot that waits for answers uses no processor time of its own, but the host's.
func (s *session) question(ctx context.Context, kind byte, payload []byte) error {
	began := time.Now()
	octets, err := s.ask(ctx, kind, payload)
	if s.worked += time.Since(began); err == nil && s.worked > s.most {
		return &Ended{mobile.CPULimit, fmt.Sprintf("the host worked for the robot for %s", s.most)}
	}
	var code mobile.Code
	switch {
	case errors.As(err, &code):
		octets = nil
	case err != nil:
		return err
	default:
		code = mobile.Code(len(octets))
	}
	if writeMessage(s.in, msgAnswer, binary.BigEndian.AppendUint32(nil, uint32(code)), octets) != nil {
		return errGone
	}
	return nil
}

func (s *session) ask(ctx context.Context, kind byte, payload []byte) ([]byte, error) {
	switch kind {
	case msgList, msgRead:
		n, rest, err := number(payload)
		if err != nil || n > mobile.MaxPart {
			return nil, errMessage
		}
		if kind == msgList {
			return s.host.List(ctx, string(rest), int(n))
		}
		got, err := s.host.Read(ctx, s.answer[:n])
		return s.answer[:max(got, 0)], err
	case msgOpen:
		return s.host.Open(ctx, string(payload))
	case msgPart, msgRecord:
		if len(payload) > mobile.MaxPart {
			return nil, errMessage
		}
		return nil, s.host.Emit(payload, kind == msgRecord)
	case msgLog:
		return nil, s.host.Log(payload)
	}
	return nil, errMessage
}

// outcome decides how a run ended, after its process has.
func (s *session) outcome(ctx context.Context, o Options, failure error, cpu time.Duration, state *os.ProcessState) (outcome, reason string, err error) {
	cause := context.Cause(ctx)
	var ended *Ended
	switch {
	case s.ended && s.failed:
		return mobile.Failed, s.reason, nil
	case s.ended:
		return mobile.Done, "", nil
	case errors.As(cause, &ended):
		return ended.Outcome, ended.Reason, nil
	case cause != failure: // the context of Run ended, and then the child was killed
		return mobile.Interrupted, "the host was stopped", nil
	case failure == errMessage:
		return mobile.Crashed, "the process of the robot sent a message that makes no sense", nil
	case failure != errGone:
		return mobile.Failed, "the host had a failure", failure
	}
	status, _ := state.Sys().(syscall.WaitStatus)
	killed := status.Signaled() && status.Signal() == syscall.SIGKILL
	switch {
	case state.ExitCode() == confine.CodeLate || killed && cpu >= o.CPU:
		return mobile.CPULimit, fmt.Sprintf("the robot used its %s of processor time", o.CPU), nil
	case killed:
		return mobile.Killed, "the process of the robot was killed, by the system because memory ran out, or by a user", nil
	}
	return mobile.Crashed, "the process of the robot crashed, probably because its memory ran out", nil
}
