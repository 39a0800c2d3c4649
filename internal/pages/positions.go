package pages

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
)

// bucketFeeds has how far this shard was sent to each sink: name → FeedPosition in JSON. It is made
// when it is first needed.
var bucketFeeds = []byte("feeds")

// bucketConcealed has the entries that positions obey: FeedPosition.Hidden → the entries of
// Spec.Forgotten, a line each. It is made when it is first needed. Without it nobody would know
// which rows were sent without a name that may be shown again.
var bucketConcealed = []byte("feeds-concealed")

// MaxFeeds is how many sinks a shard remembers positions for.
const MaxFeeds = 16

// errSame ends a write transaction that has nothing to write.
var errSame = errors.New("nothing changes")

// Positions returns the positions of all sinks, by name, with what is left to send.
func (f *Feed) Positions() (all []crawl.FeedPosition, err error) {
	err = f.file.view(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketFeeds)
		if b == nil {
			return nil
		}
		return b.ForEach(func(k, v []byte) error {
			p, err := parsePosition(k, v)
			all = append(all, p)
			return err
		})
	})
	for i := range all {
		all[i].Behind = f.Behind(all[i].Cursor)
	}
	return all, err
}

// Begin returns the position of a sink. If there is none, or one that cannot go on, a new one
// begins before the first change: if the setup is another one, or if the position is past the end
// of the change feed. forgotten are the entries of Spec.Forgotten, which a new position obeys; see
// Conceal.
func (f *Feed) Begin(sink, setup string, forgotten []string, now time.Time) (p crawl.FeedPosition, err error) {
	known := false
	err = f.file.view(func(tx *bolt.Tx) error {
		p, known, err = getPosition(tx, sink)
		return err
	})
	if err != nil || known && p.Setup == setup && p.Cursor <= f.counters.Load().LastSeq {
		return p, err
	}
	if err := crawl.CheckFeedName(sink); err != nil {
		return p, err
	}
	err = f.file.write(func(tx *bolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists(bucketFeeds)
		if err != nil {
			return err
		}
		old, known, err := getPosition(tx, sink)
		if err != nil {
			return err
		}
		if n := b.Stats().KeyN; !known && n >= MaxFeeds {
			return fmt.Errorf("there are %d feeds already: remove one that is not used any more with: curtsy feed --forget NAME", n)
		}
		p = crawl.FeedPosition{Sink: sink, Setup: setup, Hidden: forgottenText(forgotten), Floor: f.counters.Load().LastSeq, Sent: old.Sent, Refused: old.Refused,
			Generation: max(int64(now.Sub(crawl.FeedEpoch)/time.Second), old.Generation+1)}
		if err := putPosition(b, &p); err != nil {
			return err
		}
		return putConcealed(tx, p.Hidden, forgotten)
	})
	return p, err
}

func forgottenText(forgotten []string) string {
	return crawl.Spec{Forgotten: forgotten}.ForgottenText()
}

// Concealed returns the entries of Spec.Forgotten that a position obeys, by its Hidden. known is
// false if they were not stored.
func (f *Feed) Concealed(hidden string) (forgotten []string, known bool, err error) {
	if hidden == "" {
		return nil, true, nil
	}
	err = f.file.view(func(tx *bolt.Tx) error {
		if b := tx.Bucket(bucketConcealed); b != nil {
			if v := b.Get([]byte(hidden)); v != nil {
				forgotten, known = strings.Split(string(v), "\n"), true
			}
		}
		return nil
	})
	return forgotten, known, err
}

// putConcealed stores entries under their FeedPosition.Hidden, and removes those that no position
// obeys any more.
func putConcealed(tx *bolt.Tx, hidden string, forgotten []string) error {
	b, err := tx.CreateBucketIfNotExists(bucketConcealed)
	if err != nil {
		return err
	}
	used := map[string]bool{}
	err = tx.Bucket(bucketFeeds).ForEach(func(k, v []byte) error {
		p, err := parsePosition(k, v)
		used[p.Hidden] = true
		return err
	})
	if err != nil {
		return err
	}
	for cur := b.Cursor(); ; {
		k, _ := cur.First()
		for k != nil && used[string(k)] {
			k, _ = cur.Next()
		}
		if k == nil {
			break
		}
		if err := b.Delete(k); err != nil {
			return err
		}
	}
	if hidden == "" || b.Get([]byte(hidden)) != nil {
		return nil
	}
	return b.Put([]byte(hidden), []byte(strings.Join(forgotten, "\n")))
}

