package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
)

// Problem is why a request has no answer: what is wrong, and what to do. A Server sends it as a
// page (Fail); SendProblem sends it as JSON.
type Problem struct {
	Status    int
	Text      string // for the person who asked
	Command   string // a command that helps, which is about this crawl; "": none
	Parameter string // the parameter that is wrong; "": none
	Retry     int    // seconds after which the same request may succeed; 0: never
}

// Error is the problem's text.
func (p *Problem) Error() string { return p.Text }

// With adds a command that helps.
func (p *Problem) With(command string) *Problem {
	p.Command = command
	return p
}

// NotFound is the problem of an address at which there is nothing.
func NotFound(format string, args ...any) *Problem {
	return &Problem{Status: http.StatusNotFound, Text: fmt.Sprintf(format, args...)}
}

// Wrong is the problem of something typed wrong.
func Wrong(format string, args ...any) *Problem {
	return &Problem{Status: http.StatusBadRequest, Text: fmt.Sprintf(format, args...)}
}

// Head writes what a problem adds to the header.
func (p *Problem) Head(h http.Header) {
	if p.Retry > 0 {
		h.Set("Retry-After", strconv.Itoa(p.Retry))
	}
}

// Cause is why a question has no answer, as far as a client can act on it.
type Cause int

// The causes.
const (
	Failed    Cause = iota // anything else; the log has the reason
	Busy                   // too many questions at the same time
	Nobody                 // no process that could answer does
	Late                   // there was no answer in time
	Cancelled              // the client has gone
)

// CauseOf finds the cause of an error that is no Problem. ctx is that of the request.
func CauseOf(ctx context.Context, err error) Cause {
	switch {
	case errors.Is(err, ErrBusy):
		return Busy
	case errors.Is(err, ask.ErrNobody), errors.Is(err, ask.ErrIncomplete):
		return Nobody
	case errors.Is(err, context.DeadlineExceeded):
		return Late
	case ctx.Err() != nil:
		return Cancelled
	}
	return Failed
}

// Texts are the sentences with which one kind of pages explains problems to people, by the cause of
// the problem. Command is the command that helps if nobody answers.
type Texts struct {
	Failed, Busy, Nobody, Late, Cancelled string
	Command                               string
}

// Problem returns the problem that a client is shown for an error. An error that a client can do
// nothing about is only logged, together with the question, because it may contain names of files.
func (t *Texts) Problem(ctx context.Context, log *slog.Logger, question string, err error) *Problem {
	var p *Problem
	if errors.As(err, &p) {
		return p
	}
	switch CauseOf(ctx, err) {
	case Busy:
		return &Problem{Status: http.StatusServiceUnavailable, Text: t.Busy, Retry: 1}
	case Nobody:
		log.Warn("nobody answered", "question", question, "err", err)
		return &Problem{Status: http.StatusServiceUnavailable, Text: t.Nobody, Command: t.Command, Retry: 5}
	case Late:
		log.Warn("no answer in time", "question", question, "err", err)
		return &Problem{Status: http.StatusServiceUnavailable, Text: t.Late, Retry: 5}
	case Cancelled:
		return &Problem{Status: http.StatusServiceUnavailable, Text: t.Cancelled}
	}
	log.Error("a question failed", "question", question, "err", err)
	return &Problem{Status: http.StatusInternalServerError, Text: t.Failed}
}

// Details are a problem as JSON, in the form of RFC 9457 ("problem details").
type Details struct {
	Type      string `json:"type"`  // RFC 9457 §3.1.1: about:blank, because the status says it all
	Title     string `json:"title"` // RFC 9457 §4.2.1: with about:blank, the words of the status
	Status    int    `json:"status"`
	Detail    string `json:"detail"`              // a sentence for the client
	Parameter string `json:"parameter,omitempty"` // the parameter that is wrong
}

// SendProblem answers with a problem as JSON.
func SendProblem(rw http.ResponseWriter, p *Problem) {
	p.Head(rw.Header())
	SendJSON(rw, p.Status, "application/problem+json", Details{"about:blank", http.StatusText(p.Status), p.Status, p.Text, p.Parameter})
}

// SendJSON answers with v. Control characters in it are escaped, so that they do nothing in a
// terminal in which the answer is shown.
func SendJSON(rw http.ResponseWriter, status int, contentType string, v any) {
	var body bytes.Buffer
	enc := json.NewEncoder(crawl.SafeJSONTo(&body))
	// People copy links as they are, and no browser reads this as HTML.
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil { // a score that is no number
		http.Error(rw, "the answer cannot be written as JSON", http.StatusInternalServerError)
		return
	}
	rw.Header().Set("Content-Type", contentType)
	rw.WriteHeader(status)
	_, _ = rw.Write(body.Bytes())
}
