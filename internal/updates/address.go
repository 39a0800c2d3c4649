package updates

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/curtsy/curtsy/pkg/canon"
)

// Addresses makes the addresses to which sites send their reports: one for each site and
// registration (formats §6.5). An address can be recognised without a lookup, so mail to other
// addresses is refused before it is sent. The zero value makes none. It may be used concurrently.
type Addresses struct {
	Mailbox string // the operator's: curtsy@crawler.example
	Secret  []byte // the crawl's, at least 16 bytes
}

const (
	idBytes  = 8  // of the digest of site and attempt
	macBytes = 12 // cannot be guessed
)

// Lower case only, because some mail servers ignore the case of letters.
var addressEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// NewSecret returns a secret for Addresses.
func NewSecret() []byte {
	b := make([]byte, 32)
	rand.Read(b) // never fails
	return b
}

// For returns the address for reports of a site, in its n-th registration. Each registration needs
// a new one, because a lost key cannot be recovered and an address can be registered only once
// (formats §6.2).
func (a Addresses) For(o canon.Origin, n int) string {
	d := sha256.Sum256(fmt.Appendf(nil, "%s %d", o, n))
	id := d[:idBytes]
	local, domain, _ := strings.Cut(a.Mailbox, "@")
	return local + "+" + addressEncoding.EncodeToString(append(id, a.mac(id)...)) + "@" + domain
}

// Has reports whether For made an address, and returns it as For wrote it.
func (a Addresses) Has(address string) (as string, ok bool) {
	local, domain, _ := strings.Cut(strings.ToLower(address), "@")
	mailbox, host, _ := strings.Cut(a.Mailbox, "@")
	name, token, found := strings.Cut(local, "+")
	if !found || len(a.Secret) == 0 || name != strings.ToLower(mailbox) || domain != strings.ToLower(host) {
		return "", false
	}
	b, err := addressEncoding.DecodeString(token)
	if err != nil || len(b) != idBytes+macBytes || addressEncoding.EncodeToString(b) != token || !hmac.Equal(b[idBytes:], a.mac(b[:idBytes])) {
		return "", false
	}
	return mailbox + "+" + token + "@" + host, true
}

func (a Addresses) mac(id []byte) []byte {
	m := hmac.New(sha256.New, a.Secret)
	m.Write(binary.BigEndian.AppendUint64([]byte("curtsy report address "), uint64(len(id))))
	m.Write(id)
	return m.Sum(nil)[:macBytes]
}
