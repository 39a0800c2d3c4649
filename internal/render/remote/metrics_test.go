package remote

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/curtsy/curtsy/internal/render"
)

// Pages are counted by what became of them. A renderer is unavailable until a page shows that it is
// not.
func TestCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		errs := []error{nil, &render.Failed{Why: "endless"}, render.ErrUnavailable, context.Canceled, nil}
		var next error
		all := prometheus.NewRegistry()
		c, err := Count(fake(func(_ context.Context, _ *render.Page, fetch render.Fetch) (*render.Result, error) {
			time.Sleep(time.Second)
			fetch(render.Request{})
			return nil, next
		}), func() int { return 3 }, all)
		if err != nil {
			t.Fatal(err)
		}
		for i, err := range errs {
			next = err
			if _, got := c.Render(t.Context(), nil, func(render.Request) render.Response { time.Sleep(time.Minute); return render.Response{} }); got != err {
				t.Errorf("Render = %v", got)
			}
			if why := c.Err(); errors.Is(why, render.ErrUnavailable) != (i == 2 || i == 3) {
				t.Errorf("after %v it is unavailable: %v", err, why)
			}
		}
		for result, want := range map[string]float64{"rendered": 2, "failed": 1, "unavailable": 1, "given_up": 1} {
			if got := testutil.ToFloat64(c.pages.WithLabelValues(result)); got != want {
				t.Errorf("%v pages are %s", got, result)
			}
		}
		if n := testutil.ToFloat64(c.requests); n != 5 {
			t.Errorf("%v requests", n)
		}
		if n, err := testutil.GatherAndCount(all, "curtsy_render_browsers_started_total"); err != nil || n != 1 {
			t.Errorf("browsers are not counted: %v", err)
		}
		reg := prometheus.NewRegistry()
		reg.MustRegister(c.took)
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		if sum := families[0].Metric[0].Histogram.GetSampleSum(); sum != 5 {
			t.Errorf("pages took %v s, without waiting", sum)
		}
	})
}
