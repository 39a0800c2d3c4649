package config

import (
	"slices"
	"strings"
	"testing"
)

// The fields that a feed sends are named with commas between them, or one at a time. Without names
// it sends all.
func TestFeedFields(t *testing.T) {
	for args, want := range map[string][]string{
		"": nil, "--fields url": {"url"}, "--fields url,title,text": {"url", "title", "text"}, "--fields url,title --fields title,kind,": {"url", "title", "kind"},
	} {
		c := NewFeed()
		if _, err := load(t, c, strings.Fields(args)...); err != nil || !slices.Equal(c.Fields, want) || (c.Fields == nil) != (want == nil) {
			t.Errorf("%s: %q, %v", args, c.Fields, err)
		}
	}
}
