package worker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/curtsy/curtsy/internal/confine"
	"github.com/curtsy/curtsy/internal/document"
	"github.com/curtsy/curtsy/internal/fair"
)

// mostHTML is the limit of the text of a document, and MaxHTML is the length of the longest HTML
// that a child may return with this limit.
const (
	mostHTML = 4 << 20
	MaxHTML  = mostHTML + mostHTML/4 + 64<<10
)

// Options limit the cost of documents. The zero value of a field means its default.
type Options struct {
	Workers int   // children at the same time; 0 = 2
	Memory  int64 // bytes of data of each; 0 = 512 MiB
	// For one document; 0 = 10 s. Reading stops with a result when half of it is used.
	CPU       time.Duration
	Wall      time.Duration // for one document, by the clock; 0 = 30 s
	Documents int           // read by one child; 0 = 100
	Limits    document.Limits
	// PDFToText is the path of poppler's pdftotext, which then reads the text of PDF files; ""
	// means not used.
	PDFToText string
}

func (o Options) withDefaults() Options {
	if o.Workers <= 0 {
		o.Workers = 2
	}
	if o.Memory <= 0 {
		o.Memory = 512 << 20
	}
	if o.CPU <= 0 {
		o.CPU = 10 * time.Second
	}
	if o.Wall <= 0 {
		o.Wall = 30 * time.Second
	}
	if o.Documents <= 0 {
		o.Documents = 100
	}
	if o.Limits.HTML <= 0 {
		o.Limits.HTML = mostHTML
	}
	return o
}

// Unreadable is why a document could not be read. It is the fault of the document: reading it again
// would fail again.
type Unreadable struct{ Why string }

// Error returns the reason for the operator.
func (u *Unreadable) Error() string { return u.Why }

// ErrTooLarge is the error for documents larger than document.MaxBody.
var ErrTooLarge = &Unreadable{fmt.Sprintf("larger than %d MiB", document.MaxBody>>20)}

// Pool is a set of children that read documents. Children are started when they are needed. While
// several parties have documents to read, none of them has all children, and those whose documents
// took the least time lately come first. A Pool may be used concurrently.
type Pool struct {
	opt     Options
	turns   *fair.Queue // a unit for each child that may read; its costs are seconds
	one     func(context.Context, document.File) (document.Page, error)
	started atomic.Int64

	mu     sync.Mutex // guards idle, closed
	idle   []*child
	closed bool
}

// New makes a pool. Close ends its children.
func New(opt Options) *Pool {
	opt = opt.withDefaults()
	p := &Pool{opt: opt, turns: fair.NewQueue(fair.Options{Capacity: int64(opt.Workers)})}
	p.one = p.readOne
	return p
}

// Close ends the idle children. Those that are reading end after their document.
func (p *Pool) Close() {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	for _, c := range idle {
		c.end()
	}
}

// Started returns how many children were started so far.
func (p *Pool) Started() int64 { return p.started.Load() }

// Read reads a document of the parties, who are charged for the time that a child needs for it. It
// waits until one of the children may read for them. An *Unreadable error is the fault of the
// document; after any other error, reading it again may succeed. If ctx ends, Read ends with its
// error.
func (p *Pool) Read(ctx context.Context, f document.File, parties []fair.Party) (document.Page, error) {
	if len(f.Body) > document.MaxBody {
		return document.Page{}, ErrTooLarge
	}
	turn, err := p.turns.Acquire(ctx, 1, parties...)
	if err != nil {
		return document.Page{}, err
	}
	// What others lose is the child, so what counts is how long it was in use. Its processor time
	// may be less, and the child itself would have to report it.
	start := time.Now()
	defer func() { turn.Release(time.Since(start).Seconds()) }()
	return p.one(ctx, f)
}

// readOne reads a document when it may be read.
func (p *Pool) readOne(ctx context.Context, f document.File) (document.Page, error) {
	page, err := p.read(ctx, f)
	if f.Type != document.PDF || p.opt.PDFToText == "" || ctx.Err() != nil {
		return page, err
	}
	if text, cut, failed := p.poppler(ctx, f.Body, p.opt.Limits.HTML); failed == nil {
		return withText(page, text, cut), nil
	}
	return page, err
}

// read lets a child read a document. A child that has read others may end because of them, or may
// have been killed while it was idle. Only if a child reads this document first, the document is to
// blame when it ends.
func (p *Pool) read(ctx context.Context, f document.File) (document.Page, error) {
	c, err := p.take()
	if err == nil && c.done > 0 {
		page, failed := p.ask(ctx, c, f)
		if !errors.Is(failed, errEnded) && !errors.Is(failed, errKilled) {
			return page, failed
		}
		c, err = p.start()
	}
	if err != nil {
		return document.Page{}, fmt.Errorf("cannot start a process that reads documents: %w", err)
	}
	return p.ask(ctx, c, f)
}

