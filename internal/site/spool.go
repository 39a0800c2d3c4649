package site

import (
	"bytes"
	"encoding/binary"
	"errors"
	"time"

	"github.com/curtsy/curtsy/pkg/rup"
	bolt "go.etcd.io/bbolt"
)

// The spool has mails that are to be sent, oldest first: who and how often it was tried in spool,
// the text beside it in texts.

// queuedMail is a mail to a robot. Its address is looked up when it is sent: it may have
// changed, or be gone.
type queuedMail struct {
	ID       string // of the registration
	Sequence int64  // of the report; 0: the question whether the address wants any
	Created  time.Time
	Next     time.Time // not to be tried before
	Tries    int
}

// How long a letter is tried (formats §6.3: the robot notices what was lost, and asks), and how
// patiently.
const (
	mailLife    = 5 * 24 * time.Hour
	firstPause  = time.Minute
	longPause   = 4 * time.Hour
	maxFailures = 5 // letters in a row that an address refuses for good; then its registration ends
)

// What the relay said to a letter, if not that it will deliver it. Any other error may pass.
var (
	errAddress     = errors.New("the address is refused")       // for good
	errMailRefused = errors.New("the mail was refused")         // for good
	errRelay       = errors.New("the relay cannot be used now") // whatever the letter
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

// waiting is a letter whose time has come, with what it takes to send it.
type waiting struct {
	queuedMail
	key  []byte
	text []byte
	to   string
	out  string // token by which its reader can end the registration
}

// nextMail finds the first letter behind after that may be sent now. Letters to one robot keep
// their order: blocked are those of which an earlier one waits. One that nobody is there to receive
// any more has no address.
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

// settle writes down what became of a letter that was tried, and says what that
// was, for the metric.
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
