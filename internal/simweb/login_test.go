package simweb

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// A web with a password answers nobody without it, not even for robots.txt, and the log states who
// signed a request.
func TestLogin(t *testing.T) {
	w := New(Config{Hosts: 1, Login: "agency:an example"})
	for _, path := range []string{"/", "/robots.txt"} {
		for _, tt := range []struct {
			user, password string
			refused        bool
		}{{"", "", true}, {"agency", "another", true}, {"agency", "an example", false}} {
			r := httptest.NewRequest("GET", "http://h0000.sim.test"+path, nil)
			r.Header.Set("Signature-Agent", `"https://bot.example.org"`)
			if tt.user != "" {
				r.SetBasicAuth(tt.user, tt.password)
			}
			answer := httptest.NewRecorder()
			w.ServeHTTP(answer, r)
			if (answer.Code == 401) != tt.refused || tt.refused != strings.HasPrefix(answer.Header().Get("WWW-Authenticate"), "Basic ") {
				t.Errorf("%s for %q: %d, %v", path, tt.user+":"+tt.password, answer.Code, answer.Header())
			}
		}
	}
	log := w.Log()
	if len(log) != 6 || log[5].Signer != "https://bot.example.org" {
		t.Fatalf("%d requests in the log: %+v", len(log), log)
	}
}
