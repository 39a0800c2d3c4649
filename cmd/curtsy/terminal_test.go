package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/testaid"
)

// terminal is a terminal, with all that was written to it.
type terminal struct{ bytes.Buffer }

// Terminal reports that it is one.
func (*terminal) Terminal() bool { return true }

// lines is what a person sees: a line that is cleared and written again counts as one.
func (s *terminal) lines() string {
	return regexp.MustCompile(`(?m)^.*`+regexp.QuoteMeta(term.ClearLine)).ReplaceAllString(s.String(), "")
}

// In a terminal a crawl has one line that changes, and leaves a summary for a person at the end,
// without the log of the services.
func TestCrawlInATerminal(t *testing.T) {
	virtual(t, func(t *testing.T) {
		web := startWeb(t, simweb.Config{Hosts: 1, PagesPerHost: 90, Mix: func(int) simweb.Behavior { return simweb.Behavior{Robots: simweb.RobotsSubtree} }})
		var screen terminal
		args := []string{"crawl", "--dir", t.TempDir(), "--listen", "off", "--allow-private", "--delay", "1s", "--resolve", web.Resolve(), web.Seeds()[0]}
		began := time.Now()
		if code := runs(t, t.Context(), args, strings.NewReader(""), &screen, &screen); code != app.ExitOK {
			t.Fatalf("exit code %d\n%s", code, screen.String())
		}
		const want = `crawling h0000.sim.test and all other hosts of sim.test
done: [..] pages stored, 0 redirected, [..] refused, 0 failed, 0 queued, on 1 host
ended [..] after 1m[..]s, [..] KiB received
refused, by reason:
  robots       [..]  its robots.txt forbids it
to search it:  curtsy search "words" --dir [..]
why refused:   curtsy explain http://h0000.sim.test/private/[..]
to export it:  curtsy export pages --format markdown --dir [..]
`
		if diff := testaid.OutputDiff(want, screen.lines()); diff != "" {
			t.Error(diff)
		}
		// It is written again at most twice a second.
		redrawn := strings.Count(screen.String(), term.ClearLine)
		if most := int(time.Since(began)/term.RedrawEvery) + 2; redrawn < 30 || redrawn > most {
			t.Errorf("the line was drawn %d times in %v, want 30 to %d", redrawn, time.Since(began), most)
		}
		if n := strings.Count(screen.String(), "\n"); n != strings.Count(want, "\n") {
			t.Errorf("%d lines", n)
		}
	})
}
