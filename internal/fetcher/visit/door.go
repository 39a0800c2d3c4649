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
	case a.Door == wire.DoorWithheld && refused:
		return "credentials for it are not sent over http to a public address; give them for https"
	case a.CertWanted && (refused || a.Status == http.StatusBadRequest):
		return "it asked for a certificate of ours: cert: and key: in the file of --credentials"
	case a.Status != http.StatusUnauthorized:
		return ""
	case a.Door == wire.DoorShown:
		return "it does not take the credentials that it was shown"
	}
	challenge := ""
	if c := a.Header.Get("WWW-Authenticate"); c != "" {
		challenge = " (" + detailText(c) + ")"
	}
	return "it wants credentials" + challenge + ": write them into a file for --credentials"
}

// behindDoor says why a page or rule that only credentials have opened is not used to decide about
// another host.
const behindDoor = "its site is behind a door: what credentials open is not compared with other hosts'"