var (
	errEnded = &Unreadable{"the process that read it crashed, probably because it ran out of memory"}
	// Probably not the fault of the document: if memory runs out, the system kills the children
	// first.
	errKilled = errors.New("the process that read it was killed, by the system because memory ran out, or by a user")
)

// ask lets this child read a document, and then returns the child to the pool or ends it.
func (p *Pool) ask(ctx context.Context, c *child, f document.File) (document.Page, error) {
	var late atomic.Bool
	timer := time.AfterFunc(p.opt.Wall, func() {
		late.Store(true)
		c.kill()
	})
	stop := context.AfterFunc(ctx, c.kill)

	q := question{file: f, limits: p.opt.Limits, cpu: uint32(p.opt.CPU / time.Millisecond)}
	// If a child dies while it reads, the pipe breaks. Its answer counts, not the error of writing.
	broken := q.write(c.in)
	what, text, err := readAnswer(c.out, p.opt.Limits.HTML+p.opt.Limits.HTML/4+64<<10)
	// From here on the child is not killed for this document: its next document is another one.
	inTime, wanted := timer.Stop(), stop()
	if err == nil && broken == nil && (what == whole || what == part || what == not) {
		if inTime && wanted {
			p.put(c)
		} else {
			c.end()
		}
		if what == not {
			return document.Page{}, &Unreadable{string(text)}
		}
		return document.Page{HTML: text, Cut: what == part}, nil
	}
	code := c.end()
	switch {
	case ctx.Err() != nil:
		return document.Page{}, ctx.Err()
	case late.Load():
		return document.Page{}, &Unreadable{fmt.Sprintf("reading it took longer than %s", p.opt.Wall)}
	case code == confine.CodeLate:
		return document.Page{}, &Unreadable{fmt.Sprintf("reading it took more than %s of CPU time", p.opt.CPU)}
	case errors.Is(err, errLong) || err == nil && broken == nil:
		return document.Page{}, &Unreadable{"the text read from it is longer than the limit"}
	case c.killedByOthers():
		return document.Page{}, errKilled
	}
	return document.Page{}, errEnded
}

// child is one process that reads documents.
type child struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	done int // documents read
	once sync.Once
	code int
	shot atomic.Bool // we have killed it
}

func seconds(d time.Duration) string { return strconv.Itoa(int((d + time.Second - 1) / time.Second)) }

// take returns an idle child, or starts one.
func (p *Pool) take() (*child, error) {
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		c := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return c, nil
	}
	p.mu.Unlock()
	return p.start()
}

// startWait is how long a child may take until it reports that it is ready.
const startWait = 30 * time.Second

func (p *Pool) start() (*child, error) {
	cmd := exec.Command(confine.Self())
	cmd.Args = []string{os.Args[0]}
	life := time.Duration(p.opt.Documents+2) * (p.opt.CPU + time.Second) // see allow
	cmd.Env = []string{childEnv + "=1", memoryEnv + "=" + strconv.FormatInt(p.opt.Memory, 10), cpuEnv + "=" + seconds(life)}
	cmd.Dir = string(os.PathSeparator)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p.started.Add(1)
	c := &child{cmd: cmd, in: in, out: bufio.NewReaderSize(out, 64<<10)}
	late := time.AfterFunc(startWait, c.kill)
	what, _, err := readAnswer(c.out, maxWord)
	late.Stop()
	if err != nil || what != ready {
		return nil, fmt.Errorf("it exited with code %d before it was ready: %v", c.end(), err)
	}
	return c, nil
}

// put keeps a child for the next document, unless it has read enough.
func (p *Pool) put(c *child) {
	c.done++
	p.mu.Lock()
	if !p.closed && c.done < p.opt.Documents {
		p.idle = append(p.idle, c)
		c = nil
	}
	p.mu.Unlock()
	if c != nil {
		c.end()
	}
}

func (c *child) kill() {
	c.shot.Store(true)
	_ = c.cmd.Process.Kill()
}

// killedByOthers reports whether a child that has ended was killed by another process.
func (c *child) killedByOthers() bool {
	status, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL && !c.shot.Load()
}

// end ends a child and returns its exit code, or -1 if a signal ended it.
func (c *child) end() int {
	c.once.Do(func() {
		_ = c.in.Close()
		// A child that has violated a limit may ignore the closed input.
		late := time.AfterFunc(time.Second, c.kill)
		_ = c.cmd.Wait()
		late.Stop()
		c.code = c.cmd.ProcessState.ExitCode()
	})
	return c.code
}
