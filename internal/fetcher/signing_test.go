package fetcher

import (
	"bytes"
	"crypto/rand"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/curtsy/curtsy/pkg/botauth"
)

// A fetcher that signs reports it, and signed requests are counted.
func TestSigningIsTold(t *testing.T) {
	virtual(t, func(t *testing.T) {
		key, err := botauth.NewKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		signer, err := botauth.NewSigner(key, "https://bot.example.org", botauth.FormString)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []*botauth.Signer{nil, signer} {
			var log bytes.Buffer
			reg := prometheus.NewRegistry()
			d := newDesk(t, 1)
			if _, err := New(d.q, testSpec(1, "127.0.0.1:1"), Options{Signer: s, Registerer: reg, Log: slog.New(slog.NewTextHandler(&log, nil))}); err != nil {
				t.Fatal(err)
			}
			all, err := reg.Gather()
			if err != nil {
				t.Fatal(err)
			}
			counted := false
			for _, m := range all {
				counted = counted || m.GetName() == "curtsy_fetcher_requests_signed_total"
			}
			if reported := strings.Contains(log.String(), "https://bot.example.org"); !counted || reported != (s != nil) {
				t.Errorf("signed %v: counted %v, told %v: %s", s != nil, counted, reported, &log)
			}
		}
	})
}
