package web

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/fair"
)

const loginPath = "/login"

// admit finds out who asks. It always returns a session; the problem reports that the client must
// present the token first.
func (s *Server) admit(r *http.Request) (*session, *Problem) {
	ses := s.sessions.of(r)
	if ses == nil && s.o.Token == "" {
		ses = newSession(false)
	} else if ses == nil {
		ses = new(session) // it gets a cookie when it logs in
	}
	if s.o.Token == "" || ses.in || r.URL.Path == loginPath {
		return ses, nil
	}
	if token, ok := bearer(r); ok && r.Method == http.MethodGet && s.guess(r, token) == nil {
		return ses, nil
	}
	return ses, &Problem{Status: http.StatusUnauthorized}
}

// bearer is the token in the header of a request.
func bearer(r *http.Request) (token string, ok bool) {
	return strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
}

// Why a token is refused.
var (
	errWrongToken = errors.New("The token is wrong. The terminal showed it when the dashboard started.")
	errTooMany    = errors.New("Too many wrong tokens. Try again in ten seconds.")
)

// How many wrong tokens are answered as such to one block of addresses, and for how many blocks
// that is counted. All further blocks share one count.
const (
	triesAtOnce = 10
	triesEvery  = time.Second // then one more
	triesKept   = 1024
)

// guess compares a token with ours in constant time. The right one is always accepted: whoever
// sends wrong ones from the same address, or through the same proxy, must not shut its owner out.
// So it is the length of a token that prevents guessing (config.Access). Beyond a number of wrong
// ones, a client only learns that there were too many.
func (s *Server) guess(r *http.Request, token string) error {
	a, b := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(s.o.Token))
	if subtle.ConstantTimeCompare(a[:], b[:]) == 1 {
		return nil
	}
	client := fair.Client(s.o.Proxies, r.RemoteAddr, r.Header.Values("X-Forwarded-For"))
	if !s.tries.Allow(time.Now(), fair.BlockOf(client), 1) {
		return errTooMany
	}
	return errWrongToken
}

// refusal is the status that answers a refused token.
func refusal(rw http.ResponseWriter, err error) int {
	if err == errTooMany {
		rw.Header().Set("Retry-After", "10")
		return http.StatusTooManyRequests
	}
	return http.StatusUnauthorized
}

const challenge = `Bearer realm="curtsy"`

// program answers with h where programs ask. They must send the token with each request: a cookie
// is for people, and a program should not depend on one.
func (s *Server) program(rw http.ResponseWriter, r *http.Request, h http.Handler) {
	_ = http.NewResponseController(rw).SetReadDeadline(time.Now().Add(WaitAtMost))
	if s.o.Token != "" {
		token, given := bearer(r)
		err := errWrongToken
		if given {
			err = s.guess(r, token)
		}
		if err != nil {
			if given {
				s.o.Log.Warn("an assistant was refused", "from", r.RemoteAddr, "why", err)
			}
			status := refusal(rw, err)
			rw.Header().Set("WWW-Authenticate", challenge)
			http.Error(rw, "Send the dashboard's token: Authorization: Bearer TOKEN.", status)
			return
		}
	}
	h.ServeHTTP(rw, r)
}

// askForToken answers a client that has not presented the token. A person gets the page for it.
func (s *Server) askForToken(rw http.ResponseWriter, r *http.Request, ses *session, bad *Problem) {
	rw.Header().Set("WWW-Authenticate", challenge)
	if r.Method != http.MethodGet || strings.HasPrefix(r.URL.Path, "/api") || WantsStream(r) {
		http.Error(rw, "Log in at "+loginPath+", or send the token: Authorization: Bearer TOKEN.", bad.Status)
		return
	}
	s.showLogin(rw, r, ses, bad.Status, r.URL.RequestURI(), "")
}

// loginView is what login.html shows.
type loginView struct {
	Next  string // where to go after it
	Wrong string
}

func (s *Server) showLogin(rw http.ResponseWriter, r *http.Request, ses *session, status int, next, wrong string) {
	s.render(rw, r, ses, status, loginFile, Frame{Title: "Log in", V: loginView{Next: local(next), Wrong: wrong}})
}

// loginPage also answers the address that the terminal shows, which contains the token.
func (s *Server) loginPage(rw http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("token") != "" {
		s.logIn(rw, r, q.Get("token"), q.Get("next"))
		return
	}
	s.showLogin(rw, r, sessionOf(r.Context()), http.StatusOK, q.Get("next"), "")
}

func (s *Server) login(rw http.ResponseWriter, r *http.Request) {
	if bad := s.Form(rw, r); bad != nil {
		s.Fail(rw, r, bad)
		return
	}
	s.logIn(rw, r, strings.TrimSpace(r.PostForm.Get("token")), r.PostForm.Get("next"))
}

// logIn makes a new session for a client that knows the token, and leads away from an address that
// contains it.
func (s *Server) logIn(rw http.ResponseWriter, r *http.Request, token, next string) {
	if s.o.Token != "" {
		if err := s.guess(r, token); err != nil {
			s.o.Log.Warn("a login was refused", "from", r.RemoteAddr, "why", err)
			s.showLogin(rw, r, sessionOf(r.Context()), refusal(rw, err), next, err.Error())
			return
		}
	}
	s.sessions.setCookie(rw, r, newSession(true))
	http.Redirect(rw, r, local(next), http.StatusSeeOther)
}

func (s *Server) logout(rw http.ResponseWriter, r *http.Request) {
	if bad := s.Form(rw, r); bad != nil {
		s.Fail(rw, r, bad)
		return
	}
	if ses := sessionOf(r.Context()); ses.in {
		s.sessions.ended.add(ses, time.Now())
	}
	s.sessions.removeCookie(rw, r)
	http.Redirect(rw, r, loginPath, http.StatusSeeOther)
}

// local is an address on this server to go to, whatever was asked for.
func local(next string) string {
	if !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\r\n\t") || len(next) > maxAddress {
		return "/"
	}
	return next
}
