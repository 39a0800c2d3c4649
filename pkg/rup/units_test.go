package rup

import (
	"encoding/json"
	"math"
	"testing"
	"time"
)

func TestRUP_6_1_LatencyValues(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Latency{
		"day": {1, Day}, "week": {1, Week}, "month": {1, Month}, "1-day": {1, Day}, "2-week": {2, Week}, "9999-month": {9999, Month},
	} {
		if got, err := ParseLatency(text); err != nil || got != want {
			t.Errorf("ParseLatency(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "0-day", "day-2", "2 day", "2-days", "-day", "days", "Day", "2-Day", "01-day", "10000-day", "+1-day", "1.5-day", "2-", "-", "2-day ", "hour", "２-day",
	} {
		if got, err := ParseLatency(text); err == nil {
			t.Errorf("ParseLatency(%q) = %v", text, got)
		}
	}
}

func TestRUP_6_1_SpanValues(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Span{"1-day": {1, Day}, "2-week": {2, Week}, "9999-month": {9999, Month}} {
		if got, err := ParseSpan(text); err != nil || got != want || got.String() != text {
			t.Errorf("ParseSpan(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "day", "week", "0-day", "day-2", "2 day", "2-days", "-day", "10000-day"} {
		if got, err := ParseSpan(text); err == nil {
			t.Errorf("ParseSpan(%q) = %v", text, got)
		}
	}
}

func TestRUP_6_1_Units(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for l, want := range map[Latency]time.Duration{
		{1, Day}: day, {1, Week}: 7 * day, {1, Month}: 30 * day, {3, Week}: 21 * day, {9999, Month}: math.MaxInt64, {}: 0, {1, "hour"}: 0,
	} {
		if got := l.Duration(); got != want || Span(l).Duration() != want {
			t.Errorf("%v lasts %v, want %v", l, got, want)
		}
	}
}

// Rounded up to whole days; weeks and months only beyond four digits.
func TestRUP_6_3_SpanOf(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for _, c := range []struct {
		d    time.Duration
		want string
	}{
		{-time.Hour, "1-day"}, {0, "1-day"}, {1, "1-day"}, {day - 1, "1-day"}, {day, "1-day"}, {day + 1, "2-day"}, {60 * day, "60-day"},
		{9999 * day, "9999-day"}, {9999*day + 1, "1429-week"}, {10003 * day, "1429-week"}, {10004 * day, "1430-week"},
		{9999 * 7 * day, "9999-week"}, {9999*7*day + 1, "2334-month"}, {math.MaxInt64, "3559-month"},
	} {
		got, ok := SpanOf(c.d)
		if !ok || got.String() != c.want || c.d > 0 && got.Duration() < c.d {
			t.Errorf("SpanOf(%v) = %v, %v; want %s", c.d, got, ok, c.want)
		}
	}
}

func TestUnitsAsJSON(t *testing.T) {
	t.Parallel()
	type both struct {
		L Latency
		S Span
	}
	for _, v := range []both{{}, {Latency{1, Week}, Span{2, Month}}} {
		text, err := json.Marshal(v)
		var back both
		if err != nil || json.Unmarshal(text, &back) != nil || back != v {
			t.Errorf("%+v as %s is %+v, %v", v, text, back, err)
		}
	}
	var v both
	if json.Unmarshal([]byte(`{"S":"week"}`), &v) == nil {
		t.Error("a span without a number was read")
	}
}
