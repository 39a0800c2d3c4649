package mobile

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of tickets.
const (
	MaxTicket = 8 << 10        // octets of the line, without its end
	MaxLife   = 24 * time.Hour // from NotBefore to NotAfter
	Skew      = time.Minute    // how much the clocks of host and sender may differ
	nonceSize = 16             // octets
	maxToken  = 64             // octets of a product token
)

// context is signed in front of the ticket, so that a signature over anything else that the key was
// used for is never one of a ticket.
const context = "curtsy mobile robot ticket 1\n"

// ticketVersion is the only version there is.
const ticketVersion = 1

// ErrTicket means that a ticket cannot be parsed. It is wrapped with the reason.
var ErrTicket = errors.New("not a ticket")

// ErrSignature means that a ticket was not signed by the key that it names.
var ErrSignature = errors.New("the signature does not match the ticket")

// Ticket is the permission of a robot's operator to run one robot once.
type Ticket struct {
	Version   int    `json:"version"`    // 1
	Key       string `json:"key"`        // the operator's Ed25519 key, base64
	Host      string `json:"host"`       // the address of the host: atp://host[:port]
	Site      string `json:"site"`       // the origin of the documents: https://www.example.org
	Subtree   string `json:"subtree"`    // canonical path; begins and ends with "/"
	Token     string `json:"token"`      // product token, to which robots.txt applies
	Module    string `json:"module"`     // SHA-256 of the module, in lower-case hexadecimal digits
	Input     string `json:"input"`      // SHA-256 of the input, likewise
	NotBefore int64  `json:"not_before"` // Unix seconds
	NotAfter  int64  `json:"not_after"`  // Unix seconds, at most MaxLife later
	Nonce     string `json:"nonce"`      // 128 random bits, base64
}

// Signer is an operator's key.
type Signer interface {
	Public() ed25519.PublicKey
	SignMessage(message []byte) []byte
}

// Digest is how tickets name modules and inputs.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// KeyText is how tickets and allow-lists name a key.
func KeyText(key ed25519.PublicKey) string { return base64.StdEncoding.EncodeToString(key) }

// ParseKey parses what KeyText returns.
func ParseKey(s string) (ed25519.PublicKey, error) {
	b, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil || len(b) != ed25519.PublicKeySize || KeyText(b) != s {
		return nil, errors.New("a key is the base64 text of 32 octets")
	}
	return b, nil
}

// Sign fills in version, key and a nonce from random, and returns the line of the ticket, without
// its end, and its signature. It fails if the host would have to refuse the line.
func (t Ticket) Sign(key Signer, random io.Reader) (line, signature []byte, err error) {
	nonce := make([]byte, nonceSize)
	if _, err := io.ReadFull(random, nonce); err != nil {
		return nil, nil, err
	}
	t.Version, t.Key, t.Nonce = ticketVersion, KeyText(key.Public()), base64.StdEncoding.EncodeToString(nonce)
	if line, err = t.line(); err != nil {
		return nil, nil, err
	}
	if _, err := ParseTicket(line); err != nil {
		return nil, nil, err
	}
	return line, key.SignMessage(append([]byte(context), line...)), nil
}

// Verify parses the line of a ticket and checks its signature against the key that the ticket
// names. Whether that key may do anything is not decided here. The error is ErrTicket or
// ErrSignature.
func Verify(line, signature []byte) (Ticket, error) {
	t, err := ParseTicket(line)
	if err != nil {
		return Ticket{}, err
	}
	key, err := ParseKey(t.Key)
	if err != nil || !ed25519.Verify(key, append([]byte(context), line...), signature) {
		return Ticket{}, ErrSignature
	}
	return t, nil
}

// ParseTicket parses the line of a ticket. It is strict: a field that is unknown, missing or
// malformed is an ErrTicket, because a host that skips a field could miss a restriction.
func ParseTicket(line []byte) (Ticket, error) {
	var t Ticket
	switch {
	case len(line) > MaxTicket:
		return Ticket{}, fmt.Errorf("%w: longer than %d octets", ErrTicket, MaxTicket)
	case !utf8.Valid(line) || bytes.ContainsAny(line, "\r\n"):
		return Ticket{}, fmt.Errorf("%w: not one line of UTF-8", ErrTicket)
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&t); err != nil {
		return Ticket{}, fmt.Errorf("%w: %s", ErrTicket, strings.TrimPrefix(err.Error(), "json: "))
	}
	// A line has one spelling, so nothing can be in it twice or behind it.
	if again, err := t.line(); err != nil || !bytes.Equal(again, line) {
		return Ticket{}, fmt.Errorf("%w: not in the order and spelling of the documentation, or with a field missing", ErrTicket)
	}
	if err := t.check(); err != nil {
		return Ticket{}, fmt.Errorf("%w: %w", ErrTicket, err)
	}
	return t, nil
}

// line is the one spelling of a ticket: the fields in their order, without blanks.
func (t Ticket) line() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(t)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func (t Ticket) check() error {
	nonce, err := base64.StdEncoding.Strict().DecodeString(t.Nonce)
	switch {
	case t.Version != ticketVersion:
		return fmt.Errorf("its version is not %d", ticketVersion)
	case err != nil || len(nonce) != nonceSize || base64.StdEncoding.EncodeToString(nonce) != t.Nonce:
		return fmt.Errorf("its nonce is not the base64 text of %d octets", nonceSize)
	case !validDigest(t.Module):
		return errors.New("its module is not a SHA-256 in lower-case hexadecimal digits")
	case !validDigest(t.Input):
		return errors.New("its input is not a SHA-256 in lower-case hexadecimal digits")
	case !ValidToken(t.Token):
		return errors.New("its token is not a product token, which has only A-Z, a-z, - and _")
	case !strings.HasPrefix(t.Subtree, "/") || !strings.HasSuffix(t.Subtree, "/"):
		return errors.New("its subtree does not begin and end with /")
	case t.Host == "" || t.Site == "":
		return errors.New("its host or its site is missing")
	case t.NotAfter <= t.NotBefore || t.NotBefore < 0 || t.NotAfter-t.NotBefore > int64(MaxLife/time.Second):
		return fmt.Errorf("it is not valid for a time of at most %s", MaxLife)
	}
	_, err = ParseKey(t.Key)
	return err
}

// ValidAt returns an error that says why a ticket is not valid now, or nil. Clocks may differ by
// Skew.
func (t Ticket) ValidAt(now time.Time) error {
	switch {
	case now.Before(time.Unix(t.NotBefore, 0).Add(-Skew)):
		return fmt.Errorf("the ticket is valid from %s on, and here it is %s", stamp(time.Unix(t.NotBefore, 0)), stamp(now))
	case now.After(t.Expires()):
		return fmt.Errorf("the ticket expired at %s, and here it is %s", stamp(time.Unix(t.NotAfter, 0)), stamp(now))
	}
	return nil
}

// Expires is when nobody accepts the ticket any more, whatever the difference of clocks.
func (t Ticket) Expires() time.Time { return time.Unix(t.NotAfter, 0).Add(Skew) }

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// ValidToken reports whether s is a product token (RFC 9309 §2.2.1): 1 to 64 letters, - and _.
func ValidToken(s string) bool {
	for i := range len(s) {
		if c := s[i]; c != '-' && c != '_' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return s != "" && len(s) <= maxToken
}

func validDigest(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(s) == 2*sha256.Size
}
