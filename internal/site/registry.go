package site

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/curtsy/curtsy/pkg/rup"
	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/boltfile"
)

// registry is the rup.Store in the Site's file. The bucket robots has the registrations by address;
// the bucket progress has, by ID, what reports need to know about each.
type registry struct {
	db      *boltfile.File
	changed func() // called after each successful Update
}

// progress is how far the reports to a robot have come.
type progress struct {
	Email    string        // key in robots
	Latency  time.Duration // between two reports
	Since    []byte        // position of the last line of the log that was in a report
	Last     time.Time     // when the last report was due, or the robot registered
	Failures int           // consecutive mails that the address refused
	Token    []byte        // SHA-256 of the token with which a Pending address confirms
	// Leave is the token in each mail that lets its reader end the registration; "" means that no
	// mail was sent yet.
	Leave string
}

func (p progress) due() time.Time { return p.Last.Add(p.Latency) }

// View and Update are rup.Store's.
func (s *registry) View(_ context.Context, f func(rup.Registrations) error) error {
	return s.db.View(func(tx *bolt.Tx) error { return f(registrations{tx}) })
}

func (s *registry) Update(_ context.Context, f func(rup.Registrations) error) error {
	err := s.db.Update(func(tx *bolt.Tx) error {
		if err := f(registrations{tx}); err != nil {
			return err
		}
		return registrations{tx}.sweep()
	})
	if err == nil {
		s.changed()
	}
	return err
}

// registrations is rup.Registrations within a transaction.
type registrations struct{ tx *bolt.Tx }

func (r registrations) Get(email string) (reg rup.Registration, ok bool, err error) {
	ok, err = get(r.tx.Bucket(bucketRobots), []byte(email), &reg)
	return reg, ok, err
}

// Put stores a registration. The first report of a new one has the changes from now on, and is due
// after one latency.
func (r registrations) Put(reg rup.Registration) error {
	if reg.Latency.Duration() > maxLatency {
		return &rup.Error{Status: 400, Parameter: "Latency", Reason: fmt.Sprintf("it is longer than %d days", int(maxLatency.Hours()/24))}
	}
	email := rup.EmailKey(reg.Email)
	var p progress
	had, err := get(r.tx.Bucket(bucketProgress), []byte(reg.ID), &p)
	if err != nil {
		return err
	}
	if !had {
		p.Since, p.Last = end(r.tx), time.Now()
	}
	p.Email, p.Latency = email, reg.Latency.Duration()
	return errors.Join(put(r.tx.Bucket(bucketProgress), []byte(reg.ID), p), put(r.tx.Bucket(bucketRobots), []byte(email), reg))
}

func (r registrations) Delete(email string) error {
	return r.tx.Bucket(bucketRobots).Delete([]byte(email))
}

func (r registrations) Count(domain string) (n int, err error) {
	err = r.tx.Bucket(bucketRobots).ForEach(func(k, _ []byte) error {
		if domain == "" || rup.EmailDomain(string(k)) == domain || rup.Mailbox(string(k)) == domain {
			n++
		}
		return nil
	})
	return n, err
}

// sweep deletes the progress of registrations that no longer exist. After a change of address, the
// ID is stored under the new address.
func (r registrations) sweep() error {
	ids := map[string]bool{}
	if err := each(r.tx.Bucket(bucketRobots), func(_ []byte, reg rup.Registration) error {
		ids[reg.ID] = true
		return nil
	}); err != nil {
		return err
	}
	b := r.tx.Bucket(bucketProgress)
	var over [][]byte
	if err := b.ForEach(func(id, _ []byte) error {
		if !ids[string(id)] {
			over = append(over, slices.Clone(id))
		}
		return nil
	}); err != nil {
		return err
	}
	for _, id := range over {
		if err := b.Delete(id); err != nil {
			return err
		}
	}
	return nil
}

// maxLatency is the longest interval between reports to a robot. The log is kept that long.
const maxLatency = 366 * 24 * time.Hour

// byID finds a registration, and the progress of its reports.
func (r registrations) byID(id string) (reg rup.Registration, p progress, ok bool, err error) {
	if ok, err = get(r.tx.Bucket(bucketProgress), []byte(id), &p); err != nil || !ok {
		return reg, p, false, err
	}
	reg, ok, err = r.Get(p.Email)
	return reg, p, ok && reg.ID == id, err
}

func (r registrations) putProgress(id string, p progress) error {
	return put(r.tx.Bucket(bucketProgress), []byte(id), p)
}

// get reads a value. It returns false if there is none.
func get(b *bolt.Bucket, k []byte, into any) (bool, error) {
	v := b.Get(k)
	if v == nil {
		return false, nil
	}
	return true, unmarshal(k, v, into)
}

func unmarshal(k, v []byte, into any) error {
	if err := json.Unmarshal(v, into); err != nil {
		return fmt.Errorf("%x: %w", k, err)
	}
	return nil
}

func put(b *bolt.Bucket, k []byte, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return b.Put(k, text)
}

// each calls f for every value of a bucket.
func each[T any](b *bolt.Bucket, f func(k []byte, v T) error) error {
	return b.ForEach(func(k, text []byte) error {
		var v T
		if err := unmarshal(k, text, &v); err != nil {
			return err
		}
		return f(k, v)
	})
}
