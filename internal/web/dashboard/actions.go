package dashboard

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/control"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/queryreport"
	"github.com/curtsy/curtsy/internal/web"
	"github.com/curtsy/curtsy/internal/webtext"
)

// action is a control: what a form changes.
type action struct {
	path string // for example "/do/pause"
	// do acts for somebody, and returns what was done, as a text.
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
	{"/do/search-rules", saveRules},
	{"/do/search-result", curateResult},
}

// action does what a form asks for, and leads back to a page.
func (w *Web) action(rw http.ResponseWriter, r *http.Request, a *action) {
	if bad := w.server.Form(rw, r); bad != nil {
		w.server.Fail(rw, r, bad)
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
		w.server.Fail(rw, r, w.notDone(r.Context(), a, err))
		return
	}
	if a.path == "/do/forget" && r.PostForm.Get("undo") == "" {
		w.forgetOpened(r.PostForm.Get("what"))
	}
	w.server.Done(rw, r, webtext.Short(webtext.Clean(done), maxDone))
}

// forgetOpened removes what was recorded about forgotten pages. What is in the memory of a process
// that records is written a few seconds later, and stays.
func (w *Web) forgetOpened(what string) {
	if w.o.Queries == "" {
		return
	}
	entry, err := crawl.ParseForgotten(what)
	if err == nil {
		_, err = queryreport.Forget(w.o.Queries, crawl.NewForgotten([]string{entry}).HasText)
	}
	if err != nil {
		w.o.Log.Warn("the recorded queries still name forgotten pages; type: curtsy forget "+what, "err", err)
	}
}

// notDone is the problem of an action that was not done. The errors of package control are texts
// for operators, unless no process was there to act.
func (w *Web) notDone(ctx context.Context, a *action, err error) *web.Problem {
	switch {
	case errors.Is(err, control.ErrNotRunning):
		return &web.Problem{Status: http.StatusConflict, Text: "The crawl is not running, so it cannot be changed.", Command: "curtsy crawl"}
	case errors.Is(err, web.ErrBusy), errors.Is(err, ask.ErrNobody), errors.Is(err, ask.ErrIncomplete), errors.Is(err, context.DeadlineExceeded), ctx.Err() != nil:
		return w.server.ProblemOf(ctx, a.path, err)
	}
	w.o.Log.Warn("not done from the dashboard", "act", a.path, "err", err)
	return &web.Problem{Status: http.StatusConflict, Text: text(err.Error(), maxDone)}
}

// by is who asked for a change, and from which address, for the crawl log.
func by(r *http.Request) control.By {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	return control.By{Who: "dashboard", From: host}
}

// maxDone is how many characters are shown of what was done.
const maxDone = 300
