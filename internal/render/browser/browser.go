package browser

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/curtsy/curtsy/internal/render"
)

// Options say which browser runs, and how many. The zero value of a field stands for its default.
type Options struct {
	// Path is the program; "": the first of chromium-headless-shell, chromium, chromium-browser,
	// google-chrome and chrome in PATH.
	Path      string
	Processes int          // browsers, each with one page at a time; 0 = 1
	Pages     int          // of one browser before another takes its place; 0 = 100
	Memory    int64        // bytes of data of each of its processes; 0 = 1 GiB
	Locale    string       // of pages; "" = en-US
	Dir       string       // where the browsers have their temporary files; "": that of the system
	Log       *slog.Logger // nil: none

	// For tests: how long a browser may take until it answers, and that it runs as this user.
	startWait time.Duration
	sameUser  bool
}

func (o Options) withDefaults() Options {
	o.Processes = cmp.Or(max(o.Processes, 0), 1)
	o.Pages = cmp.Or(max(o.Pages, 0), 100)
	o.Memory = cmp.Or(max(o.Memory, 0), 1<<30)
	o.Locale = cmp.Or(o.Locale, "en-US")
	o.startWait = cmp.Or(o.startWait, 30*time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Renderer renders pages with browsers. It may be used concurrently.
type Renderer struct {
	opt   Options
	attr  *syscall.SysProcAttr // how guards are started
	free  chan struct{}        // a token for each page that may be rendered at the same time
	limit state                // what a guard reported

	mu      sync.Mutex // guards the rest
	idle    []*process
	all     map[*process]bool
	closed  bool
	sandbox bool // Chromium's own may be tried
	started int
}

var _ render.Renderer = (*Renderer)(nil)

// maxDir is the longest name of a folder in which a browser can have its files: the name of a
// socket is limited to 107 bytes.
const (
	dirPrefix = "curtsy-"
	maxDir    = 107 - len("/"+dirPrefix+"4294967295/org.chromium.Chromium.XXXXXX/SingletonSocket")
)

// names are the programs that are looked for. The first is the same browser without windows: it
// starts faster, and needs half of the time and two thirds of the memory for a page.
var names = []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome"}

// New makes a renderer. It starts no browser yet, but returns an error if there is none, or if
// none could be kept from the network.
func New(opt Options) (*Renderer, error) {
	opt = opt.withDefaults()
	if opt.Path == "" {
		for _, name := range names {
			if path, err := exec.LookPath(name); err == nil {
				opt.Path = path
				break
			}
		}
		if opt.Path == "" {
			return nil, fmt.Errorf("%w: there is no Chromium in PATH; install it (apt-get install chromium-headless-shell, or chromium), or name it (--render-browser PATH)", render.ErrUnavailable)
		}
	} else if path, err := exec.LookPath(opt.Path); err != nil {
		return nil, fmt.Errorf("%w: the browser of --render-browser: %w", render.ErrUnavailable, err)
	} else {
		opt.Path = path
	}
	if opt.Dir == "" {
		if opt.Dir = os.TempDir(); len(opt.Dir) > maxDir {
			opt.Dir = "/tmp"
		}
	}
	if len(opt.Dir) > maxDir {
		return nil, fmt.Errorf("%w: the folder of temporary files, %s, has a name of more than %d bytes, and a browser makes sockets in it", render.ErrUnavailable, opt.Dir, maxDir)
	}
	r := &Renderer{opt: opt, free: make(chan struct{}, opt.Processes), all: map[*process]bool{}, sandbox: true}
	if err := r.probe(attributes()); err != nil {
		return nil, fmt.Errorf("%w: a browser cannot be kept from the network here: %w; use Linux on amd64 or arm64, with namespaces of users (sysctl user.max_user_namespaces) or seccomp", render.ErrUnavailable, err)
	}
	return r, nil
}

// probe finds the best way to start a guard.
func (r *Renderer) probe(ways []*syscall.SysProcAttr) error {
	last := errors.New("this system has no such limits")
	for _, attr := range ways {
		p := &process{log: &tail{}}
		st, err := p.start(context.Background(), attr, order{Memory: r.opt.Memory})
		p.kill()
		if err == nil {
			r.attr, r.limit = attr, st
			return nil
		}
		last = fmt.Errorf("%w%s", err, p.log.because())
	}
	return last
}

// Isolation returns how the browsers are kept from the rest of the machine, for logs. Before the
// first page it is not known yet whether Chromium's own sandbox is possible.
func (r *Renderer) Isolation() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := func(is bool, yes, no string) string {
		if is {
			return yes
		}
		return no
	}
	s := text(r.limit.Network, "a namespace without network", "no namespaces") + ", " +
		text(r.limit.Filter, "a filter of system calls", "no filter of system calls") + ", user " + fmt.Sprint(r.limit.User) + ", "
	if r.started == 0 {
		s += "its own sandbox not tried yet"
	} else {
		s += text(r.sandbox && r.limit.Sandbox, "its own sandbox", "without its own sandbox")
	}
	if r.limit.Missing != "" {
		s += ", without limits of: " + r.limit.Missing
	}
	return s
}

// Close ends all browsers. Pages that are being rendered fail.
func (r *Renderer) Close() {
	r.mu.Lock()
	r.closed = true
	var all []*process
	for p := range r.all {
		all = append(all, p)
	}
	r.idle = nil
	r.mu.Unlock()
	for _, p := range all {
		r.end(p)
	}
}

var errClosed = fmt.Errorf("%w: it was closed", render.ErrUnavailable)

// Render implements render.Renderer.
func (r *Renderer) Render(ctx context.Context, p *render.Page, fetch render.Fetch) (*render.Result, error) {
	select {
	case r.free <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-r.free }()
	for again := false; ; again = true {
		b, err := r.take(ctx)
		if err != nil {
			return nil, err
		}
		res, err := b.render(ctx, p, r.opt, fetch)
		if err == nil {
			r.put(b)
			return res, nil
		}
		r.end(b)
		var failed *render.Failed
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.As(err, &failed):
			return nil, failed
		case r.isClosed():
			return nil, errClosed
		case again:
			return nil, fmt.Errorf("%w: %w%s", render.ErrUnavailable, err, b.log.because())
		}
		// It ended before it had anything of this page, for example while it was idle.
		r.opt.Log.Warn("a browser has ended", "error", err)
	}
}

