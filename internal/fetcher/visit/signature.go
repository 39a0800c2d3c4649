package visit

import (
	"net/http"
	"strconv"

	"github.com/curtsy/curtsy/internal/fetcher/wire"
)

// wantsSignature says for people that a site would answer a signed request, or another signature:
// 403 with Accept-Signature (RFC 9421 §5, formats §8.31). Otherwise it is a 403 like any other.
func wantsSignature(a *wire.Answer) string {
	if a.Status != http.StatusForbidden || len(a.Header["Accept-Signature"]) == 0 {
		return ""
	}
	return detailText("it requires a signature: " + a.Header.Get("Accept-Signature"))
}

// statusText is an answer's status for people, as the reason why nothing came of it.
func statusText(a *wire.Answer) string {
	text := "HTTP " + strconv.Itoa(a.Status)
	if wants := Wants(a); wants != "" {
		text += ": " + wants
	}
	return text
}
