package answer

import (
	"net/http"
	"testing"

	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/pkg/canon"
)

func TestLocation(t *testing.T) {
	const at = canon.URL("http://a.example/d/x")
	for to, want := range map[string]canon.URL{"y": "http://a.example/d/y", "//b.example": "http://b.example/", "": "", "mailto:x": ""} {
		got, ok := Location(at, &wire.Answer{Header: http.Header{"Location": {to}}})
		if got != want || ok != (want != "") {
			t.Errorf("Location(%q) = %q, %v, want %q", to, got, ok, want)
		}
	}
}

func TestStatusText(t *testing.T) {
	for want, a := range map[string]wire.Answer{
		"HTTP 404": {Status: 404},
		`HTTP 401: it requires credentials ("Basic"): write them into a file for --credentials`: {Status: 401, Header: http.Header{"Www-Authenticate": {"Basic"}}},
		"HTTP 401: it refuses the credentials":                                                  {Status: 401, Credentials: wire.CredentialsSent},
		`HTTP 403: "it requires a signature: sig1=()"`:                                          {Status: 403, Header: http.Header{"Accept-Signature": {"sig1=()"}}},
	} {
		if got := StatusText(&a); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
