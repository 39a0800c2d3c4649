// Package websub implements the part of a WebSub subscriber (W3C Recommendation of 2018) that needs
// neither state nor network: the addresses to which hubs deliver, and the proof that a delivery
// comes from the hub. None of this is stored. The address and the secret of a subscription are
// computed from the crawl's secret, the topic and a number, so they appear in no file, log or
// message. All functions may be called concurrently.
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
	// MaxTopic is the longest topic that is subscribed to, in bytes. The callback contains the
	// topic.
	MaxTopic = 512
	// MaxN is the largest number of a callback.
	MaxN = 1 << 20
	// Path is where callbacks are, below the operator's public URL.
	Path = "/websub/"

	macBytes = 18
)

// Callbacks makes the addresses to which hubs deliver. Without a secret it makes none.
type Callbacks struct {
	Base   string // the public URL that leads to us; see CheckBase
	Secret []byte // the secret of the crawl
}

// CheckBase returns an error if hubs cannot reach us by this URL.
func CheckBase(base string) error {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || len(base) > 256 {
		return fmt.Errorf("%.100q is not a public URL; use for example https://crawler.example/hooks", base)
	}
	return nil
}

// mac is a keyed hash of the purpose of a subscription, its topic and its number.
func (c Callbacks) mac(what string, topic canon.URL, n int) []byte {
	m := hmac.New(sha256.New, c.Secret)
	m.Write([]byte("curtsy websub " + what + "\x00"))
	m.Write(binary.BigEndian.AppendUint64(nil, uint64(n)))
	m.Write([]byte(topic))
	return m.Sum(nil)
}

// URL returns the n-th callback for a topic. Nobody can guess it.
func (c Callbacks) URL(topic canon.URL, n int) string {
	mac := base64.RawURLEncoding.EncodeToString(c.mac("callback", topic, n)[:macBytes])
	return strings.TrimSuffix(c.Base, "/") + Path + strconv.Itoa(n) + "/" + mac + "/" + base64.RawURLEncoding.EncodeToString([]byte(topic))
}

// Key returns the secret with which the hub signs deliveries for a topic.
func (c Callbacks) Key(topic canon.URL, n int) string {
	return hex.EncodeToString(c.mac("secret", topic, n))
}

// Find returns the topic and the number of the callback with this path. ok is false if we did not
// make the callback. A prefix that a proxy has added or removed does not matter.
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

// ErrSignature means that a delivery is not signed by the hub of the subscription.
var ErrSignature = errors.New("it is not signed with the secret that was sent to the hub")

// Verify checks that header, an X-Hub-Signature, is the signature of body by the secret of the
// subscription. It accepts all methods of the recommendation (WebSub §8), including SHA-1, because
// old hubs know no other. The signature is a keyed hash, which collisions of SHA-1 do not affect,
// and an accepted delivery is only a hint.
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

// The modes of requests to and from a hub.
const (
	Subscribe   = "subscribe"
	Unsubscribe = "unsubscribe"
	Denied      = "denied"
)

// Lease is the duration that we ask for. LeastLease and MostLease bound what a hub may grant.
const (
	Lease      = 10 * 24 * time.Hour
	LeastLease = time.Hour
	MostLease  = 30 * 24 * time.Hour
)

// Form returns the form that is posted to a hub (WebSub §5.1).
func (c Callbacks) Form(mode string, topic canon.URL, n int) string {
	v := url.Values{"hub.mode": {mode}, "hub.topic": {string(topic)}, "hub.callback": {c.URL(topic, n)}}
	if mode == Subscribe {
		v.Set("hub.secret", c.Key(topic, n))
		v.Set("hub.lease_seconds", strconv.Itoa(int(Lease/time.Second)))
	}
	return v.Encode()
}

// Intent is a hub's request to confirm what we asked for (WebSub §5.3), or its refusal (WebSub
// §5.2).
type Intent struct {
	Mode      string
	Topic     string
	Challenge string
	Lease     time.Duration // 0: not specified
	Reason    string
}

// maxChallenge limits what we send back.
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
