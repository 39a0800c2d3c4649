package config

import "testing"

func TestOrigin(t *testing.T) {
	for s, want := range map[string]bool{
		"https://docs.example.org": true, "http://127.0.0.1:8080": true, "https://[::1]:8443": true,
		"https://docs.example.org/": false, "https://Docs.example.org": false, "docs.example.org": false, "*": false, "https://*": false, "https://*.example.org": false,
		"null": false, "": false, "file:///x": false, "https://": false, "https://a@b": false, "https://a?b": false, "https://a#b": false,
	} {
		if got := origin(s); got != want {
			t.Errorf("origin(%q) = %v", s, got)
		}
	}
}
