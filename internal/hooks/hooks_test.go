package hooks

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// memory is a Memory of a test.
type memory struct {
	mu   sync.Mutex
	data []byte
	err  error
}

func (m *memory) Load(context.Context) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.data, m.err
}

func (m *memory) Save(_ context.Context, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.data = slices.Clone(data)
	return m.err
}

// receiver is a web server in memory, which receives reports.
type receiver struct {
	mu      sync.Mutex
	reports []Report
	times   []time.Time
	status  func(n int) int // of the nth request; nil: 204
}

func (r *receiver) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	code := http.StatusNoContent
	if r.status != nil {
		code = r.status(len(r.times) + 1)
	}
	r.times = append(r.times, time.Now())
	if code == 0 {
		return nil, errors.New("connection refused")
	}
	if req.Method != http.MethodPost || req.Header.Get("Content-Type") != "application/json" {
		return nil, errors.New("not a report")
	}
	var report Report
	if code/100 == 2 {
		if err := json.Unmarshal(body, &report); err != nil {
			return nil, err
		}
		r.reports = append(r.reports, report)
	}
	return &http.Response{StatusCode: code, Body: io.NopCloser(strings.NewReader("ok")), Request: req, Header: http.Header{}}, nil
}

// got returns what was reported since the last call, as "kind subject".
func (r *receiver) got() (all []string) {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.reports {
		all = append(all, strings.TrimSpace(one.Cause.Kind+" "+one.Cause.Subject))
	}
	r.reports = nil
	return all
}

const hook = "https://ops.example/hooks/secret-token"

func hooksTo(r *receiver, m Memory, log *slog.Logger) *Hooks {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return New(Options{Crawl: "docs", OnDone: hook, OnProblem: hook, Memory: m, Transport: r, Log: log, Status: func() any { return map[string]int{"stored": 7} }})
}

// running runs hooks until the function that it returns is called.
func running(h *Hooks) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { h.Run(ctx) })
	return func() { cancel(); wg.Wait() }
}

func expect(t *testing.T, when string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: reported %q, want %q", when, got, want)
	}
}

// Each cause is reported once, also after a restart, and again if it was over meanwhile.
func TestOncePerCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, m := &receiver{}, &memory{}
		disk, host := Cause{Kind: KindDisk, Text: "12 MiB free"}, Cause{Kind: KindHost, Subject: "a.example"}
		feed := Cause{Kind: KindFeed, Subject: "postgres"}
		h := hooksTo(r, m, nil)
		stop := running(h)
		h.Set("crawl", []Cause{disk, host})
		expect(t, "two causes", r.got(), "disk", "host a.example")
		disk.Text = "11 MiB free"
		h.Set("crawl", []Cause{disk, host})
		expect(t, "another text", r.got())
		h.Set("feed", []Cause{feed})
		expect(t, "another source", r.got(), "feed postgres")
		stop()

		h = hooksTo(r, m, nil)
		stop = running(h)
		expect(t, "a restart, before the sources say anything", r.got())
		h.Set("crawl", []Cause{disk, host})
		expect(t, "a restart", r.got())
		h.Set("feed", []Cause{feed})
		expect(t, "a restart, and the other source", r.got())
		h.Set("crawl", []Cause{host})
		expect(t, "the disk has space", r.got())
		h.Set("crawl", []Cause{host, disk})
		expect(t, "the disk is full again", r.got(), "disk")
		stop()

		h = hooksTo(r, m, nil)
		stop = running(h)
		h.Set("crawl", nil)
		expect(t, "a restart, and everything is well", r.got())
		h.Set("crawl", []Cause{disk})
		expect(t, "the disk is full once more", r.got(), "disk")
		stop()
	})
}

