package frontier

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/judge"
)

// The preview of a new spec states exactly what the spec does to the queue.
func TestAPreviewEqualsTheResult(t *testing.T) {
	for name, test := range map[string]struct {
		was, next     func(*crawl.Spec)
		adds, refuses int64
	}{
		"nothing":         {next: func(*crawl.Spec) {}},
		"deeper":          {was: func(s *crawl.Spec) { s.MaxDepth = 1 }, next: func(s *crawl.Spec) { s.MaxDepth = 2 }, adds: 1200},
		"less deep":       {next: func(s *crawl.Spec) { s.MaxDepth = 1 }, refuses: 1200},
		"excluded":        {next: func(s *crawl.Spec) { s.Exclude = []string{"/deep/1"} }, refuses: 311},
		"included":        {next: func(s *crawl.Spec) { s.Include = []string{"/flat/"} }, refuses: 1200},
		"no include":      {was: func(s *crawl.Spec) { s.Include = []string{"/flat/"} }, next: func(s *crawl.Spec) { s.Include = nil }, adds: 1200},
		"let in again":    {was: func(s *crawl.Spec) { s.Exclude = []string{"/deep/1", "/flat/"} }, next: func(s *crawl.Spec) { s.Exclude = []string{"/flat/"} }, adds: 311},
		"one for another": {was: func(s *crawl.Spec) { s.Exclude = []string{"/flat/"} }, next: func(s *crawl.Spec) { s.Exclude = []string{"/deep/"} }, adds: 800, refuses: 1200},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				spec := testSpec("http://a.example/")
				b := newBench(t, spec)
				b.links(0, "", "http://a.example/")
				for i := range 800 {
					b.links(1, "http://a.example/", fmt.Sprintf("http://a.example/flat/%d", i))
				}
				for i := range 1200 {
					b.links(2, "http://a.example/", fmt.Sprintf("http://a.example/deep/%d", i))
				}
				if test.was != nil {
					b.respec(test.was)
					b.passes()
				}
				before := b.status().Queued
				next := b.spec
				test.next(&next)
				var got crawl.SpecEffect
				a := answers{shards: func() []*Shard { return []*Shard{b.s} }, spec: func() crawl.Spec { return b.spec }}
				if err := a.judge(t.Context(), next, func(part crawl.SpecEffect) error { got.Merge(part); return nil }); err != nil {
					t.Fatal(err)
				}
				p := crawl.NewPreview(got, crawl.SpecEffect{})
				if p.Adds != test.adds || p.Refuses != test.refuses || p.About || got.Looked != 2001 {
					t.Errorf("preview %+v of %d, want %d and %d", p, got.Looked, test.adds, test.refuses)
				}
				if st := b.status(); st.Queued != before {
					t.Errorf("looking changed the queue from %d to %d", before, st.Queued)
				}
				b.respec(test.next)
				b.passes()
				if st := b.status(); st.Queued-before != p.Adds-p.Refuses {
					t.Errorf("the queue went from %d to %d, the preview was %+v", before, st.Queued, p)
				}
			})
		})
	}
}

// If there is more than a preview can read, the sum is extrapolated, and marked as an estimate.
func TestAPreviewOfManyIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		for i := range 4000 {
			b.links(1+i%2, "", fmt.Sprintf("http://a.example/%d", i))
		}
		next := b.spec
		next.MaxDepth = 1
		j, err := judge.New(next)
		if err != nil {
			t.Fatal(err)
		}
		got, err := b.s.Specs.Effect(t.Context(), &j, 1500)
		if err != nil {
			t.Fatal(err)
		}
		p := crawl.NewPreview(got, crawl.SpecEffect{})
		if got.Looked != 2000 || !p.About || p.Refuses != 2000 || p.Adds != 0 {
			t.Errorf("%d looked at: %+v, want about 2,000 refused", got.Looked, p)
		}
	})
}
