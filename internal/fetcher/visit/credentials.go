package visit

import (
	"net/http"

	"github.com/curtsy/curtsy/internal/fetcher/wire"
)

// Wants says for people what an answer of 400, 401 or 403 wants of us and did not get, and what to
// type if we have it; or nothing.
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
		challenge = " (" + detailText(c) + ")"
	}
	return "it requires credentials" + challenge + ": write them into a file for --credentials"
}

// requiresCredentials says why a page or rule that only credentials have opened is not used to
// decide about another host.
const requiresCredentials = "its site requires credentials: pages fetched with credentials are not compared with other hosts"
