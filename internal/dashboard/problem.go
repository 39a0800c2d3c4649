package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/semaphore"
	"github.com/curtsy/curtsy/internal/webtext"
)

// problem is why there is no page, for people: what is the matter, and what to do.
type problem struct {
	Status int
	Text   string
	Typed  string // a command that helps, which is about this crawl; "": none
	retry  int    // seconds after which it may be asked again; 0: that would not help
}

// Error is the problem's text.
func (p *problem) Error() string { return p.Text }

// notFound is the problem of an address that leads to nothing.
func notFound(format string, args ...any) *problem {
	return &problem{Status: http.StatusNotFound, Text: fmt.Sprintf(format, args...)}
}

// wrong is the problem of something typed wrong.
func wrong(format string, args ...any) *problem {
	return &problem{Status: http.StatusBadRequest, Text: fmt.Sprintf(format, args...)}
}

// typed adds a command that helps.
func (p *problem) typed(command string) *problem {
	p.Typed = command
	return p
}

// problemOf is the problem behind an error. about is what was asked for, for the log.
func (w *Web) problemOf(ctx context.Context, about string, err error) *problem {
	var (
		p       *problem
		missing *ask.IncompleteError
	)
	switch {
	case errors.As(err, &p):
		return p
	case errors.Is(err, semaphore.ErrBusy):
		return &problem{Status: http.StatusServiceUnavailable, Text: "Too many requests at once. Try again in a moment.", retry: 1}
	case errors.Is(err, ask.ErrNobody), errors.As(err, &missing):
		w.o.Log.Warn("nobody answered", "question", about, "err", err)
		return &problem{Status: http.StatusServiceUnavailable, Text: "No process of this crawl answers at the moment.", Typed: "curtsy status", retry: 5}
	case errors.Is(err, context.DeadlineExceeded):
		w.o.Log.Warn("no answer in time", "question", about, "err", err)
		return &problem{Status: http.StatusServiceUnavailable, Text: "No answer came in time.", retry: 5}
	case ctx.Err() != nil: // whoever asked has gone
		return &problem{Status: http.StatusServiceUnavailable, Text: "The request was cancelled."}
	}
	// What went wrong may name files: that is for the log.
	w.o.Log.Error("a question failed", "question", about, "err", err)
	return &problem{Status: http.StatusInternalServerError, Text: "The request failed. The server’s log has the reason."}
}

// fail answers with a problem.
func (w *Web) fail(rw http.ResponseWriter, r *http.Request, p *problem) {
	if p.retry > 0 {
		rw.Header().Set("Retry-After", strconv.Itoa(p.retry))
	}
	w.render(rw, r, sessionOf(r.Context()), p.Status, problemFile, frame{Title: http.StatusText(p.Status), V: p})
}

// missing tells of an answer that lacks shards.
func missing(e *ask.IncompleteError) string {
	s := "Part of the crawl does not answer at the moment (shard"
	if len(e.Missing) > 1 {
		s += "s"
	}
	return s + " " + webtext.Numbers(e.Missing) + "). The page shows the rest."
}
