package main

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/feed"
)

// A sink that accepts nothing for ten minutes while changes wait is a cause for attention.
func TestFeedLag(t *testing.T) { synctest.Test(t, testFeedLag) }

func testFeedLag(t *testing.T) {
	l := &lag{name: "search"}
	e := l.events(feed.Events{Sent: func(int, int) {}, Failed: func(error) {}, Behind: func(int64) {}})
	lags := func(after time.Duration) string {
		c, ok := l.cause(time.Now().Add(after))
		if ok != (c.Subject == "search") {
			t.Errorf("%+v, %v", c, ok)
		}
		return c.Text
	}
	if lags(24*time.Hour) != "" {
		t.Error("nothing waits, and it lags")
	}
	e.Behind(7)
	e.Failed(errors.New("connection refused"))
	if lags(lagsAfter-time.Second) != "" {
		t.Error("it lags too early")
	}
	if text := lags(lagsAfter + time.Second); !strings.Contains(text, "7 changes wait") || !strings.HasSuffix(text, "10m0s: connection refused") {
		t.Errorf("%q", text)
	}
	e.Sent(3, 0)
	if text := lags(lagsAfter + time.Second); strings.Contains(text, "refused") {
		t.Errorf("an error that is over is shown: %q", text)
	}
	e.Behind(0)
	if lags(24*time.Hour) != "" {
		t.Error("it has everything, and lags")
	}
}
