package queue

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// refusals stores what the server says that we have no right to. The server sends such a refusal
// separately and leaves the request unanswered. Without refusals, callers would only see that
// nobody answered, and repeat the request.
type refusals struct {
	who string // our name on the server

	mu sync.Mutex
	// by subject; guarded by mu; cleared at every reconnect, since rights change
	by map[string]refusal
}

type refusal struct {
	at  time.Time
	err error
}

// refusalsMost limits the size of refusals.by, because subjects that contain random names do not
// repeat.
const refusalsMost = 256

// note stores a refusal. It returns the subject, and whether the refusal is new.
func (r *refusals) note(err error) (subject string, news bool) {
	_, rest, _ := strings.Cut(err.Error(), `"`)
	subject, _, _ = strings.Cut(rest, `"`)
	err = fmt.Errorf("NATS does not allow %s to use the subject %s: deploy/nats.cluster.conf shows the permissions that each role needs: %w",
		r.who, subject, nats.ErrPermissionViolation)
	r.mu.Lock()
	defer r.mu.Unlock()
	_, known := r.by[subject]
	if r.by == nil || len(r.by) >= refusalsMost {
		r.by = map[string]refusal{}
	}
	r.by[subject] = refusal{time.Now(), err}
	return subject, !known
}

// since returns the refusal about a stream or bucket that arrived at the given time or later. With
// an empty name it returns a refusal about any of them.
func (r *refusals) since(at time.Time, name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for subject, x := range r.by {
		if s := "." + subject + "."; !x.at.Before(at) && (name == "" || strings.Contains(s, "."+name+".") || strings.Contains(s, "_"+name+".")) {
			return x.err
		}
	}
	return nil
}

// of returns the refusal for a subject; nil means that there is none.
func (r *refusals) of(subject string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.by[subject].err
}

func (r *refusals) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.by)
}

// nats.go calls asyncError with errors that belong to no call.
func (c *Conn) asyncError(s *nats.Subscription, err error) {
	switch {
	case errors.Is(err, nats.ErrPermissionViolation):
		if subject, news := c.refused.note(err); news {
			c.log.Error("NATS does not allow this process to use a subject: deploy/nats.cluster.conf shows the permissions that each role needs",
				"user", c.refused.who, "subject", subject, "err", err)
		}
	case errors.Is(err, nats.ErrConsumerNotActive): // of a watch; WatchKeys starts another one
		c.log.Debug("NATS", "err", err)
	default:
		subject := ""
		if s != nil {
			subject = s.Subject
		}
		// A server that refuses a request repeats that four times a second.
		if c.news(subject + err.Error()) {
			c.log.Warn("NATS", "subject", subject, "err", err)
		}
	}
}
