package dashboard

import (
	"net/http"
	"testing"
)

// A client that guesses tokens does not lock out clients with other addresses.
func TestTriesOfOthers(t *testing.T) {
	const token = "a long enough token"
	w := shows(Options{Token: token}, running())
	c := browse(t, w)
	from := func(addr string) func(*http.Request) { return func(r *http.Request) { r.RemoteAddr = addr } }
	for range 11 {
		c.get("/login?token=wrong", from("[2001:db8::1]:4000"))
	}
	for addr, want := range map[string]int{"[2001:db8::2]:4001": 429, "[2001:db8:0:1::1]:4000": 303, "192.0.2.7:4000": 303} {
		if code, _ := c.get("/login?token=a+long+enough+token", from(addr)); code != want {
			t.Errorf("from %s: %d, want %d", addr, code, want)
		}
	}
}
