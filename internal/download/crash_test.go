package download

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wiretest"
	"github.com/curtsy/curtsy/pkg/canon"
)

// crashEnv makes a process of the test's binary run a Get that its parent kills. It has the server
// and the directory.
const crashEnv = "DOWNLOAD_CRASH_TEST"

func crashDatasets() crawl.DatasetInfo {
	return datasetOf("http://d.example/a.bin", "http://d.example/b.bin")
}

// TestCrashChild runs in the process that is killed.
func TestCrashChild(t *testing.T) {
	var server, dir string
	var share int
	if n, _ := fmt.Sscan(os.Getenv(crashEnv), &server, &dir, &share); n != 3 {
		t.Skip("it is started by TestKilledAnywhere")
	}
	s := &site{t: t, visits: map[canon.Host]int{}}
	s.client.DisableKeepAlives = true
	visit := func(ctx context.Context, o canon.Origin, do func(Getter) error) error {
		return do(urlGetter{server, s})
	}
	files, _ := Plan([]crawl.DatasetInfo{crashDatasets()})
	res, err := Get(t.Context(), files, Options{Dir: dir, listShare: share, Visit: visit, Piece: 64 << 10, Retry: time.Millisecond, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range res {
		if r.Outcome != Done && r.Outcome != Had {
			t.Errorf("%+v", r)
		}
	}
}

// urlGetter is a hostGetter whose server is in another process.
type urlGetter struct {
	server string
	s      *site
}

func (g urlGetter) Get(ctx context.Context, u canon.URL, target string, h http.Header, accept func(int, http.Header) bool, w io.Writer) (download, error) {
	return getFrom(ctx, &g.s.client, g.server, u, target, h, accept, w)
}

// A Get that is killed at any moment, repeatedly, ends successfully. A file never has its final
// name before it is complete, and bytes that are safe are not requested again.
func TestKilledAnywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes")
	}
	t.Parallel()
	a, b := bytesOf(300_000), bytesOf(300_001)
	k := new(killer)
	s := newSiteOn(t, wiretest.Real, func(w http.ResponseWriter, r *http.Request) {
		body := a
		if r.URL.Path == "/b.bin" {
			body = b
		}
		content(`"1"`, body)(&slowWriter{w, 8 << 10, k.wrote}, r)
	})
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 4 {
		killAnywhere(t, s, k, rng, a, b, i%2*-1) // with and without the manifest log
	}
}

// killer signals when a server has written a number of pieces. The server then writes nothing more
// until the process that reads from it has ended.
type killer struct {
	mu   sync.Mutex    // guards what follows
	left int           // pieces until the signal; 0: no signal
	now  chan struct{} // closed when it is time to kill
	dead chan struct{} // closed when the process has ended
}

// after requests a signal after n more pieces; 0: no signal.
func (k *killer) after(n int) (now <-chan struct{}, dead chan<- struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.left, k.now, k.dead = n, make(chan struct{}), make(chan struct{})
	return k.now, k.dead
}

func (k *killer) wrote() {
	k.mu.Lock()
	last := k.left == 1
	k.left = max(k.left-1, 0)
	now, dead := k.now, k.dead
	k.mu.Unlock()
	if last {
		close(now)
		<-dead
	}
}

func killAnywhere(t *testing.T, s *site, k *killer, rng *rand.Rand, a, b []byte, share int) {
	s.take()
	dir := t.TempDir()
	const most = 12
	kills, finished := 0, false
	for !finished {
		cmd := exec.Command(os.Args[0], "-test.run=^TestCrashChild$")
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %d", crashEnv, s.srv.URL, dir, share))
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		// When the process is killed, it has been sent this many pieces and is somewhere between
		// reading them and requesting more.
		pieces := 0
		if kills < most {
			pieces = 1 + rng.IntN(24)
		}
		now, dead := k.after(pieces)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("%v\n%s", err, &out)
			}
			finished = true
		case <-now:
			cmd.Process.Kill()
			<-ended
			kills++
		}
		close(dead)
		for name, want := range map[string][]byte{"a.bin": a, "b.bin": b} {
			if got, err := os.ReadFile(dir + "/" + name); err == nil && !bytes.Equal(got, want) {
				t.Fatalf("%s exists with %d bytes", name, len(got))
			}
		}
		if rep, err := Verify(t.Context(), dir); err == nil {
			for _, p := range rep.Problems {
				// SHA256SUMS is written first.
				if (p.Problem == "changed" || p.Problem == "missing") && p.Path != packageName {

					t.Fatalf("after a kill: %+v", p)
				}
			}
		}
	}
	has(t, dir, "a.bin", a)
	has(t, dir, "b.bin", b)
	checked(t, dir, 2)
	var sent int
	for _, q := range s.seen() {
		var from, to int
		fmt.Sscanf(q.Range, "bytes=%d-%d", &from, &to)
		sent += min(to+1, len(a)) - from
	}
	// Each kill may cost the piece that was being sent.
	if limit := len(a) + len(b) + kills*(64<<10); sent > limit {
		t.Errorf("%d bytes were asked for, after %d kills at most %d are right", sent, kills, limit)
	}
	t.Logf("%d kills, %d requests, %d bytes asked for of %d", kills, len(s.seen()), sent, len(a)+len(b))
}

// slowWriter calls a function each time it has written a number of bytes.
type slowWriter struct {
	http.ResponseWriter
	bytes int
	then  func()
}

func (w *slowWriter) Write(b []byte) (n int, err error) {
	for len(b) > 0 && err == nil {
		var m int
		m, err = w.ResponseWriter.Write(b[:min(len(b), w.bytes)])
		w.ResponseWriter.(http.Flusher).Flush()
		n, b = n+m, b[m:]
		w.then()
	}
	return n, err
}

// seen returns a copy of the log.
func (s *site) seen() []sent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]sent(nil), s.log...)
}
