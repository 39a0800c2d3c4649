package agenthost

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/boltfile"
	"github.com/curtsy/curtsy/internal/mobile"
)

// The buckets of the file.
var (
	// Tickets that were used: the time until which they are valid and a digest, so that the oldest
	// are first. The values are empty.
	bucketTickets = []byte("tickets")
	// What a key used on a day: by the day and the key; a Quota as JSON.
	bucketUsage = []byte("usage")
	// Runs whose results are kept: by Agent-Id; a record as JSON.
	bucketRuns = []byte("runs")
)

// record is what is stored of a run.
type record struct {
	ID       string         `json:"id"`
	Robot    string         `json:"robot"` // its name on the allow-list
	Key      string         `json:"key"`
	Day      string         `json:"day"` // on which it counts
	Client   string         `json:"client"`
	Subtree  string         `json:"subtree"`
	Token    string         `json:"token"`
	Started  time.Time      `json:"started"`
	Reserved Quota          `json:"reserved"` // counted until the run is settled
	Ended    time.Time      `json:"ended,omitzero"`
	Summary  mobile.Summary `json:"summary"` // when it has ended
}

// store is the file with what must survive a crash. It may be used concurrently.
type store struct{ db *boltfile.File }

func openStore(dir string) (*store, error) {
	name := filepath.Join(dir, "agenthost.db")
	db, err := boltfile.Open(name, bolt.Options{Timeout: time.Second}, "Move it away. The quotas of today then begin again, and tickets that are still valid could be used once more.")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		for _, b := range [][]byte{bucketTickets, bucketUsage, bucketRuns} {
			if _, err := tx.CreateBucketIfNotExists(b); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &store{db}, nil
}

func (s *store) close() error { return s.db.Close() }

// errReplayed means that a ticket was used before.
var errReplayed = errors.New("the ticket was used before; sign a new one for each run")

// exceeded means that a quota of a day leaves too little for a run.
type exceeded struct {
	what  string
	until time.Time // when to try again at the earliest
}

func (e *exceeded) Error() string { return "the quota of a day leaves too little: " + e.what }

// admit counts a run: its ticket is used from then on, and what it has reserved is used until it is
// settled. The error is errReplayed, an *exceeded, or a failure.
func (s *store) admit(now time.Time, t mobile.Ticket, quota Quota, r *record) error {
	r.Day, r.Started = now.UTC().Format(time.DateOnly), now
	return s.db.Update(func(tx *bolt.Tx) error {
		if err := forgetOld(tx, now); err != nil {
			return err
		}
		tickets := tx.Bucket(bucketTickets)
		if tickets.Get(ticketKey(t)) != nil {
			return errReplayed
		}
		used, err := usage(tx, r.Day, r.Key)
		if err != nil {
			return err
		}
		used.add(r.Reserved)
		if what := used.over(quota); what != "" {
			running, err := reserved(tx, r.Key, r.Day)
			if err != nil {
				return err
			}
			return &exceeded{what, retryAt(now, used, running, quota)}
		}
		return errors.Join(tickets.Put(ticketKey(t), nil), putUsage(tx, r.Day, r.Key, used), putJSON(tx.Bucket(bucketRuns), []byte(r.ID), r))
	})
}

// retryAt is the next day, or soon if the runs that have not ended may give back enough.
func retryAt(now time.Time, used, running, quota Quota) time.Time {
	used.Read, used.Sent, used.CPU = used.Read-running.Read, used.Sent-running.Sent, used.CPU-running.CPU
	if used.over(quota) == "" {
		return now.Add(time.Minute)
	}
	return now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
}

// reserved adds up what the runs of a key have reserved that have not ended.
func reserved(tx *bolt.Tx, key, day string) (sum Quota, err error) {
	err = tx.Bucket(bucketRuns).ForEach(func(_, v []byte) error {
		var r record
		if err := json.Unmarshal(v, &r); err != nil {
			return err
		}
		if r.Key == key && r.Day == day && r.Ended.IsZero() {
			sum.add(r.Reserved)
		}
		return nil
	})
	return sum, err
}

// settle records the end of a run, and counts what it used instead of what it had reserved.
func (s *store) settle(r *record) error {
	return s.db.Update(func(tx *bolt.Tx) error {
		used, err := usage(tx, r.Day, r.Key)
		if err != nil {
			return err
		}
		used.Read += r.Summary.Read - r.Reserved.Read
		used.Sent += r.Summary.Sent - r.Reserved.Sent
		used.CPU += time.Duration(r.Summary.CPU*float64(time.Second)) - r.Reserved.CPU
		return errors.Join(putUsage(tx, r.Day, r.Key, used), putJSON(tx.Bucket(bucketRuns), []byte(r.ID), r))
	})
}

// endUnseen records the end of a run that nobody saw ending: all that it had reserved counts.
func (s *store) endUnseen(r *record) error {
	return s.db.Update(func(tx *bolt.Tx) error { return putJSON(tx.Bucket(bucketRuns), []byte(r.ID), r) })
}

// forget removes the record of a run whose results are deleted.
func (s *store) forget(id string) error {
	return s.db.Update(func(tx *bolt.Tx) error { return tx.Bucket(bucketRuns).Delete([]byte(id)) })
}

// runs returns all records.
func (s *store) runs() (list []*record, err error) {
	err = s.db.View(func(tx *bolt.Tx) error {
		return tx.Bucket(bucketRuns).ForEach(func(_, v []byte) error {
			r := new(record)
			list = append(list, r)
			return json.Unmarshal(v, r)
		})
	})
	return list, err
}

// add adds what a run may use. It is one run.
func (q *Quota) add(more Quota) {
	q.Runs, q.Read, q.Sent, q.CPU = q.Runs+more.Runs, q.Read+more.Read, q.Sent+more.Sent, q.CPU+more.CPU
}

// over returns which part of a quota is exceeded, or "".
func (q Quota) over(quota Quota) string {
	switch {
	case q.Runs > quota.Runs:
		return fmt.Sprintf("%d runs", quota.Runs)
	case q.Read > quota.Read:
		return fmt.Sprintf("%d octets read", quota.Read)
	case q.Sent > quota.Sent:
		return fmt.Sprintf("%d octets sent", quota.Sent)
	case q.CPU > quota.CPU:
		return fmt.Sprintf("%s of processor time", quota.CPU)
	}
	return ""
}

// ticketKey begins with the end of a ticket's validity, which is signed: a copy of it has the same.
func ticketKey(t mobile.Ticket) []byte {
	sum := sha256.Sum256([]byte(t.Key + " " + t.Nonce))
	return append(binary.BigEndian.AppendUint64(nil, uint64(t.Expires().Unix())), sum[:16]...)
}

// forgetOld removes tickets that are not valid any more, and the usage of days before yesterday.
func forgetOld(tx *bolt.Tx, now time.Time) error {
	before := binary.BigEndian.AppendUint64(nil, uint64(now.Unix()))
	if err := deleteBefore(tx.Bucket(bucketTickets), before); err != nil {
		return err
	}
	return deleteBefore(tx.Bucket(bucketUsage), []byte(now.UTC().AddDate(0, 0, -1).Format(time.DateOnly)))
}

func deleteBefore(b *bolt.Bucket, before []byte) error {
	c := b.Cursor()
	for k, _ := c.First(); k != nil && bytes.Compare(k, before) < 0; k, _ = c.First() {
		if err := c.Delete(); err != nil {
			return err
		}
	}
	return nil
}

func usage(tx *bolt.Tx, day, key string) (q Quota, err error) {
	if v := tx.Bucket(bucketUsage).Get([]byte(day + " " + key)); v != nil {
		err = json.Unmarshal(v, &q)
	}
	return q, err
}

func putUsage(tx *bolt.Tx, day, key string, q Quota) error {
	return putJSON(tx.Bucket(bucketUsage), []byte(day+" "+key), q)
}

func putJSON(b *bolt.Bucket, key []byte, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return b.Put(key, text)
}
