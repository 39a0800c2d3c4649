// Package botauth signs HTTP requests, and verifies signed ones, according to Web Bot Auth: HTTP
// message signatures (RFC 9421) with an Ed25519 key, whose public half is in a directory at the
// crawler's own site.
//
// A [Signer] proves for each request who sends it: [Signer.Sign] makes its three header fields.
// [Verify] reads them as an origin would, and reports what is wrong with each signature. A
// [Directory] is the set of keys that an origin fetches; [SignDirectory] proves that its host has
// them.
//
// The drafts still change, so three forms of the Signature-Agent field are in use; see [Form]. The
// package follows draft-meunier-web-bot-auth-architecture-03 ([FormString]),
// draft-ietf-webbotauth-httpsig-protocol-00 ([FormDictionary]) and -01 of the same ([FormJWKS]).
//
// The package uses no clock and no network: the time and the random bytes of a nonce are
// parameters. Everything may be used concurrently.
package botauth

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// Tag marks the signature of a bot's request.
const Tag = "web-bot-auth"

// Names of the header fields of a signed request.
const (
	FieldAgent     = "Signature-Agent"
	FieldInput     = "Signature-Input"
	FieldSignature = "Signature"
)

// Form is how the Signature-Agent field identifies the owner of the key.
type Form string

const (
	// FormString is a bare String with an origin, which Cloudflare documents: "https://a.example".
	FormString Form = "string"
	// FormDictionary is a Dictionary whose member is an origin; the directory is at [DirectoryPath]
	// there: sig1="https://a.example".
	FormDictionary Form = "dictionary"
	// FormJWKS is a Dictionary whose member is the address of the key set itself:
	// sig1="https://a.example/keys.json".
	FormJWKS Form = "jwks"
)

// Forms are all forms, the default first.
var Forms = []Form{FormString, FormDictionary, FormJWKS}

// maxAgent is the longest address of an agent, in bytes.
const maxAgent = 512

// ParseAgent parses the address of an agent, and returns it as it is sent. With [FormString] and
// [FormDictionary] it is an origin; with [FormJWKS] it is the address of a key set. The error
// describes what is allowed.
func ParseAgent(raw string, form Form) (string, error) {
	if len(raw) > maxAgent {
		return "", fmt.Errorf("it is longer than %d bytes", maxAgent)
	}
	if strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '"' || r == '\\' }) {
		return "", errors.New("it contains a space, a quote or a non-ASCII character; use for example https://bot.example.org")
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Scheme != "https" || u.Host == "" || u.Hostname() == "" || u.Opaque != "":
		return "", errors.New("it is not an https address; use for example https://bot.example.org")
	case u.User != nil || strings.Contains(raw, "#"):
		return "", errors.New("it contains a user name or a fragment; use for example https://bot.example.org")
	}
	if _, err := netip.ParseAddr(u.Hostname()); err == nil {
		return "", errors.New("its host is an IP address; use a host name, for example https://bot.example.org")
	}
	origin := "https://" + Authority("https", u.Host)
	bare := (u.Path == "" || u.Path == "/") && u.RawQuery == "" && !u.ForceQuery
	switch form {
	case FormString, FormDictionary:
		if !bare {
			return "", fmt.Errorf("with form %s it must be an origin without a path; use %s, or form %s", form, origin, FormJWKS)
		}
		return origin, nil
	case FormJWKS:
		if bare {
			return "", fmt.Errorf("with form %s it must be the address of the key set; use for example %s%s", form, origin, DirectoryPath)
		}
		return origin + strings.TrimPrefix(raw[strings.Index(raw, "//")+2:], u.Host), nil
	}
	return "", fmt.Errorf("form %q is unknown; use string, dictionary or jwks", form)
}