// The report of a request that is refused, or not answered, is tried again a few times. Then the
// crawl goes on without it, and other causes are reported.
func TestRequestsAreTriedAgain(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status func(n int) int
		tries  int
		got    []string
	}{
		{"busy, then well", func(n int) int { return []int{503, 429, 0, 200}[n-1] }, 4, []string{"disk"}},
		{"never", func(int) int { return 500 }, attempts, nil},
		{"refused", func(int) int { return 403 }, 1, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			var log strings.Builder
			r, m := &receiver{status: tt.status}, &memory{}
			h := hooksTo(r, m, slog.New(slog.NewTextHandler(&log, nil)))
			stop := running(h)
			h.Set("crawl", []Cause{{Kind: KindDisk}})
			time.Sleep(time.Hour)
			h.Set("crawl", []Cause{{Kind: KindDisk, Text: "still"}})
			time.Sleep(time.Hour)
			expect(t, tt.name, r.got(), tt.got...)
			if len(r.times) != tt.tries {
				t.Errorf("%s: %d attempts, want %d", tt.name, len(r.times), tt.tries)
			}
			for i := 1; i < len(r.times); i++ {
				if pause := r.times[i].Sub(r.times[i-1]); pause < leastPause/2 || pause > 2*mostPause {
					t.Errorf("%s: a pause of %v", tt.name, pause)
				}
			}
			r.status = nil
			h.Set("crawl", []Cause{{Kind: KindDisk}, {Kind: KindPaused}})
			expect(t, tt.name, r.got(), "paused")
			stop()
			if strings.Contains(log.String(), "secret-token") {
				t.Errorf("the log has the secret of the URL: %s", log.String())
			}
		})
	}
}

// What was sent and could not be remembered is sent again after a restart; nothing stops.
func TestForgetfulMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, m := &receiver{}, &memory{err: errors.New("broken")}
		for range 2 {
			h := hooksTo(r, m, nil)
			stop := running(h)
			h.Set("crawl", []Cause{{Kind: KindPaused}})
			expect(t, "without a memory", r.got(), "paused")
			stop()
			m.data = []byte("{") // unreadable
		}
	})
}

func TestEndIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{}
		h := hooksTo(r, &memory{}, nil)
		h.End(t.Context(), Cause{Kind: KindLimit, Text: "max-pages"})
		if len(r.reports) != 1 || r.reports[0].Event != EventEnd || r.reports[0].Crawl != "docs" || r.reports[0].Cause.Text != "max-pages" {
			t.Fatalf("%+v", r.reports)
		}
		if st, ok := r.reports[0].Status.(map[string]any); !ok || st["stored"] != 7.0 {
			t.Errorf("%+v", r.reports[0].Status)
		}
		expect(t, "the end", r.got(), "limit")
		h.opt.OnDone = ""
		h.End(t.Context(), Cause{Kind: KindFailed, Text: "no disk"})
		h.End(t.Context(), Cause{Kind: KindDone})
		expect(t, "an error", r.got(), "failed")
	})
}

// Not more causes than the limit are reported, and the crawl hears of none of it.
func TestManyCauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, m := &receiver{}, &memory{}
		h := hooksTo(r, m, nil)
		stop := running(h)
		var many []Cause
		for i := range maxCauses + 1 {
			many = append(many, Cause{Kind: KindHost, Subject: strings.Repeat("a", i+1)})
		}
		h.Set("crawl", many[:maxCauses])
		if n := len(r.got()); n != maxCauses {
			t.Errorf("%d causes were reported, want %d", n, maxCauses)
		}
		h.Set("crawl", many)
		expect(t, "one too many", r.got())
		stop()
	})
}

func TestProblem(t *testing.T) {
	for hook, want := range map[string]string{
		"": "", "/usr/bin/notify now": "", "https://ops.example/x": "", "http://127.0.0.1:8080": "",
		" ": "no command", "https://": "is not a URL", "http://a b/": "is not a URL", "https://ops.example/#x": "is not a URL",
		strings.Repeat("x", maxCommand): "", strings.Repeat("x", maxCommand+1): "longer than 4 KiB", "a\x00b": "zero byte",
	} {
		if got := Problem(hook); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%.20q: %q, want %q", hook, got, want)
		}
	}
}
