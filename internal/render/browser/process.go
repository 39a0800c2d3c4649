package browser

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/curtsy/curtsy/internal/confine"
)

// process is a browser that runs, with its guard.
type process struct {
	cmd   *exec.Cmd
	life  io.Closer // the guard ends when it is closed
	pipes []io.Closer
	conn  *conn
	dir   string
	state state
	log   *tail
	pages int // that it got
	once  sync.Once
}

// flags are those of every browser. Most switch off what it would do by itself.
var flags = []string{
	"--headless=new", "--remote-debugging-pipe", "--no-first-run", "--no-default-browser-check", "--no-startup-window",
	"--disable-gpu", "--disable-software-rasterizer", "--disable-dev-shm-usage", "--mute-audio", "--hide-scrollbars",
	"--disable-background-networking", "--disable-component-update", "--disable-component-extensions-with-background-pages",
	"--disable-default-apps", "--disable-sync", "--disable-extensions",
	"--disable-client-side-phishing-detection", "--disable-domain-reliability", "--disable-field-trial-config",
	"--disable-notifications", "--disable-speech-api", "--disable-print-preview", "--deny-permission-prompts", "--no-pings",
	"--disable-hang-monitor", "--disable-prompt-on-repost", "--disable-search-engine-choice-screen",
	"--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding",
	"--disable-ipc-flooding-protection", "--disable-back-forward-cache", "--disable-site-isolation-trials",
	"--metrics-recording-only", "--no-service-autorun", "--password-store=basic", "--use-mock-keychain",
	"--force-color-profile=srgb", "--force-device-scale-factor=1", "--font-render-hinting=none", "--force-prefers-reduced-motion",
	"--host-resolver-rules=MAP * ~NOTFOUND", "--proxy-server=direct://", "--dns-prefetch-disable", "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
	"--disable-features=" + strings.Join([]string{
		"HttpsUpgrades", "HttpsFirstBalancedModeAutoEnable", "IsolateOrigins", "site-per-process", "Translate", "OptimizationHints",
		"MediaRouter", "DialMediaRouteProvider", "AutofillServerCommunication", "CertificateTransparencyComponentUpdater",
		"InterestFeedContentSuggestions", "AcceptCHFrame", "PaintHolding", "BackForwardCache", "Prerender2", "SpeculationRulesPrefetchFuture",
		"NetworkTimeServiceQuerying", "DestroyProfileOnBrowserClose", "ServiceWorker", "AsyncDns", "DnsOverHttps",
		"WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup", "PreloadTopChromeWebUI",
	}, ","),
	"--disable-blink-features=Prerender2,SpeculationRules",
	"--run-all-compositor-stages-before-draw", "--disable-new-content-rendering-timeout", "--disable-threaded-animation", "--disable-threaded-scrolling", "--disable-checker-imaging",
	"--window-size=1280,1024",
}

// errNoSandbox is why a browser did not start that would start without its own sandbox.
var errNoSandbox = errors.New("its own sandbox is not possible here")

// startProcess starts a browser.
func (r *Renderer) startProcess(ctx context.Context, sandbox bool) (*process, error) {
	dir, err := os.MkdirTemp(r.opt.Dir, dirPrefix)
	if err != nil {
		return nil, err
	}
	p := &process{dir: dir, log: &tail{}}
	o := order{
		Program: r.opt.Path, Dir: dir, Memory: r.opt.Memory, Sandbox: sandbox, SameUser: r.opt.sameUser,
		Args: append([]string{
			"--user-data-dir=" + dir + "/profile", fmt.Sprintf("--js-flags=--random-seed=1 --max-old-space-size=%d", max(64, r.opt.Memory>>21)),
			"--lang=" + r.opt.Locale,
		}, flags...),
		Env: []string{
			"HOME=" + dir, "TMPDIR=" + dir, "XDG_CONFIG_HOME=" + dir, "XDG_CACHE_HOME=" + dir, "XDG_RUNTIME_DIR=" + dir,
			"PATH=" + cmp.Or(os.Getenv("PATH"), "/usr/bin:/bin"), "LANG=C.UTF-8", "TZ=UTC", "DBUS_SESSION_BUS_ADDRESS=unix:path=/nonexistent", "DBUS_SYSTEM_BUS_ADDRESS=unix:path=/nonexistent",
		},
	}
	st, err := p.start(ctx, r.attr, o)
	if err == nil {
		p.state = st
		err = p.hello(ctx, r.opt.startWait)
	}
	if err != nil {
		p.kill()
		text := p.log.String()
		if sandbox && ctx.Err() == nil && strings.Contains(text, "andbox") {
			return nil, errNoSandbox
		}
		return nil, fmt.Errorf("%w%s", err, p.log.because())
	}
	return p, nil
}

