package site

import (
	"bytes"
	"encoding/binary"
	"errors"
	"time"

	"github.com/curtsy/curtsy/pkg/rup"
	bolt "go.etcd.io/bbolt"
)

// The spool has the mails to be sent, oldest first: the bucket spool has the recipient and the
// number of tries, and the bucket texts has the text.

// queuedMail is a mail to a robot. Its address is looked up when it is sent, because it may have
// changed or be unregistered.
type queuedMail struct {
	ID       string // of the registration
	Sequence int64  // of the report; 0: the question whether the address wants reports
	Created  time.Time
	Next     time.Time // not tried before this time
	Tries    int
}

// How long a queued message is tried, and with which pauses. The robot notices lost reports and
// asks for them (formats §6.3).
const (
	mailLife    = 5 * 24 * time.Hour
	firstPause  = time.Minute
	longPause   = 4 * time.Hour
	maxFailures = 5 // refused permanently in a row; then the registration of the address ends
)

// The relay's refusals of a message. Any other error may be temporary.
var (
	errAddress     = errors.New("the address is refused")       // permanently
	errMailRefused = errors.New("the mail was refused")         // permanently
	errRelay       = errors.New("the relay cannot be used now") // regardless of the message
)

func post(tx *bolt.Tx, l queuedMail, text []byte) error {
	b := tx.Bucket(bucketSpool)
	n, err := b.NextSequence()
	if err != nil {
		return err
	}
	k := binary.BigEndian.AppendUint64(nil, n)
	return errors.Join(tx.Bucket(bucketTexts).Put(k, text), put(b, k, l))
}

func drop(tx *bolt.Tx, k []byte) error {
	return errors.Join(tx.Bucket(bucketSpool).Delete(k), tx.Bucket(bucketTexts).Delete(k))
}

// waiting is a queued message that is due, with everything needed to send it.
type waiting struct {
	queuedMail
	key  []byte
	text []byte
	to   string
	out  string // token with which its reader can end the registration
}

// nextMail finds the first queued message after the key after that may be sent now. Messages to one
// robot keep their order: blocked has the robots for which an earlier message waits. A message of a
// registration that has ended has no address.
func nextMail(tx *bolt.Tx, now time.Time, after []byte, blocked map[string]bool) (*waiting, error) {
	c := tx.Bucket(bucketSpool).Cursor()
	for k, v := c.Seek(append(bytes.Clone(after), 0)); k != nil; k, v = c.Next() {
		w := &waiting{key: bytes.Clone(k)}
		if err := unmarshal(k, v, &w.queuedMail); err != nil {
			return nil, err
		}
		reg, p, ok, err := registrations{tx}.byID(w.ID)
		if err != nil {
			return nil, err
		}
		if !ok {
			return w, nil
		}
		if blocked[w.ID] || w.Next.After(now) || reg.Pending && w.Sequence > 0 {
			blocked[w.ID] = true
			continue
		}
		w.to, w.out, w.text = reg.Email, p.Leave, bytes.Clone(tx.Bucket(bucketTexts).Get(k))
		return w, nil
	}
	return nil, nil
}

// settle records the result of trying a queued message, and returns its name for the metric.
func settle(tx *bolt.Tx, now time.Time, w *waiting, sent error) (result string, err error) {
	reg, p, ok, err := registrations{tx}.byID(w.ID)
	if err != nil || !ok {
		return "dropped", errors.Join(err, drop(tx, w.key)) // unregistered
	}
	switch {
	case sent == nil:
		p.Failures = 0
		return "sent", errors.Join(drop(tx, w.key), registrations{tx}.putProgress(w.ID, p))
	case errors.Is(sent, errAddress):
		if p.Failures++; p.Failures >= maxFailures {
			return "refused", errors.Join(drop(tx, w.key), registrations{tx}.Delete(rup.EmailKey(reg.Email)), registrations{tx}.sweep())
		}
		return "refused", errors.Join(drop(tx, w.key), registrations{tx}.putProgress(w.ID, p))
	case errors.Is(sent, errMailRefused):
		return "refused", drop(tx, w.key)
	case now.Sub(w.Created) > mailLife:
		return "given up", drop(tx, w.key)
	}
	w.Tries++
	w.Next = now.Add(min(firstPause<<min(w.Tries-1, 20), longPause))
	return "put off", put(tx.Bucket(bucketSpool), w.key, w.queuedMail)
}
