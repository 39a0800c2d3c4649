package indexer

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/curtsy/curtsy/internal/search"
)

// Questions are counted by their outcome, and a step from outside does not become a label.
func TestSearchMetrics(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	met, err := newMetrics(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	reg.MustRegister(met.questions, met.searching)
	a := answers{parts: func() []part { return nil }, metrics: met}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if err := a.search(t.Context(), []byte(`{"step":"rank"}`), nil); err != nil {
		t.Error(err)
	}
	if err := a.search(t.Context(), []byte(`{"step":"walrus"}`), nil); err == nil {
		t.Error("a step that nobody knows is answered")
	}
	met.searched(gone, search.StepShow, errors.New("the asker has gone"), 0)
	met.searched(t.Context(), search.StepShow, errors.New("the file is damaged"), 0)
	for _, c := range []struct{ step, outcome string }{{"rank", "answered"}, {"unknown", "failed"}, {"show", "given_up"}, {"show", "failed"}} {
		if n := testutil.ToFloat64(met.questions.WithLabelValues(c.step, c.outcome)); n != 1 {
			t.Errorf("%s %s: %v questions, want 1", c.step, c.outcome, n)
		}
	}
	all, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, f := range all {
		text.WriteString(f.String())
	}
	if strings.Contains(text.String(), "walrus") {
		t.Error("what was asked for is a label")
	}
	if n := testutil.CollectAndCount(met.searching); n != 7 { // six steps, and the unknown
		t.Errorf("%d histograms", n)
	}
}
