package config

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Rounds begin with the command that asks for them and continue when it is typed again. Rounds and
// --recrawl replace each other.
func TestEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan := func(old *crawl.Spec, args ...string) crawl.Spec {
			t.Helper()
			c := NewCrawl()
			src, err := load(t, c, args...)
			if err != nil {
				t.Fatal(err)
			}
			return c.Plan.Spec(old, src.Given)
		}
		first := plan(nil, "--every", "24h")
		if first.Every != 24*time.Hour || time.Since(first.EverySince) > time.Minute || first.Recrawl {
			t.Errorf("%+v", first)
		}
		first.EverySince = first.EverySince.Add(-time.Hour)
		if again := plan(&first, "--every", "24h"); !again.EverySince.Equal(first.EverySince) {
			t.Errorf("the same command counts rounds from %v", again.EverySince)
		}
		if again := plan(&first); again.Every != first.Every {
			t.Error("who says nothing takes rounds away")
		}
		fresh := plan(&first, "--recrawl")
		if !fresh.Recrawl || fresh.Every != 0 {
			t.Errorf("--recrawl after rounds: %+v", fresh)
		}
		if back := plan(&fresh, "--every", "1h"); back.Recrawl || back.Every != time.Hour {
			t.Errorf("rounds after --recrawl: %+v", back)
		}
		if off := plan(&first, "--every", "0s"); off.Every != 0 || off.Refreshes() {
			t.Errorf("%+v", off)
		}
		for _, args := range [][]string{{"--every", "1s"}, {"--every", "59s"}, {"--every", "-1h"}, {"--every", "24h", "--recrawl"}} {
			if _, err := load(t, NewCrawl(), args...); err == nil || !strings.Contains(err.Error(), "24h") {
				t.Errorf("%v: %v", args, err)
			}
		}
	})
}

func TestTraces(t *testing.T) {
	for _, args := range [][]string{{"--trace-ratio", "0"}, {"--trace-ratio", "2"}, {"--trace-ratio", "much"}, {"--trace-endpoint", "otel:4318"}} {
		if _, err := load(t, NewFetcher(), append(args, "--nats", "nats://n1")...); err == nil || !strings.Contains(err.Error(), "use for example") {
			t.Errorf("%v: %v", args, err)
		}
	}
	_, err := load(t, NewCrawl(), "--trace-endpoint", "http://me:hunter2@otel.example")
	if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "OTEL_EXPORTER_OTLP_HEADERS") {
		t.Errorf("a password in the endpoint: %v", err)
	}
	c := NewCrawl()
	if _, err := load(t, c, "--trace-endpoint", "http://127.0.0.1:4318", "--trace-ratio", "0.25"); err != nil || c.TraceRatio != 0.25 {
		t.Errorf("%v, %v", err, c.TraceRatio)
	}
}
