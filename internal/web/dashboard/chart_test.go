package dashboard

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"
)

func TestDraw(t *testing.T) {
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.Local)
	times := []time.Time{at, at.Add(time.Minute), at.Add(2 * time.Minute), at.Add(4 * time.Minute)}
	c, ok := draw("Requests", "a second", false, times, rateOf, curve{"sent", "stored", []float64{0, 4, math.NaN(), 8}}, curve{"none", "queued", []float64{math.NaN(), math.NaN(), math.NaN(), math.NaN()}})
	if !ok || strings.Join(c.Y, " ") != "8/s 6/s 4/s 2/s 0/s" || strings.Join(c.X, " ") != "12:00:00 12:01:00 12:02:00 12:03:00 12:04:00" {
		t.Errorf("axes %v, %v", c.X, c.Y)
	}
	if got := c.Lines[0]; got.Path != "M0.0 200.0L250.0 100.0M1000.0 0.0" || got.Last != "8/s" {
		t.Errorf("line %+v", got)
	}
	if got := c.Lines[1]; got.Path != "" || got.Last != "–" {
		t.Errorf("of nothing: %+v", got)
	}
	zone, _ := at.Zone()
	if !strings.Contains(c.Summary, "12:00:00 to 12:04:00 "+zone) || !strings.Contains(c.Summary, "sent: 8/s at the end, 8/s at most") {
		t.Errorf("summary %q", c.Summary)
	}
	for name, few := range map[string][]time.Time{"no times": nil, "one": times[:1], "no time between": {at, at}} {
		if _, ok := draw("x", "", false, few, rateOf, curve{V: make([]float64, len(few))}); ok {
			t.Errorf("%s: drawn", name)
		}
	}
	if _, ok := draw("x", "", false, times, rateOf, curve{V: []float64{math.NaN(), math.NaN(), math.NaN(), math.NaN()}}); ok {
		t.Error("no value: drawn")
	}
	var b bytes.Buffer
	if err := pageTemplates.Of("layout.html").ExecuteTemplate(&b, "chart", c); err != nil {
		t.Fatal(err)
	}
	if s := b.String(); !strings.Contains(s, `d="M0.0 200.0L250.0 100.0M1000.0 0.0"`) || !strings.Contains(s, `role="img"`) || strings.Contains(s, "ZgotmplZ") {
		t.Errorf("drawn as %s", s)
	}
}

func TestNiceStep(t *testing.T) {
	for least, want := range map[float64]float64{0: 1, -1: 1, 1: 1, 1.1: 2, 2.2: 2.5, 3: 5, 7: 10, 0.03: 0.05, 1204: 2000, 2: 2, 1e-9: 1e-9} {
		if got := niceStep(least); math.Abs(got-want) > want*1e-9 {
			t.Errorf("niceStep(%v) = %v, want %v", least, got, want)
		}
	}
}
