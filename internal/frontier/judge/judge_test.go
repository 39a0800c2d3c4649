package judge

import (
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// A pattern in --hurry may cover the operator's own hosts, but not a whole public suffix.
func TestHurries(t *testing.T) {
	j, err := New(crawl.Spec{Seeds: []string{"https://seed.example/"}, Hurry: []string{"*.example.org", "a.example.net"}})
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]bool{"seed.example": true, "example.org": true, "a.example.org": true, "a.example.net": true, "b.a.example.net": false, "example.com": false} {
		if got := j.Hurries(canon.Host(host)); got != want {
			t.Errorf("%s: %v", host, got)
		}
	}
	for _, open := range []string{"*.org", "*.co.uk", "*.github.io"} {
		if _, err := New(crawl.Spec{Hurry: []string{open}}); err == nil || !strings.Contains(err.Error(), "*.example.org") {
			t.Errorf("%s: %v", open, err)
		}
	}
}
