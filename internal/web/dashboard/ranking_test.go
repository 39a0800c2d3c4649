package dashboard

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// However many clients follow the overview, the question for a ranking takes at most one part in a
// hundred of the time, and an error is repeated for a tenth as long.
func TestRankingTakesLittleTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k ranking
		const took = 2 * time.Second
		asks, began, bad := 0, time.Now(), error(nil)
		ask := func() ([]crawl.HostRow, error) {
			asks++
			time.Sleep(took)
			if bad != nil {
				return nil, bad
			}
			return []crawl.HostRow{{Host: "a.example", Queued: int64(asks)}}, nil
		}
		look := func(ctx context.Context, state string) int64 {
			rows := k.of(ctx, state, ask)
			if len(rows) == 0 {
				return 0
			}
			return rows[0].Queued
		}
		got := make(chan int64, 8)
		for range cap(got) {
			go func() { got <- look(t.Context(), "running") }()
		}
		for range cap(got) {
			if n := <-got; n != 1 {
				t.Errorf("at first answer %d is given", n)
			}
		}
		for time.Since(began) < time.Hour {
			if look(t.Context(), "running") == 0 {
				t.Fatal("there is no answer")
			}
			time.Sleep(time.Second)
		}
		if part := float64(asks) * took.Seconds() / time.Since(began).Seconds(); part > 0.0101 || asks < 17 {
			t.Errorf("%d times asked: %.3f of the time", asks, part)
		}
		// Another state is asked for at once. A client that gives up leaves nothing behind.
		gone, leave := context.WithCancel(t.Context())
		leave()
		n := asks
		look(gone, "done")
		if got := look(t.Context(), "done"); got != int64(n+2) {
			t.Errorf("when the crawl has ended, answer %d is given, want %d", got, n+2)
		}
		bad = errors.New("nobody answers")
		if got := look(t.Context(), "stopped"); got != 0 {
			t.Errorf("an error gives answer %d", got)
		}
		bad, n = nil, asks
		if got := look(t.Context(), "stopped"); got != 0 || asks != n {
			t.Error("an error is not given again")
		}
		time.Sleep(rankShare / 10 * took)
		if look(t.Context(), "stopped") == 0 {
			t.Error("an error is given for too long")
		}
	})
}
