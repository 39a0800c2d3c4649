package dashboard

import (
	"net/http"
	"testing"
	"testing/synctest"
)

// A client that guesses tokens does not use up what clients with other addresses may try.
func TestTriesOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const token = "a long enough token"
		w := shows(Options{Token: token}, running())
		c := browse(t, w)
		from := func(addr string) func(*http.Request) { return func(r *http.Request) { r.RemoteAddr = addr } }
		for range 11 {
			c.get("/login?token=wrong", from("[2001:db8::1]:4000"))
		}
		for addr, want := range map[string]int{"[2001:db8::2]:4001": 429, "[2001:db8:0:1::1]:4000": 401, "192.0.2.7:4000": 401} {
			if code, _ := c.get("/login?token=wrong", from(addr)); code != want {
				t.Errorf("from %s: %d, want %d", addr, code, want)
			}
		}
	})
}