func (r *Renderer) isClosed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed
}

// take returns an idle browser, or starts one.
func (r *Renderer) take(ctx context.Context) (*process, error) {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil, errClosed
	}
	if n := len(r.idle); n > 0 {
		p := r.idle[n-1]
		r.idle = r.idle[:n-1]
		r.mu.Unlock()
		return p, nil
	}
	sandbox := r.sandbox
	r.mu.Unlock()
	p, err := r.startProcess(ctx, sandbox)
	if errors.Is(err, errNoSandbox) {
		sandbox = false
		p, err = r.startProcess(ctx, false)
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%w: cannot start %s: %w", render.ErrUnavailable, r.opt.Path, err)
	}
	r.mu.Lock()
	r.sandbox, r.limit = sandbox, p.state
	r.started++
	first, closed := r.started == 1, r.closed
	r.all[p] = true
	r.mu.Unlock()
	if closed {
		r.end(p)
		return nil, errClosed
	}
	if first {
		r.opt.Log.Info("a browser renders pages", "program", r.opt.Path, "isolation", r.Isolation())
	}
	return p, nil
}

// put keeps a browser for the next page, unless it had enough.
func (r *Renderer) put(p *process) {
	p.pages++
	r.mu.Lock()
	keep := !r.closed && p.pages < r.opt.Pages
	if keep {
		r.idle = append(r.idle, p)
	}
	r.mu.Unlock()
	if !keep {
		r.end(p)
	}
}

// end ends a browser.
func (r *Renderer) end(p *process) {
	p.kill()
	r.mu.Lock()
	delete(r.all, p)
	r.mu.Unlock()
}
