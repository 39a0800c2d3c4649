package robots_test

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/pkg/robots"
	"golang.org/x/sys/unix"
)

// Twice the bytes must cost less than three times the work, also on input made to
// provoke the opposite.
func TestParseIsLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time")
	}
	for name, unit := range map[string]string{
		"rules":           "Disallow: /abc/def\n",
		"wildcards":       "Disallow: /*a*b%41\n",
		"CR only":         "Disallow: /abc/def\r",
		"agents":          "User-agent: a\n",
		"agents, hosts":   "User-agent: a\nHost: a.example\n",
		"groups":          "User-agent: *\nDisallow: /x\n",
		"delays":          "User-agent: *\nCrawl-delay: 1\nAllow: /\n",
		"one line":        "a:",
		"comments":        "#",
		"blank":           "\r\n",
		"blanks":          " ",
		"escapes":         "%",
		"sitemaps":        "Sitemap: /s\n",
		"clean params":    "Clean-param: a&b&c /x*\n",
		"agent servers":   "Mobile-agent-server: / a://b\n",
		"long hosts":      "Host: " + strings.Repeat("a.", 100) + "a\n",
		"nested":          "",
		"hosts, no match": "Host: a.example\n",
	} {
		t.Run(name, func(t *testing.T) {
			body := func(size int) []byte {
				b := []byte("User-agent: *\n")
				for n := 1; len(b) < size; n++ {
					if unit != "" {
						b = append(b, unit...)
					} else { // each pattern starts with the one before
						b = append(b, "Disallow: /"+strings.Repeat("a", n)+"\n"...)
					}
				}
				return b
			}
			work := func(b []byte) func() {
				return func() { robots.Parse(b).Rules("anybot", origin).Match("/aaaaaaa") }
			}
			one, two := leastWork(t, work(body(robots.MaxBytes/2)), work(body(robots.MaxBytes-1024)))
			if two >= 3*one+time.Millisecond {
				t.Errorf("%v for half, %v for all", one, two)
			}
		})
	}
}

// cpuTime is what this thread has worked so far. On a busy machine a clock on the wall says little:
// whatever takes longer than a time slice then takes several.
func cpuTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}

// leastWork returns what two pieces of work take at best, tried until the second takes less than
// three times the first, or often enough to say that it does not.
func leastWork(t *testing.T, small, big func()) (one, two time.Duration) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// a collection that falls into one of two looks like work
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	measure := func(work func()) time.Duration {
		runtime.GC()
		start := cpuTime()
		work()
		return cpuTime() - start
	}
	one, two = time.Hour, time.Hour
	for try := 0; try < 2 || try < 30 && two >= 3*one+time.Millisecond; try++ {
		one, two = min(one, measure(small)), min(two, measure(big))
	}
	return one, two
}