// Conceal stores that rows that name what is forgotten, or was forgotten, were given new numbers,
// so that the sink gets them without those names, or with them again.
func (f *Feed) Conceal(sink string, generation int64, forgotten []string) error {
	hidden := forgottenText(forgotten)
	err := f.file.write(func(tx *bolt.Tx) error {
		p, known, err := getPosition(tx, sink)
		if err != nil {
			return err
		}
		if !known || p.Generation != generation || p.Hidden == hidden {
			return errSame
		}
		p.Hidden = hidden
		if err := putPosition(tx.Bucket(bucketFeeds), &p); err != nil {
			return err
		}
		return putConcealed(tx, hidden, forgotten)
	})
	if errors.Is(err, errSame) {
		return nil
	}
	return err
}

// Acknowledge applies an acknowledgement and returns the position after it. When it returns, the
// position is on disk. One that comes late, a second time, or for another generation changes
// nothing; then the position returned shows it, and is zero if there is none.
func (f *Feed) Acknowledge(a *crawl.FeedAck, now time.Time) (p crawl.FeedPosition, err error) {
	if last := f.counters.Load().LastSeq; a.Seq > last {
		return p, fmt.Errorf("feed %s: change %d is acknowledged, but the last one is %d", a.Sink, a.Seq, last)
	}
	err = f.file.write(func(tx *bolt.Tx) error {
		known := false
		if p, known, err = getPosition(tx, a.Sink); err != nil {
			return err
		}
		if !known || p.Generation != a.Generation {
			return errSame
		}
		before := p
		if a.Seq > p.Cursor {
			p.Cursor, p.AckedAt = a.Seq, now.UTC()
			p.Sent, p.Refused = p.Sent+a.Sent, p.Refused+a.Refused
			p.Trouble, p.TroubleAt = "", time.Time{}
		}
		if a.Swept && p.Cursor >= p.Floor {
			p.Swept, p.Trouble, p.TroubleAt = true, "", time.Time{}
		}
		if a.Trouble != "" && a.Trouble != p.Trouble && a.Seq >= p.Cursor {
			p.Trouble, p.TroubleAt = a.Trouble[:min(len(a.Trouble), maxTrouble)], now.UTC()
		}
		if p == before {
			return errSame
		}
		return putPosition(tx.Bucket(bucketFeeds), &p)
	})
	if errors.Is(err, errSame) {
		err = nil
	}
	return p, err
}

// maxTrouble is how much of an error is kept, in bytes.
const maxTrouble = 1000

// ForgetSink removes the position of a sink, and reports whether there was one.
func (f *Feed) ForgetSink(sink string) (there bool, err error) {
	err = f.file.write(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketFeeds)
		if b == nil || b.Get([]byte(sink)) == nil {
			return errSame
		}
		there = true
		return b.Delete([]byte(sink))
	})
	if errors.Is(err, errSame) {
		err = nil
	}
	return there && err == nil, err
}

func getPosition(tx *bolt.Tx, sink string) (p crawl.FeedPosition, known bool, err error) {
	b := tx.Bucket(bucketFeeds)
	if b == nil {
		return p, false, nil
	}
	v := b.Get([]byte(sink))
	if v == nil {
		return p, false, nil
	}
	p, err = parsePosition([]byte(sink), v)
	return p, err == nil, err
}

func parsePosition(name, v []byte) (p crawl.FeedPosition, err error) {
	if err := json.Unmarshal(v, &p); err != nil {
		return p, fmt.Errorf("%w: position of feed %s: %w", errRecord, name, err)
	}
	p.Sink = string(name)
	return p, nil
}

func putPosition(b *bolt.Bucket, p *crawl.FeedPosition) error {
	v, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return b.Put([]byte(p.Sink), slices.Clip(v))
}
