package web

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/fair"
)

// sessionLasts is how long a browser stays known.
const sessionLasts = 7 * 24 * time.Hour

// idBytes are enough that nobody can guess the id of a session.
const idBytes = 16

// session is a browser that is known by a signed cookie. Nothing about it is stored here, unless it
// has logged out. Where a token is needed, a client that has not logged in has the zero session and
// gets no cookie. Its form is protected by its Origin (see foreign).
type session struct {
	id    []byte
	since time.Time
	in    bool // it has presented the token
	fresh bool // the cookie is still to be set
}

func newSession(in bool) *session {
	s := &session{id: make([]byte, idBytes), since: time.Now(), in: in, fresh: true}
	_, _ = rand.Read(s.id) // never fails
	return s
}

type sessionKey struct{}

// sessionOf is the session of a request that was admitted by a Server.
func sessionOf(ctx context.Context) *session {
	s, _ := ctx.Value(sessionKey{}).(*session)
	return s
}

// sessions makes and checks what browsers keep for us. Its methods may be used by many goroutines.
type sessions struct {
	key     []byte         // signs it
	ended   ended          // sessions that have logged out
	proxies []netip.Prefix // as in Options
}

// newSessions makes one with a random key. It must not follow from the token, because then whoever
// sees a cookie could try tokens without asking us. It is not stored: browsers log in again when
// the process starts again.
func newSessions(proxies []netip.Prefix) *sessions {
	k := &sessions{key: make([]byte, sha256.Size), proxies: proxies}
	_, _ = rand.Read(k.key) // never fails
	return k
}

// sign returns what only we can make of these bytes, for a purpose.
func (k *sessions) sign(purpose string, b []byte) []byte {
	mac := hmac.New(sha256.New, k.key)
	mac.Write([]byte(purpose + "\x00"))
	mac.Write(b)
	return mac.Sum(nil)
}

// encode returns the value of a session's cookie.
func (k *sessions) encode(s *session) string {
	b := binary.BigEndian.AppendUint64(append([]byte(nil), s.id...), uint64(s.since.Unix()))
	if s.in {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	return base64.RawURLEncoding.EncodeToString(append(b, k.sign("session", b)...))
}

// decode returns the session of a cookie; nil if we did not make the cookie, or too long ago.
func (k *sessions) decode(value string, now time.Time) *session {
	b, err := base64.RawURLEncoding.DecodeString(value)
	const signed = idBytes + 8 + 1
	if err != nil || len(b) != signed+sha256.Size || !hmac.Equal(b[signed:], k.sign("session", b[:signed])) {
		return nil
	}
	s := &session{id: b[:idBytes], since: time.Unix(int64(binary.BigEndian.Uint64(b[idBytes:])), 0), in: b[signed-1] == 1}
	if age := now.Sub(s.since); age < -time.Minute || age > sessionLasts {
		return nil
	}
	return s
}

// of is the session of a request; nil if there is none, or if it has logged out.
func (k *sessions) of(r *http.Request) *session {
	c, err := r.Cookie(k.cookieName(r))
	if err != nil {
		return nil
	}
	s := k.decode(c.Value, time.Now())
	if s == nil || k.ended.has(s) {
		return nil
	}
	return s
}

// cookieName differs from port to port: browsers store the cookies of all ports of a host together.
func (k *sessions) cookieName(r *http.Request) string {
	_, port, err := net.SplitHostPort(r.Host)
	name := "curtsy"
	if err == nil {
		name += "-" + port
	}
	if k.secure(r) {
		return "__Host-" + name // a browser accepts it only with Secure, and only for this host
	}
	return name
}

// secure reports whether a request came over TLS, to us or to a proxy of ours.
func (k *sessions) secure(r *http.Request) bool {
	return r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" && fair.Trusted(k.proxies, r.RemoteAddr)
}

// cookie makes one that lasts so many seconds. A negative number removes it.
func (k *sessions) cookie(r *http.Request, name, value string, lasts int) *http.Cookie {
	return &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: lasts,
		HttpOnly: true, Secure: k.secure(r), SameSite: http.SameSiteStrictMode,
	}
}

func (k *sessions) setCookie(rw http.ResponseWriter, r *http.Request, s *session) {
	http.SetCookie(rw, k.cookie(r, k.cookieName(r), k.encode(s), int(sessionLasts/time.Second)))
}

func (k *sessions) removeCookie(rw http.ResponseWriter, r *http.Request) {
	http.SetCookie(rw, k.cookie(r, k.cookieName(r), "", -1))
}

// csrf is what the forms of a session must send.
func (k *sessions) csrf(s *session) string {
	return base64.RawURLEncoding.EncodeToString(k.sign("csrf", s.id))
}

// csrfField is its name in forms.
const csrfField = "csrf"

// form reads a form and checks that it is one that we gave to this session.
func (k *sessions) form(rw http.ResponseWriter, r *http.Request, s *session) *Problem {
	_ = http.NewResponseController(rw).SetReadDeadline(time.Now().Add(WaitAtMost))
	r.Body = http.MaxBytesReader(rw, r.Body, maxForm)
	if r.ParseForm() != nil {
		return &Problem{Status: http.StatusBadRequest, Text: "The form is not valid or too large."}
	}
	if subtle.ConstantTimeCompare([]byte(r.PostForm.Get(csrfField)), []byte(k.csrf(s))) != 1 {
		return &Problem{Status: http.StatusForbidden, Text: "The form is too old or not from this dashboard. Reload the page and try again."}
	}
	return nil
}

// doneCookie carries what was done over to the next page, signed for the session.
func (k *sessions) doneCookie(r *http.Request) string { return k.cookieName(r) + "-done" }

// leaveDone has the next page of this session show a text.
func (k *sessions) leaveDone(rw http.ResponseWriter, r *http.Request, s *session, done string) {
	enc := base64.RawURLEncoding
	value := enc.EncodeToString([]byte(done)) + "." + enc.EncodeToString(k.sign("done", append([]byte(done), s.id...)))
	http.SetCookie(rw, k.cookie(r, k.doneCookie(r), value, 60))
}

// takeDone returns the text that leaveDone left, once.
func (k *sessions) takeDone(rw http.ResponseWriter, r *http.Request, s *session) string {
	c, err := r.Cookie(k.doneCookie(r))
	if err != nil {
		return ""
	}
	http.SetCookie(rw, k.cookie(r, k.doneCookie(r), "", -1))
	text, mac, _ := strings.Cut(c.Value, ".")
	enc := base64.RawURLEncoding
	done, err := enc.DecodeString(text)
	signed, bad := enc.DecodeString(mac)
	if err != nil || bad != nil || !hmac.Equal(signed, k.sign("done", append(done, s.id...))) {
		return ""
	}
	return string(done)
}
