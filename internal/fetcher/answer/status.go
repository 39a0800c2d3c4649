package answer

import (
	"net/http"
	"strconv"

	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Overloaded reports whether a server says with this status that it has too much to do.
func Overloaded(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
}

// Redirects reports whether an answer with this status leads elsewhere.
func Redirects(status int) bool {
	return status >= 300 && status <= 399 && status != http.StatusNotModified
}

// Temporary reports whether a redirect with this status may end some day (RFC 9110 §15.4).
func Temporary(status int) bool {
	return status != http.StatusMovedPermanently && status != http.StatusPermanentRedirect
}

// Location returns where a redirect of u leads. ok is false if its Location is missing or is not a
// URL that we understand.
func Location(u canon.URL, a *wire.Answer) (next canon.URL, ok bool) {
	to := a.Header.Get("Location")
	if next, err := canon.NewBase(u).Join(to); to != "" && err == nil {
		return next, true
	}
	return "", false
}

// StatusText describes an answer's status for people, with what it asks of us ([Wants]).
func StatusText(a *wire.Answer) string {
	text := "HTTP " + strconv.Itoa(a.Status)
	if wants := Wants(a); wants != "" {
		text += ": " + wants
	}
	return text
}

// Wants says for people what an answer of status 400, 401 or 403 asks of us that we did not send,
// and which option sends it. It is empty for other answers.
func Wants(a *wire.Answer) string {
	if s := wantsSignature(a); s != "" {
		return s
	}
	refused := a.Status == http.StatusUnauthorized || a.Status == http.StatusForbidden
	switch {
	case a.Credentials == wire.CredentialsWithheld && refused:
		return "its credentials are not sent over http to a public address; use https"
	case a.CertWanted && (refused || a.Status == http.StatusBadRequest):
		return "it asked for a client certificate: add cert: and key: to the file for --credentials"
	case a.Status != http.StatusUnauthorized:
		return ""
	case a.Credentials == wire.CredentialsSent:
		return "it refuses the credentials"
	}
	challenge := ""
	if c := a.Header.Get("WWW-Authenticate"); c != "" {
		challenge = " (" + Quote(c) + ")"
	}
	return "it requires credentials" + challenge + ": write them into a file for --credentials"
}

// wantsSignature says for people that a site asks for a signed request, or for another signature:
// status 403 with Accept-Signature (RFC 9421 §5, formats §8.31). Such an answer is otherwise
// treated like any other 403.
func wantsSignature(a *wire.Answer) string {
	if a.Status != http.StatusForbidden || len(a.Header["Accept-Signature"]) == 0 {
		return ""
	}
	return Quote("it requires a signature: " + a.Header.Get("Accept-Signature"))
}

// Quote returns the first 200 bytes of what a site wrote, quoted and in ASCII.
func Quote(s string) string {
	if len(s) > 200 {
		s = s[:200]
	}
	return strconv.QuoteToASCII(s)
}
