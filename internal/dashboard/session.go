package dashboard

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"
)

// sessionLasts is how long a browser is known.
const sessionLasts = 7 * 24 * time.Hour

// idBytes make a session's id impossible to guess.
const idBytes = 16

// session is a browser that is known by a cookie. Nothing is kept of it here, unless it has logged
// out: the cookie is signed.
type session struct {
	id    []byte
	since time.Time
	in    bool // it has shown the token
	fresh bool // the cookie is still to be set
}

type sessionKey struct{}

// sessionOf is the session of a request that was let in.
func sessionOf(ctx context.Context) *session {
	s, _ := ctx.Value(sessionKey{}).(*session)
	return s
}

// sign is what only we can make of these bytes, for a purpose.
func (w *Web) sign(purpose string, b []byte) []byte {
	mac := hmac.New(sha256.New, w.key)
	mac.Write([]byte(purpose + "\x00"))
	mac.Write(b)
	return mac.Sum(nil)
}

// encode is the cookie's value.
func (w *Web) encode(s *session) string {
	b := binary.BigEndian.AppendUint64(append([]byte(nil), s.id...), uint64(s.since.Unix()))
	if s.in {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	return base64.RawURLEncoding.EncodeToString(append(b, w.sign("session", b)...))
}

// decode is the session of a cookie; nil if we did not make it, or too long ago.
func (w *Web) decode(value string, now time.Time) *session {
	b, err := base64.RawURLEncoding.DecodeString(value)
	const signed = idBytes + 8 + 1
	if err != nil || len(b) != signed+sha256.Size || !hmac.Equal(b[signed:], w.sign("session", b[:signed])) {
		return nil
	}
	s := &session{id: b[:idBytes], since: time.Unix(int64(binary.BigEndian.Uint64(b[idBytes:])), 0), in: b[signed-1] == 1}
	if age := now.Sub(s.since); age < -time.Minute || age > sessionLasts {
		return nil
	}
	return s
}

func newSession(in bool) *session {
	s := &session{id: make([]byte, idBytes), since: time.Now(), in: in, fresh: true}
	_, _ = rand.Read(s.id) // never fails
	return s
}

// cookieName differs from port to port: browsers keep one jar for all ports of a host.
func cookieName(r *http.Request) string {
	_, port, err := net.SplitHostPort(r.Host)
	name := "curtsy"
	if err == nil {
		name += "-" + port
	}
	if r.TLS != nil {
		return "__Host-" + name // which a browser takes with Secure and for this host only
	}
	return name
}

func (w *Web) setCookie(rw http.ResponseWriter, r *http.Request, s *session) {
	http.SetCookie(rw, &http.Cookie{
		Name: cookieName(r), Value: w.encode(s), Path: "/", MaxAge: int(sessionLasts / time.Second),
		HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode,
	})
}

// csrf is what a session's forms must send.
func (w *Web) csrf(s *session) string {
	return base64.RawURLEncoding.EncodeToString(w.sign("csrf", s.id))
}

// csrfField is its name in forms.
const csrfField = "csrf"

// form reads a form and checks that it is one that we gave to this session.
func (w *Web) form(rw http.ResponseWriter, r *http.Request, s *session) *problem {
	_ = http.NewResponseController(rw).SetReadDeadline(time.Now().Add(waitAtMost))
	r.Body = http.MaxBytesReader(rw, r.Body, maxForm)
	if r.ParseForm() != nil {
		return &problem{Status: http.StatusBadRequest, Text: "The form is not valid or too large."}
	}
	if subtle.ConstantTimeCompare([]byte(r.PostForm.Get(csrfField)), []byte(w.csrf(s))) != 1 {
		return &problem{Status: http.StatusForbidden, Text: "The form is too old or not from this dashboard. Reload the page and try again."}
	}
	return nil
}

const loginPath = "/login"

// enter finds out who asks. There is always a session; a problem says that it has to show the token
// first.
func (w *Web) enter(rw http.ResponseWriter, r *http.Request) (*session, *problem) {
	var s *session
	if c, err := r.Cookie(cookieName(r)); err == nil {
		s = w.decode(c.Value, time.Now())
	}
	if s == nil || w.ended.has(s) {
		s = newSession(false)
	}
	switch {
	case w.o.Token == "" || s.in || r.URL.Path == loginPath:
		return s, nil
	case r.Method == http.MethodGet && strings.HasPrefix(r.Header.Get("Authorization"), "Bearer "):
		if w.guess(r, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")) == nil {
			return s, nil
		}
	}
	return s, &problem{Status: http.StatusUnauthorized}
}

// Why a token is not taken.
var (
	errWrongToken = errors.New("The token is wrong. The terminal showed it when the dashboard started.")
	errTooMany    = errors.New("Too many wrong tokens. Try again in ten seconds.")
)

// guess compares in a time that tells nothing, and after many wrong tokens from the same address
// not at all.
func (w *Web) guess(r *http.Request, token string) error {
	tries := w.tries.of(r.RemoteAddr)
	if tries.Tokens() < 1 {
		return errTooMany
	}
	a, b := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(w.o.Token))
	if subtle.ConstantTimeCompare(a[:], b[:]) != 1 {
		tries.Allow()
		return errWrongToken
	}
	return nil
}

