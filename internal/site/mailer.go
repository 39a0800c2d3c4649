package site

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/curtsy/curtsy/internal/backoff"
	"github.com/curtsy/curtsy/pkg/rup"
	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/boltfile"
)

// tick is how long to wait after an error. longest is the longest time between two checks for work,
// because the machine may be suspended or its clock set.
const (
	tick    = 30 * time.Second
	longest = 10 * time.Minute
)

// confirmWithin is how long a registration waits for its confirmation.
const confirmWithin = 48 * time.Hour

// relayPause is how long to wait after the relay failed.
var relayPause = backoff.Delay{Least: tick, Most: 15 * time.Minute}

// mailer sends every robot one report per interval. A report is stored in the spool together with
// its number, and then sent until the relay accepts it. If the process crashes after the relay has
// accepted a report and before this is stored, the report is sent twice with the same number, and
// robots ignore the second one (formats §6.3).
type mailer struct {
	db      *boltfile.File
	reports *reports
	send    func(ctx context.Context, w *waiting) error
	log     *slog.Logger
	count   func(result string)
	wake    chan struct{} // has a token when there may be work

	pause backoff.Delay // after the relay failed
	until time.Time     // when it is tried again
}

// run works until ctx ends. A mail that is being sent then is completed.
func (m *mailer) run(ctx context.Context) error {
	for {
		began := time.Now()
		err := errors.Join(m.setBack(), m.expire(), m.assign(ctx), m.deliver(ctx))
		next, e := m.next(began)
		if err = errors.Join(err, e); err != nil {
			m.log.Error("reports could not be sent by mail; trying again", "err", err)
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

// next returns the first time after began at which there is work.
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
			each(tx.Bucket(bucketSpool), func(_ []byte, l queuedMail) error { consider(l.Next); return nil }))
	})
	return next, err
}

// assign writes the reports that are due.
func (m *mailer) assign(ctx context.Context) error {
	var due []string
	err := m.db.View(func(tx *bolt.Tx) error {
		if tx.Bucket(bucketMeta).Get(metaBaseline) == nil {
			return nil // the first scan is not complete
		}
		return each(tx.Bucket(bucketProgress), func(id []byte, p progress) error {
			if p.due().After(time.Now()) {
				return nil
			}
			reg, _, ok, err := registrations{tx}.byID(string(id))
			if ok && !reg.Pending {
				due = append(due, string(id))
			}
			return err
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

// assignOne writes one report, and reports whether it was the last one for now. The number, the
// text and the progress of the robot are written in one transaction.
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
		p.leave()
		if done {
			// There is one report per interval since the registration. If the process was stopped
			// during several intervals, they share one report.
			if p.Last = p.due(); !p.due().After(now) {
				p.Last = now
			}
		}
		return errors.Join(post(tx, queuedMail{ID: id, Sequence: reg.Sequence, Created: now, Next: now}, text),
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
			w, err = nextMail(tx, time.Now(), after, blocked)
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
			m.until = time.Now().Add(m.pause.Next())
		} else {
			m.pause.Reset()
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

// setBack replaces times in the future by now. Such times were written when the clock was wrong;
// since then it was set back. Otherwise nobody would get a report until these times are reached,
// which may take years.
func (m *mailer) setBack() error {
	now := time.Now()
	ahead := func(t time.Time) bool { return t.After(now.Add(clockSlack)) }
	late := func(l queuedMail) bool { return ahead(l.Created) || l.Next.After(now.Add(longPause+clockSlack)) }
	found := false
	err := m.db.View(func(tx *bolt.Tx) error {
		found = aheadInLog(tx, now.Add(clockSlack))
		return errors.Join(
			each(tx.Bucket(bucketProgress), func(_ []byte, p progress) error { found = found || ahead(p.Last); return nil }),
			each(tx.Bucket(bucketRobots), func(_ []byte, r rup.Registration) error { found = found || ahead(r.Asked); return nil }),
			each(tx.Bucket(bucketSpool), func(_ []byte, l queuedMail) error { found = found || late(l); return nil }))
	})
	if err != nil || !found {
		return err
	}
	m.log.Warn("the clock was set back: everything planned by the old time now counts from the new time")
	return m.db.Update(func(tx *bolt.Tx) error {
		return errors.Join(
			setLogBack(tx, now),
			amend(tx.Bucket(bucketProgress), func(p *progress) bool {
				was := ahead(p.Last)
				if was {
					p.Last = now
				}
				return was
			}),
			amend(tx.Bucket(bucketRobots), func(r *rup.Registration) bool {
				was := ahead(r.Asked)
				if was {
					r.Asked = now
				}
				return was
			}),
			amend(tx.Bucket(bucketSpool), func(l *queuedMail) bool {
				was := late(*l)
				if was {
					l.Next = now
				}
				if ahead(l.Created) {
					l.Created = now
				}
				return was
			}))
	})
}

// clockSlack is how far in the future a time may be without a wrong clock: small corrections are
// frequent.
const clockSlack = time.Minute

// amend writes the values of a bucket that f changes.
func amend[T any](b *bolt.Bucket, f func(*T) bool) error {
	type change struct {
		k []byte
		v T
	}
	var changes []change
	if err := each(b, func(k []byte, v T) error {
		if f(&v) {
			changes = append(changes, change{bytes.Clone(k), v})
		}
		return nil
	}); err != nil {
		return err
	}
	for _, c := range changes {
		if err := put(b, c.k, c.v); err != nil {
			return err
		}
	}
	return nil
}

// expire ends registrations that were not confirmed in time.
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
			if err = errors.Join(err, e); ok && reg.Pending { // not confirmed meanwhile
				err = errors.Join(err, registrations{tx}.Delete(email))
			}
		}
		return errors.Join(err, registrations{tx}.sweep())
	})
}
