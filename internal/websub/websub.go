// Package websub has what a subscriber of WebSub (W3C Recommendation of 2018) needs beside state
// and network: addresses to which hubs deliver and what proves that a delivery is one. Nothing of
// it is kept: address and secret of a subscription are made of the crawl's secret, the topic and a
// number, so none stands in a file, a log or a message. All functions may be called concurrently.
package websub

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/curtsy/curtsy/pkg/canon"
)

const (
	// MaxTopic is the longest topic that is subscribed to, in bytes: it stands in the callback.
	MaxTopic = 512
	// MaxN is the greatest number of a callback.
	MaxN = 1 << 20
	// Path is where callbacks are, below the operator's public URL.
	Path = "/websub/"

	macBytes = 18
)

// Callbacks makes the addresses that hubs deliver to. It makes none without a secret.
type Callbacks struct {
	Base   string // the public URL that leads to us, as CheckBase has it
	Secret []byte // the crawl's
}

// CheckBase returns why hubs cannot reach us by a URL.
func CheckBase(base string) error {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || len(base) > 256 {
		return fmt.Errorf("%.100q is not a public URL; use for example https://crawler.example/hooks", base)
	}
	return nil
}

// mac is a keyed hash of what a subscription is for.
func (c Callbacks) mac(what string, topic canon.URL, n int) []byte {
	m := hmac.New(sha256.New, c.Secret)
	m.Write([]byte("curtsy websub " + what + "\x00"))
	m.Write(binary.BigEndian.AppendUint64(nil, uint64(n)))
	m.Write([]byte(topic))
	return m.Sum(nil)
}

// URL is the callback for a topic by its n-th number: nobody can guess it who was not told.
func (c Callbacks) URL(topic canon.URL, n int) string {
	mac := base64.RawURLEncoding.EncodeToString(c.mac("callback", topic, n)[:macBytes])
	return strings.TrimSuffix(c.Base, "/") + Path + strconv.Itoa(n) + "/" + mac + "/" + base64.RawURLEncoding.EncodeToString([]byte(topic))
}

// Key is the secret by which the hub signs what it delivers for a topic.
func (c Callbacks) Key(topic canon.URL, n int) string {
	return hex.EncodeToString(c.mac("secret", topic, n))
}

// Find says for which topic a callback with that path was made; ok is false for one that was not.
// What a proxy has put before it, or taken away, does not matter.
func (c Callbacks) Find(path string) (topic canon.URL, n int, ok bool) {
	at := strings.LastIndex(path, Path)
	if at < 0 || len(c.Secret) == 0 || len(path) > 2048 {
		return "", 0, false
	}
	parts := strings.Split(path[at+len(Path):], "/")
	if len(parts) != 3 {
		return "", 0, false
	}
	n, err := strconv.Atoi(parts[0])
	mac, err2 := base64.RawURLEncoding.DecodeString(parts[1])
	text, err3 := base64.RawURLEncoding.DecodeString(parts[2])
	if err := errors.Join(err, err2, err3); err != nil || n < 1 || n > MaxN || len(text) > MaxTopic {
		return "", 0, false
	}
	if u, err := canon.Parse(string(text)); err != nil || string(u) != string(text) {
		return "", 0, false
	}
	topic = canon.URL(text)
	return topic, n, hmac.Equal(mac, c.mac("callback", topic, n)[:macBytes])
}

// ErrSignature says that a delivery is not signed by the hub we subscribed at.
var ErrSignature = errors.New("it is not signed with the secret that was sent to the hub")

// Verify reports whether X-Hub-Signature is that of a body, by the secret of the subscription. All
// methods of the recommendation are taken (WebSub §8): that of SHA-1 as well, which old hubs know
// alone. It is the keyed hash, which collisions of SHA-1 do not touch, and what it lets in is a
// hint.
func Verify(header string, key string, body []byte) error {
	method, text, _ := strings.Cut(strings.TrimSpace(header), "=")
	var h func() hash.Hash
	switch strings.ToLower(method) {
	case "sha1":
		h = sha1.New
	case "sha256":
		h = sha256.New
	case "sha384":
		h = sha512.New384
	case "sha512":
		h = sha512.New
	default:
		return ErrSignature
	}
	got, err := hex.DecodeString(text)
	if err != nil {
		return ErrSignature
	}
	m := hmac.New(h, []byte(key))
	m.Write(body)
	if !hmac.Equal(got, m.Sum(nil)) {
		return ErrSignature
	}
	return nil
}

// What a hub is asked, and asks back.
const (
	Subscribe   = "subscribe"
	Unsubscribe = "unsubscribe"
	Denied      = "denied"
)

// Lease is for how long a subscription is asked, and bounds of what a hub may grant.
const (
	Lease      = 10 * 24 * time.Hour
	LeastLease = time.Hour
	MostLease  = 30 * 24 * time.Hour
)

// Form is what is posted to a hub (WebSub §5.1).
func (c Callbacks) Form(mode string, topic canon.URL, n int) string {
	v := url.Values{"hub.mode": {mode}, "hub.topic": {string(topic)}, "hub.callback": {c.URL(topic, n)}}
	if mode == Subscribe {
		v.Set("hub.secret", c.Key(topic, n))
		v.Set("hub.lease_seconds", strconv.Itoa(int(Lease/time.Second)))
	}
	return v.Encode()
}

// Intent is a hub's question whether we want what it was asked (WebSub §5.3), or its refusal
// (WebSub §5.2).
type Intent struct {
	Mode      string
	Topic     string
	Challenge string
	Lease     time.Duration // 0: not said
	Reason    string
}

// maxChallenge bounds what we send back.
const maxChallenge = 1024

// ParseIntent reads the query of a hub's GET.
func ParseIntent(q url.Values) (i Intent, err error) {
	i = Intent{Mode: q.Get("hub.mode"), Topic: q.Get("hub.topic"), Challenge: q.Get("hub.challenge"), Reason: q.Get("hub.reason")}
	if s := q.Get("hub.lease_seconds"); s != "" {
		n, err := strconv.ParseUint(s, 10, 62)
		if err != nil {
			return i, errors.New("hub.lease_seconds is not a number")
		}
		i.Lease = min(max(time.Duration(min(n, uint64(MostLease/time.Second)))*time.Second, LeastLease), MostLease)
	}
	switch {
	case i.Mode != Subscribe && i.Mode != Unsubscribe && i.Mode != Denied:
		return i, errors.New("hub.mode must be subscribe, unsubscribe or denied")
	case i.Mode != Denied && (i.Challenge == "" || len(i.Challenge) > maxChallenge):
		return i, fmt.Errorf("hub.challenge has %d bytes; send 1 to %d", len(i.Challenge), maxChallenge)
	}
	if len(i.Reason) > 200 {
		i.Reason = i.Reason[:200]
	}
	return i, nil
}