// start starts the guard and waits until it has reported what it could limit.
func (b *process) start(ctx context.Context, attr *syscall.SysProcAttr, o order) (st state, err error) {
	o.Spaces = attr != nil
	text, err := json.Marshal(o)
	if err != nil {
		return st, err
	}
	var files [6]*os.File // both ends of: to the browser, from it, status
	for i := 0; i < len(files); i += 2 {
		if files[i], files[i+1], err = os.Pipe(); err != nil {
			break
		}
	}
	theirs := []*os.File{files[0], files[3], files[5]}
	defer func() {
		for _, f := range theirs {
			if f != nil {
				_ = f.Close()
			}
		}
	}()
	for _, f := range []*os.File{files[1], files[2], files[4]} {
		if f != nil {
			b.pipes = append(b.pipes, f)
		}
	}
	if err != nil {
		return st, err
	}
	cmd := exec.Command(confine.Self())
	cmd.Args = []string{os.Args[0]}
	cmd.Env = []string{guardEnv + "=" + string(text)}
	cmd.ExtraFiles = theirs
	cmd.Stderr = b.log
	cmd.Dir = "/"
	cmd.WaitDelay = time.Second // for processes that have its standard error
	cmd.SysProcAttr = attr
	if attr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	}
	life, err := cmd.StdinPipe()
	if err != nil {
		return st, err
	}
	if err := cmd.Start(); err != nil {
		return st, err
	}
	b.cmd, b.life = cmd, life
	stop := context.AfterFunc(ctx, func() { _ = files[4].Close() })
	err = json.NewDecoder(io.LimitReader(files[4], 64<<10)).Decode(&st)
	stop()
	if err != nil {
		return st, fmt.Errorf("the process that starts the browser reported nothing: %w", err)
	}
	if st.Err != "" {
		return st, errors.New(st.Err)
	}
	b.conn = newConn(files[1])
	go b.conn.serve(files[2])
	return st, nil
}

// hello waits until the browser answers.
func (b *process) hello(ctx context.Context, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	err := b.conn.call(ctx, "", "Target.setDiscoverTargets", object{"discover": true}, nil)
	if errors.Is(err, io.EOF) {
		err = errors.New("the browser ended before it was ready")
	}
	return err
}

// kill ends the browser with all its processes, and removes its files.
func (b *process) kill() {
	b.once.Do(func() {
		if b.cmd != nil {
			_ = b.life.Close()
			if b.state.Processes {
				_ = b.cmd.Process.Kill() // and the kernel kills all others
			}
			late := time.AfterFunc(10*time.Second, func() { _ = b.cmd.Process.Kill() })
			_ = b.cmd.Wait()
			late.Stop()
		}
		for _, f := range b.pipes {
			_ = f.Close()
		}
		_ = os.RemoveAll(b.dir)
	})
}

// tail keeps the end of what a browser writes to its standard error.
type tail struct {
	mu sync.Mutex
	b  []byte
}

const maxTail = 8 << 10

// Write adds text.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, b[max(0, len(b)-maxTail):]...)
	t.b = t.b[max(0, len(t.b)-maxTail):]
	return len(b), nil
}

// String returns the text.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.b)
}

// because returns the last line, for an error.
func (t *tail) because() string {
	last := ""
	s := bufio.NewScanner(strings.NewReader(t.String()))
	for s.Scan() {
		if l := strings.TrimSpace(s.Text()); l != "" {
			last = l
		}
	}
	if last == "" {
		return ""
	}
	return ": " + last[:min(len(last), 300)]
}
