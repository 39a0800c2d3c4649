package queue

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// These are error codes of the server for refused messages. They decide what the caller can do.
const (
	codeStoreFailed    = 10077 // has several reasons, which only the text distinguishes
	codeMessageTooBig  = 10054
	codeHeaderTooBig   = 10097
	codeStreamSealed   = 10109
	codeStreamMismatch = 10060
)

// whyNot describes what a publisher waits for, or reports that waiting is hopeless.
func whyNot(err error) (why string, hopeless bool) {
	var api *jetstream.APIError
	switch {
	case errors.Is(err, nats.ErrMaxPayload), errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrBadSubject):
		return "", true
	case errors.As(err, &api):
		switch api.ErrorCode {
		case codeMessageTooBig, codeHeaderTooBig, codeStreamSealed, codeStreamMismatch:
			return "", true
		case codeStoreFailed:
			if strings.Contains(api.Description, "maximum") {
				return "the stream is full: waiting until it has space", false
			}
			return "the NATS server cannot store messages: waiting", false
		}
		return "the stream refuses messages: waiting", false
	case errors.Is(err, nats.ErrPermissionViolation):
		return "NATS does not allow this process to use the subject: waiting for permission", false
	case errors.Is(err, nats.ErrNoResponders):
		return "no stream accepts this subject: waiting for one", false
	}
	return "NATS does not answer: waiting", false
}

func hopelessError(err error) error {
	var api *jetstream.APIError
	if errors.Is(err, nats.ErrMaxPayload) || errors.As(err, &api) && api.ErrorCode == codeMessageTooBig {
		return fmt.Errorf("%w: %w", ErrTooLarge, err)
	}
	return err
}

// waits stores what the publishers wait for, by subject, so that it is logged once, however many of
// them wait.
type waits struct {
	mu sync.Mutex
	by map[string]*wait // guarded by mu
}

type wait struct {
	n   int    // publishers waiting
	why string // the reason that was logged last
}

func (w *waits) enter(subject string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.by == nil {
		w.by = map[string]*wait{}
	}
	if w.by[subject] == nil {
		w.by[subject] = new(wait)
	}
	w.by[subject].n++
}

func (w *waits) logOnce(subject, why string, err error, log *slog.Logger) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.by[subject]; s.why != why {
		s.why = why
		log.Warn(why, "subject", subject, "err", err)
	}
}

func (w *waits) leave(subject string, log *slog.Logger) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.by[subject]
	if s.n--; s.n == 0 {
		delete(w.by, subject)
		if s.why != "" {
			log.Info("publishing continues", "subject", subject)
		}
	}
}

// Waiting returns the subjects that Append and Send are waiting for at this moment, with the
// reasons.
func (c *Conn) Waiting() map[string]string {
	w := &c.pub.waits
	w.mu.Lock()
	defer w.mu.Unlock()
	m := map[string]string{}
	for subject, s := range w.by {
		if s.why != "" {
			m[subject] = s.why
		}
	}
	return m
}
