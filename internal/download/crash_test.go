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
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// crashEnv makes a process of the test's binary a Get that its parent kills: server and directory.
const crashEnv = "DOWNLOAD_CRASH_TEST"

func crashDatasets() crawl.DatasetInfo {
	return datasetOf("http://d.example/a.bin", "http://d.example/b.bin")
}

// TestCrashChild is the process that is killed.
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

// urlGetter is a hostGetter whose server is another process'.
type urlGetter struct {
	server string
	s      *site
}

func (g urlGetter) Get(ctx context.Context, u canon.URL, h http.Header, accept func(int, http.Header) bool, w io.Writer) (download, error) {
	return getFrom(ctx, &g.s.client, g.server, u, h, accept, w)
}

// A Get that is killed at any moment, over and over, comes to its end; at no moment does a name
// stand for anything but a whole file, and what was safe is not asked for again.
func TestKilledAnywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes")
	}
	t.Parallel()
	a, b := bytesOf(300_000), bytesOf(300_001)
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		body := a
		if r.URL.Path == "/b.bin" {
			body = b
		}
		content(`"1"`, body)(&slowWriter{w, 8 << 10, 500 * time.Microsecond}, r)
	})
	rng := rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))
	for i := range 4 {
		killAnywhere(t, s, rng, a, b, i%2*-1) // with and without the book's log
	}
}

func killAnywhere(t *testing.T, s *site, rng *rand.Rand, a, b []byte, share int) {
	s.take()
	dir := t.TempDir()
	const most = 12
	kills, finished := 0, false
	for !finished {
		cmd := exec.Command(os.Args[0], "-test.run=^TestCrashChild$")
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %d", crashEnv, s.srv.URL, dir, share))
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// Mostly it is let go for a moment after its first request, which comes whenever the
		// machine has time for it.
		before, early := len(s.seen()), rng.IntN(4) == 0
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		for !early && len(s.seen()) == before && len(ended) == 0 {
			time.Sleep(time.Millisecond)
		}
		var kill <-chan time.Time
		if kills < most {
			kill = time.After(time.Duration(rng.IntN(40_000)) * time.Microsecond)
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("%v\n%s", err, &out)
			}
			finished = true
		case <-kill:
			cmd.Process.Kill()
			<-ended
			kills++
		}
		for name, want := range map[string][]byte{"a.bin": a, "b.bin": b} {
			if got, err := os.ReadFile(dir + "/" + name); err == nil && !bytes.Equal(got, want) {
				t.Fatalf("%s stands there with %d bytes", name, len(got))
			}
		}
		if rep, err := Verify(t.Context(), dir); err == nil {
			for _, p := range rep.Problems {
				// SHA256SUMS comes first
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
	// Each kill may cost the piece that was under way.
	if limit := len(a) + len(b) + kills*(64<<10); sent > limit {
		t.Errorf("%d bytes were asked for, after %d kills at most %d are right", sent, kills, limit)
	}
	t.Logf("%d kills, %d requests, %d bytes asked for of %d", kills, len(s.seen()), sent, len(a)+len(b))
}

// slowWriter rests after each so many bytes.
type slowWriter struct {
	http.ResponseWriter
	bytes int
	rest  time.Duration
}

func (w *slowWriter) Write(b []byte) (n int, err error) {
	for len(b) > 0 && err == nil {
		var m int
		m, err = w.ResponseWriter.Write(b[:min(len(b), w.bytes)])
		w.ResponseWriter.(http.Flusher).Flush()
		n, b = n+m, b[m:]
		time.Sleep(w.rest)
	}
	return n, err
}

// seen is a copy of the log.
func (s *site) seen() []sent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]sent(nil), s.log...)
}
