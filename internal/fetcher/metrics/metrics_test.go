package metrics

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func TestCodeLabel(t *testing.T) {
	for status, want := range map[int]string{200: "200", 404: "404", 799: "7xx", 299: "2xx"} {
		if got := codeLabel(status); got != want {
			t.Errorf("codeLabel(%d) = %s, want %s", status, got, want)
		}
	}
}

// Each stage has a name, and the metrics can be registered once.
func TestNew(t *testing.T) {
	r := prometheus.NewRegistry()
	m, err := New(r)
	if err != nil {
		t.Fatal(err)
	}
	m.Spent(Publish, time.Now())
	if got := m.StageSeconds(); len(got) != int(stages) {
		t.Errorf("%d stages, want %d: %v", len(got), stages, got)
	}
	if _, err := New(r); err == nil {
		t.Error("the same metrics were registered twice")
	}
}
