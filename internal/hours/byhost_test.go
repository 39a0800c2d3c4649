package hours_test

import (
	"testing"

	"github.com/curtsy/curtsy/internal/hours"
)

func TestHoursOfHosts(t *testing.T) {
	texts := map[string]string{"a.example": "20:00-23:00", "broken.example": "at night", "blank.example": " "}
	b, err := hours.NewByHost("22:00-06:00", "UTC", func(host string) string { return texts[host] })
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]string{
		"a.example": "22:00-06:00 and 20:00-23:00 (UTC)", "b.example": "22:00-06:00 (UTC)", "blank.example": "22:00-06:00 (UTC)", "broken.example": "at night (UTC)",
	} {
		if got := b.Of(host).String(); got != want {
			t.Errorf("%s: %s, want %s", host, got, want)
		}
	}
	now := at(t, "2026-12-01T22:30:00Z")
	if b.Of("broken.example").Open(now) || !b.Of("a.example").Open(now) || b.Own("b.example") != nil {
		t.Error("unreadable hours permit requests, or those of a host do not, or a host without hours has some of its own")
	}
	var none *hours.ByHost
	if !none.Of("a.example").Open(now) || none.OfCrawl() != nil {
		t.Error("no hours do not mean any time")
	}
	if _, err := hours.NewByHost("at night", "UTC", nil); err == nil {
		t.Error("unreadable hours of a crawl are accepted")
	}
}
