package look

import (
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// An action that waited for a frontier is shown with the time at which it was done, besides that of
// its line.
func TestLogTextOfAnActThatWaited(t *testing.T) {
	at := time.Date(2026, 11, 26, 8, 0, 0, 0, time.Local)
	l := crawl.LogLine{Time: at.Add(time.Hour), Audit: "pause-host", What: "a.example", Who: "ada@laptop", At: &at}
	if got, want := logText(l, true), "2026-11-26 09:00:00 audit      pause-host a.example by ada@laptop on 2026-11-26 08:00:00"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	l.Time = at.Add(time.Second)
	if got := logText(l, true); strings.Contains(got, " on ") {
		t.Errorf("%q: it did not wait", got)
	}
}
