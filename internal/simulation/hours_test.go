package simulation

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/hours"
	"github.com/curtsy/curtsy/internal/simweb/requestlog"
	"github.com/curtsy/curtsy/internal/siterules"
)

// setHours gives some worlds hours, for the whole crawl and for single hosts. A bubble begins at
// midnight, and most of a crawl is in its first two minutes.
func (w *world) setHours(spec *crawl.Spec) {
	if w.seed%6 != 3 || w.feeds != nil {
		return
	}
	r := rand.New(rand.NewPCG(w.seed, 34))
	some := func() string {
		closes := 1 + r.IntN(2)
		return fmt.Sprintf("00:00-00:%02d, 00:%02d-24:00", closes, closes+1+r.IntN(3))
	}
	if r.IntN(3) > 0 {
		spec.Hours = some()
	}
	if r.IntN(3) > 0 || spec.Hours == "" {
		spec.Sites = "sites:\n"
		for i := range 3 {
			spec.Sites += fmt.Sprintf("  %s:\n    hours: \"%s\"\n", hostName(i), some())
		}
	}
	w.note("hours: %q, site rules: %q", spec.Hours, spec.Sites)
}

// checkHours looks for requests outside of the hours.
func (w *world) checkHours() {
	if w.seed%6 != 3 || w.feeds != nil {
		return
	}
	rules, err := siterules.Of(&w.spec)
	if err != nil {
		w.t.Fatal(err)
	}
	open, err := hours.NewByHost(w.spec.Hours, w.spec.Timezone, rules.HoursByHost())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, q := range w.web.Log() {
		if at := open.Of(q.Host); !at.Open(q.Start) && !w.sentWithin(q, at) {
			w.fail("hours", "%s%s was requested at %v, outside of %v", q.Host, q.Path, q.Start, at)
		}
	}
}

// sentWithin reports whether a request that arrived outside of the hours was sent within them: it
// was in transit, for long only if the web was cut off.
func (w *world) sentWithin(q requestlog.Request, at *hours.Hours) bool {
	transit := 100 * ms
	if w.faults.web > 0 {
		transit = time.Minute
	}
	w.exchanges.mu.Lock()
	defer w.exchanges.mu.Unlock()
	for _, x := range w.exchanges.all {
		if x.host == q.Host && x.path == q.Path && !x.wrote.After(q.Start) && q.Start.Sub(x.wrote) < transit && at.Open(x.wrote) {
			return true
		}
	}
	return false
}
