package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/crawl"
)

// Rounds as an operator sees them: the command continues, status reports them, stop ends them.
func TestRoundsAreShown(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newStoppedCrawl(t)
		stop := start(t, "crawl", "--dir", r.dir, "--every", "1m")
		time.Sleep(time.Minute) // the first round
		var st crawl.Status
		await(t, "a second round", func() bool {
			var out, errs bytes.Buffer
			// An error means that it may be starting.
			code := runs(t, t.Context(), []string{"status", "--dir", r.dir, "--json"}, nil, &out, &errs)
			st = crawl.Status{}
			return code == app.ExitOK && json.Unmarshal(out.Bytes(), &st) == nil && st.Round != nil && st.Round.Number > 1
		})
		if st.State != "running" || st.Round.Next.Sub(st.Round.Began) != time.Minute {
			t.Errorf("%s, %+v", st.State, st.Round)
		}
		if text := curtsy(t, app.ExitOK, "status", "--dir", r.dir); !strings.Contains(text, "\nround ") || !strings.Contains(text, "the next begins ") {
			t.Errorf("status says: %s", text)
		}
		curtsy(t, app.ExitOK, "stop", "--dir", r.dir)
		if code := stop(); code != app.ExitInterrupted {
			t.Errorf("it ends with %d", code)
		}
	})
}
