package wire

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/curtsy/curtsy/internal/fetcher/wiretest"
	"github.com/curtsy/curtsy/internal/simnet"
)

// A host belongs to its registered domain, and to the block of its address once that is known and
// public. Hosts at one private address, behind a reverse proxy for example, are not one party.
func TestParties(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := wiretest.New(t, simnet.Of(t), wiretest.Answer(wiretest.OKAnswer))
		for reach, want := range map[Reach]string{
			private: "[example.co.uk]",
			Public:  "[example.co.uk 127.0.0.1]",
		} {
			h := newTestSession(t, Options{}, w.Addr().String(), "www.example.co.uk")
			h.c.Reach, h.cfg.Contact = func(netip.Addr) Reach { return reach }, true
			if got := fmt.Sprint(h.Parties()); got != "[example.co.uk]" {
				t.Errorf("before a request: %s", got)
			}
			if _, err := h.Fetch(urlOf(t, "http://www.example.co.uk/"), nil, wantAll); err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(h.Parties()); got != want {
				t.Errorf("with reach %v: %s, want %s", reach, got, want)
			}
		}
	})
}
