package wire

import (
	"crypto/tls"
	"net/http"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/fetcher/wiretest"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/botauth"
)

// answered is the time in one answer.
type answered struct {
	addr string
	off  time.Duration // by how much our clock is ahead of its Date
	took time.Duration
	age  bool
}

func TestSkew(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		const s = time.Second
		start := time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)
		for name, tt := range map[string]struct {
			answers []answered
			want    []time.Duration // what was reported
		}{
			"right":                {[]answered{{"1.1.1.1", 0, s, false}, {"1.1.1.2", 2 * s, s, false}, {"1.1.1.3", -2 * s, s, false}}, nil},
			"at the limit":         {[]answered{{"1.1.1.1", 5 * s, 0, false}, {"1.1.1.2", 5 * s, 0, false}, {"1.1.1.3", 5 * s, 0, false}}, nil},
			"past the limit":       {[]answered{{"1.1.1.1", 6 * s, 0, false}, {"1.1.1.2", 6 * s, 0, false}, {"1.1.1.3", 6 * s, 0, false}}, []time.Duration{5 * s}},
			"behind":               {[]answered{{"1.1.1.1", -60 * s, s, false}, {"1.1.1.2", -60 * s, s, false}, {"1.1.1.3", -60 * s, s, false}}, []time.Duration{-59 * s}},
			"one server":           {[]answered{{"1.1.1.1", 60 * s, s, false}, {"1.1.1.1", 60 * s, s, false}, {"1.1.1.1", 60 * s, s, false}}, nil},
			"two servers":          {[]answered{{"1.1.1.1", 60 * s, s, false}, {"1.1.1.2", 60 * s, s, false}, {"1.1.1.1", 60 * s, s, false}}, nil},
			"they disagree":        {[]answered{{"1.1.1.1", 60 * s, s, false}, {"1.1.1.2", 90 * s, s, false}, {"1.1.1.3", -40 * s, s, false}, {"1.1.1.4", -41 * s, s, false}}, nil},
			"one agrees with us":   {[]answered{{"1.1.1.1", 60 * s, s, false}, {"1.1.1.2", 60 * s, s, false}, {"1.1.1.4", 0, s, false}, {"1.1.1.3", 60 * s, s, false}}, nil},
			"a cache":              {[]answered{{"1.1.1.1", 60 * s, s, true}, {"1.1.1.2", 60 * s, s, true}, {"1.1.1.3", 60 * s, s, true}}, nil},
			"slow answers":         {[]answered{{"1.1.1.1", -60 * s, 61 * s, false}, {"1.1.1.2", -60 * s, 61 * s, false}, {"1.1.1.3", -60 * s, 61 * s, false}}, nil},
			"once":                 {[]answered{{"1.1.1.1", 60 * s, s, false}, {"1.1.1.2", 60 * s, s, false}, {"1.1.1.3", 60 * s, s, false}, {"1.1.1.4", 60 * s, s, false}, {"1.1.1.5", 60 * s, s, false}, {"1.1.1.6", 60 * s, s, false}}, []time.Duration{59 * s}},
			"slow is no all clear": {[]answered{{"1.1.1.1", 60 * s, s, false}, {"1.1.1.2", 60 * s, s, false}, {"1.1.1.5", -60 * s, 90 * s, false}, {"1.1.1.3", 60 * s, s, false}}, []time.Duration{59 * s}},
			"again":                {[]answered{{"1.1.1.1", 60 * s, s, false}, {"1.1.1.2", 60 * s, s, false}, {"1.1.1.3", 60 * s, s, false}, {"1.1.1.4", 0, s, false}, {"1.1.1.1", -60 * s, s, false}, {"1.1.1.2", -60 * s, s, false}, {"1.1.1.3", -60 * s, s, false}}, []time.Duration{59 * s, -59 * s}},
		} {
			var k skew
			var told []time.Duration
			for i, a := range tt.answers {
				began := start.Add(time.Duration(i) * time.Hour)
				h := http.Header{"Date": {began.Add(-a.off).Format(http.TimeFormat)}}
				if a.age {
					h.Set("Age", "60")
				}
				if off, report := k.heard(netip.MustParseAddr(a.addr), h, began, began.Add(a.took)); report {
					told = append(told, off)
				}
			}
			if len(told) != len(tt.want) {
				t.Errorf("%s: told %v, want %v", name, told, tt.want)
				continue
			}
			for i := range told {
				if told[i] != tt.want[i] {
					t.Errorf("%s: told %v, want %v", name, told, tt.want)
				}
			}
		}
		var k skew
		for _, date := range []string{"", "tomorrow", "Mon, 23 Nov 2026 03:00:00 CET"} {
			for _, addr := range []string{"1.1.1.1", "1.1.1.2", "1.1.1.3"} {
				if _, report := k.heard(netip.MustParseAddr(addr), http.Header{"Date": {date}}, start.AddDate(1, 0, 0), start.AddDate(1, 0, 0)); report {
					t.Errorf("of %q something is told", date)
				}
			}
		}
	})
}

// Signed requests are counted, and their answers' clocks compared; others' are not.
func TestSigning_8_28_Clock(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		signer, _ := testSigner(t, botauth.FormString, "https://bot.example.org")
		for _, secure := range []bool{true, false} {
			late := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Date", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))
			})
			scheme, srv := "http", wiretest.HTTP(t, simnet.Of(t), late)
			var conf *tls.Config
			if secure {
				scheme, srv = "https", wiretest.HTTPS(t, simnet.Of(t), late, nil)
				conf = srv.Client().Transport.(*http.Transport).TLSClientConfig
			}
			h := newTestSession(t, Options{TLS: conf, Signer: signer}, srv.Listener.Addr().String(), "example.com")
			var ahead, signed atomic.Int64
			h.c.OnSigned(func() { signed.Add(1) })
			h.c.OnSkew(func(d time.Duration) { ahead.Store(int64(d)) })
			for range 2 { // two servers agree
				h.c.skew.voices[h.c.skew.n].addr = netip.AddrFrom4([4]byte{192, 0, 2, byte(h.c.skew.n)})
				h.c.skew.voices[h.c.skew.n].off = time.Hour
				h.c.skew.n++
			}
			for range 3 {
				if _, err := h.Fetch(urlOf(t, scheme+"://example.com/"), nil, wantAll); err != nil {
					t.Fatal(err)
				}
			}
			if n := signed.Load(); (n == 3) != secure || n != 0 && n != 3 {
				t.Errorf("%s: %d requests are signed", scheme, n)
			}
			if d := time.Duration(ahead.Load()); secure != (d > 59*time.Minute && d <= time.Hour) || !secure && d != 0 {
				t.Errorf("%s: told that the clock is ahead by %v", scheme, d)
			}
		}
	})
}
