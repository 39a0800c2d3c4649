package dashboard

import (
	"context"
	"crypto/hmac"
	"encoding/base64"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/control"
	"github.com/curtsy/curtsy/internal/semaphore"
	"github.com/curtsy/curtsy/internal/webtext"
)

// action is a control: what a form changes.
type action struct {
	path string // for example "/do/pause"
	// do does it for somebody, and says what was done.
	do func(ctx context.Context, c *asker.Crawl, form url.Values, by control.By) (done string, err error)
}

// actions are all controls.
var actions = []action{
	{"/do/pause", func(ctx context.Context, c *asker.Crawl, _ url.Values, by control.By) (string, error) {
		return control.Pause(ctx, c, by)
	}},
	{"/do/resume", func(ctx context.Context, c *asker.Crawl, _ url.Values, by control.By) (string, error) {
		return control.Resume(ctx, c, by)
	}},
	{"/do/pause-host", pauseHost},
	{"/do/resume-host", resumeHost},
	{"/do/delay-host", delayHost},
	{"/do/retry-host", retryHost},
	{"/do/forget", forget},
	{"/do/refetch", refetch},
	{"/do/seed", addSeeds},
	{"/do/settings", changeSettings},
}

// action does what a form asks for, and leads back to the page it stands on, or where its field
// "back" says.
func (w *Web) action(rw http.ResponseWriter, r *http.Request, a *action) {
	s := sessionOf(r.Context())
	if bad := w.form(rw, r, s); bad != nil {
		w.fail(rw, r, bad)
		return
	}
	var done string
	err := w.asking(r.Context(), func(ctx context.Context, c *asker.Crawl) (err error) {
		if c.Stopped() {
			return control.ErrNotRunning
		}
		done, err = a.do(ctx, c, r.PostForm, by(r))
		return err
	})
	if err != nil {
		w.fail(rw, r, w.notDone(r.Context(), a, err))
		return
	}
	w.leaveDone(rw, r, s, done)
	http.Redirect(rw, r, local(r.PostForm.Get("back")), http.StatusSeeOther)
}

// notDone is the problem of an act that was not done. What steer says is for whoever steers, unless
// nobody was there to do it.
func (w *Web) notDone(ctx context.Context, a *action, err error) *problem {
	switch {
	case errors.Is(err, control.ErrNotRunning):
		return &problem{Status: http.StatusConflict, Text: "The crawl is not running, so it cannot be changed.", Typed: "curtsy crawl"}
	case errors.Is(err, semaphore.ErrBusy), errors.Is(err, ask.ErrNobody), errors.Is(err, ask.ErrIncomplete), errors.Is(err, context.DeadlineExceeded), ctx.Err() != nil:
		return w.problemOf(ctx, a.path, err)
	}
	w.o.Log.Warn("not done from the dashboard", "act", a.path, "err", err)
	return &problem{Status: http.StatusConflict, Text: text(err.Error(), maxDone)}
}

// by is who asks for a change, and from where, for the crawl's log.
func by(r *http.Request) control.By {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	return control.By{Who: "dashboard", From: host}
}

// maxDone is how many characters are said of what was done.
const maxDone = 300

// doneCookie carries what was done over to the next page, signed for the session.
func doneCookie(r *http.Request) string { return cookieName(r) + "-done" }

func (w *Web) leaveDone(rw http.ResponseWriter, r *http.Request, s *session, done string) {
	text := []byte(webtext.Short(webtext.Clean(done), maxDone))
	enc := base64.RawURLEncoding
	value := enc.EncodeToString(text) + "." + enc.EncodeToString(w.sign("done", append(text, s.id...)))
	http.SetCookie(rw, &http.Cookie{Name: doneCookie(r), Value: value, Path: "/", MaxAge: 60, HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode})
}

// takeDone is what the last control did; it is shown once.
func (w *Web) takeDone(rw http.ResponseWriter, r *http.Request, s *session) string {
	c, err := r.Cookie(doneCookie(r))
	if err != nil {
		return ""
	}
	http.SetCookie(rw, &http.Cookie{Name: doneCookie(r), Path: "/", MaxAge: -1, HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode})
	text, mac, _ := strings.Cut(c.Value, ".")
	enc := base64.RawURLEncoding
	said, err := enc.DecodeString(text)
	signed, bad := enc.DecodeString(mac)
	if err != nil || bad != nil || !hmac.Equal(signed, w.sign("done", append(said, s.id...))) {
		return ""
	}
	return string(said)
}
