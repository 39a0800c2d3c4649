package site

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/curtsy/curtsy/pkg/rup"
	bolt "go.etcd.io/bbolt"
)

// tick is how long to wait after something went wrong, and longest between two looks at what is to be done: the machine may sleep, its
// clock be set.
const (
	tick    = 30 * time.Second
	longest = 10 * time.Minute
)

// confirmWithin is how long a registration waits for its confirmation.
const confirmWithin = 48 * time.Hour

// mailer gives every robot its report once per interval: written into the spool together with its number, then sent until the relay has
// it. A crash between the relay's word and ours sends a report twice, under one number, which robots ignore (§6.3).
type mailer struct {
	db      *bolt.DB
	reports *reports
	send    func(ctx context.Context, w *waiting) error
	log     *slog.Logger
	count   func(result string)
	wake    chan struct{} // holds a token when there may be something to do

	pause time.Duration // after the relay failed, doubled each time
	until time.Time     // until which it is left alone
}

// run works until ctx ends. A letter under way then is seen through.
func (m *mailer) run(ctx context.Context) error {
	for {
		began := time.Now()
		err := errors.Join(m.expire(), m.assign(ctx), m.deliver(ctx))
		next, e := m.next(began)
		if err = errors.Join(err, e); err != nil {
			m.log.Error("reports could not be mailed; it is tried again", "err", err)
			next = time.Now().Add(tick)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-m.wake:
		case <-time.After(time.Until(next)):
		}
	}
}

// next is the first moment after began at which there is something to do.
func (m *mailer) next(began time.Time) (time.Time, error) {
	next := began.Add(longest)
	consider := func(t time.Time) {
		if t.After(began) && t.Before(next) {
			next = t
		}
	}
	consider(m.until)
	err := m.db.View(func(tx *bolt.Tx) error {
		return errors.Join(
			each(tx.Bucket(bucketProgress), func(_ []byte, p progress) error { consider(p.due()); return nil }),
			each(tx.Bucket(bucketSpool), func(_ []byte, l letter) error { consider(l.Next); return nil }))
	})
	return next, err
}

// assign writes the reports that are due.
func (m *mailer) assign(ctx context.Context) error {
	var due []string
	err := m.db.View(func(tx *bolt.Tx) error {
		if tx.Bucket(bucketMeta).Get(metaBaseline) == nil {
			return nil // what stands there is not known yet
		}
		return each(tx.Bucket(bucketProgress), func(id []byte, p progress) error {
			if !p.due().After(time.Now()) {
				due = append(due, string(id))
			}
			return nil
		})
	})
	for _, id := range due {
		if ctx.Err() != nil {
			return nil
		}
		for done := false; !done; {
			var e error
			if done, e = m.assignOne(id); e != nil {
				err = errors.Join(err, e)
				break
			}
		}
	}
	return err
}

// assignOne writes one report, and says whether that was all there is to report. Number, text, and how far reports have come are
// written in one transaction.
func (m *mailer) assignOne(id string) (done bool, err error) {
	err = m.db.Update(func(tx *bolt.Tx) error {
		regs, now := registrations{tx}, time.Now()
		reg, p, ok, err := regs.byID(id)
		if err != nil || !ok || reg.Pending {
			done = true
			return err
		}
		var text []byte
		if text, p.Since, done, err = m.reports.next(tx, reg, p); err != nil {
			return err
		}
		reg.Sequence++
		if done {
			// One per interval from registration on; intervals that we slept through have one report together.
			if p.Last = p.due(); !p.due().After(now) {
				p.Last = now
			}
		}
		return errors.Join(post(tx, letter{ID: id, Sequence: reg.Sequence, Created: now, Next: now}, text),
			put(tx.Bucket(bucketRobots), []byte(p.Email), reg), regs.putProgress(id, p))
	})
	return done, err
}

// deliver sends what may be sent now.
func (m *mailer) deliver(ctx context.Context) error {
	blocked := map[string]bool{}
	for after := []byte(nil); ctx.Err() == nil && !time.Now().Before(m.until); {
		var w *waiting
		err := m.db.View(func(tx *bolt.Tx) (err error) {
			w, err = nextLetter(tx, time.Now(), after, blocked)
			return err
		})
		if err != nil || w == nil {
			return err
		}
		after = w.key
		var sent error
		if w.to != "" {
			sent = m.send(context.WithoutCancel(ctx), w)
		}
		if errors.Is(sent, errRelay) {
			m.pause = min(max(2*m.pause, tick), 15*time.Minute)
			m.until = time.Now().Add(m.pause)
		} else {
			m.pause = 0
		}
		var result string
		if err := m.db.Update(func(tx *bolt.Tx) (err error) {
			result, err = settle(tx, time.Now(), w, sent)
			return err
		}); err != nil {
			return err
		}
		m.count(result)
		if sent != nil {
			blocked[w.ID] = result == "put off"
			m.log.Warn("mail not sent", "result", result, "registration", w.ID, "sequence", w.Sequence, "tries", w.Tries, "err", sent)
		}
	}
	return nil
}

// expire ends registrations that nobody confirmed in time.
func (m *mailer) expire() error {
	var late []string
	err := m.db.View(func(tx *bolt.Tx) error {
		return each(tx.Bucket(bucketRobots), func(email []byte, reg rup.Registration) error {
			if reg.Pending && time.Since(reg.Asked) > confirmWithin {
				late = append(late, string(email))
			}
			return nil
		})
	})
	if err != nil || len(late) == 0 {
		return err
	}
	return m.db.Update(func(tx *bolt.Tx) (err error) {
		for _, email := range late {
			reg, ok, e := registrations{tx}.Get(email)
			if err = errors.Join(err, e); ok && reg.Pending { // not confirmed since
				err = errors.Join(err, registrations{tx}.Delete(email))
			}
		}
		return errors.Join(err, registrations{tx}.sweep())
	})
}
