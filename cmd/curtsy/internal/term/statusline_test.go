package term

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// lineTerminal is a terminal, with all that was written to it.
type lineTerminal struct{ bytes.Buffer }

// Terminal reports that it is one.
func (*lineTerminal) Terminal() bool { return true }

// A line that shows progress is redrawn in a terminal and printed each minute elsewhere. It is
// never longer than the terminal and never repeated.
func TestStatusLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		run := func(l *StatusLine) {
			for range 200 {
				// Nothing changes after the first minute and a half.
				l.Show(func() string { return fmt.Sprintf("%d read", min(int(time.Since(began).Seconds()), 90)) })
				time.Sleep(time.Second)
			}
			l.Clear()
		}
		var plain bytes.Buffer
		run(NewStatusLine(&plain))
		at := func(seconds int) string {
			return began.Add(time.Duration(seconds) * time.Second).Local().Format(time.TimeOnly)
		}
		if got, want := plain.String(), at(10)+"  10 read\n"+at(70)+"  70 read\n"+at(130)+"  90 read\n"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
		var screen lineTerminal
		began = time.Now()
		run(NewStatusLine(&screen))
		if got := bytes.Count(screen.Bytes(), []byte(ClearLine)); got != 92 { // 0 to 90, and away
			t.Errorf("drawn %d times", got)
		}
		if got := screen.String()[strings.LastIndex(screen.String(), ClearLine)+len(ClearLine):]; got != "" {
			t.Errorf("left on the screen: %q", got)
		}
	})
}