// returnVisit answers who has not shown the token: people by the page where they can.
func (w *Web) turnAway(rw http.ResponseWriter, r *http.Request, s *session, bad *problem) {
	rw.Header().Set("WWW-Authenticate", `Bearer realm="curtsy"`)
	if r.Method != http.MethodGet || strings.HasPrefix(r.URL.Path, "/api") || streams(r) {
		http.Error(rw, "Log in at "+loginPath+", or send the token: Authorization: Bearer TOKEN.", bad.Status)
		return
	}
	w.showLogin(rw, r, s, bad.Status, r.URL.RequestURI(), "")
}

// loginView is what login.html shows.
type loginView struct {
	Next  string // where to go on
	Wrong string
}

func (w *Web) showLogin(rw http.ResponseWriter, r *http.Request, s *session, status int, next, wrong string) {
	w.render(rw, r, s, status, loginFile, frame{Title: "Log in", V: loginView{Next: local(next), Wrong: wrong}})
}

// loginPage is also where the address leads that the terminal shows, with the token in it.
func (w *Web) loginPage(rw http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("token") != "" {
		w.letIn(rw, r, q.Get("token"), q.Get("next"))
		return
	}
	w.showLogin(rw, r, sessionOf(r.Context()), http.StatusOK, q.Get("next"), "")
}

func (w *Web) login(rw http.ResponseWriter, r *http.Request) {
	if bad := w.form(rw, r, sessionOf(r.Context())); bad != nil {
		w.fail(rw, r, bad)
		return
	}
	w.letIn(rw, r, strings.TrimSpace(r.PostForm.Get("token")), r.PostForm.Get("next"))
}

// letIn makes a new session for who knows the token, and forgets the address that holds it.
func (w *Web) letIn(rw http.ResponseWriter, r *http.Request, token, next string) {
	if w.o.Token != "" {
		if err := w.guess(r, token); err != nil {
			w.o.Log.Warn("a login was refused", "from", r.RemoteAddr, "why", err)
			status := http.StatusUnauthorized
			if err == errTooMany {
				status = http.StatusTooManyRequests
				rw.Header().Set("Retry-After", "10")
			}
			w.showLogin(rw, r, sessionOf(r.Context()), status, next, err.Error())
			return
		}
	}
	w.setCookie(rw, r, newSession(true))
	http.Redirect(rw, r, local(next), http.StatusSeeOther)
}

func (w *Web) logout(rw http.ResponseWriter, r *http.Request) {
	s := sessionOf(r.Context())
	if bad := w.form(rw, r, s); bad != nil {
		w.fail(rw, r, bad)
		return
	}
	if s.in {
		w.ended.add(s, time.Now())
	}
	w.setCookie(rw, r, newSession(false))
	http.Redirect(rw, r, loginPath, http.StatusSeeOther)
}

// local is an address on this server to go on with, whatever was asked for.
func local(next string) string {
	if !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\r\n\t") || len(next) > maxAddress {
		return "/"
	}
	return next
}
