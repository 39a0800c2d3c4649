package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/pkg/boottime"
	"github.com/nats-io/nats.go/jetstream"
)

// memberTTL is how long the server keeps the last announcement of a member. It only removes old
// entries from the bucket: memberList decides who is a member, by recent announcements.
const memberTTL = 5 * time.Minute

// MemberOptions describe the member that Members announces.
type MemberOptions struct {
	Kind     string // of members that share the same shards, as in "frontier"; required
	Instance string // name of this member; a subject token; required
	// the member announces itself every third of Term; a member without an announcement for longer
	// than Term is gone; 0 means 10 s
	Term time.Duration
	Log  *slog.Logger // nil: slog.Default()
}

func (o MemberOptions) key() string { return o.Kind + "." + o.Instance }

// OpenMembers opens the bucket in which processes announce themselves, and creates it if it does
// not exist. replicas 0 means Options.Replicas.
func (c *Conn) OpenMembers(ctx context.Context, name string, replicas int) (jetstream.KeyValue, error) {
	return c.openBucket(ctx, name, bucketConfig{bytes: 1 << 20, ttl: memberTTL, replicas: replicas})
}

// Members announces this process until ctx ends. Meanwhile it calls changed with the sorted names
// of all members of the same kind: once when it first knows them, and again whenever they change. A
// member is gone when it left in order, or when it was silent for a term and four of our own
// announcements have arrived since. While the broker is unreachable, or does not deliver our own
// announcements to us, changed is not called. Members returns nil when ctx ends; this process is no
// member any more then. It returns a wrapped ErrNamesake when another process with the same name is
// running and was there first. It notices that within a term.
//
// Membership is a hint about who should own which shard (Assign). It protects nothing; only
// Ownership does.
func Members(ctx context.Context, kv jetstream.KeyValue, o MemberOptions, changed func(members []string)) error {
	if o.Kind == "" || o.Instance == "" {
		return errors.New("members: MemberOptions.Kind and Instance are required")
	}
	o.Term = cmp.Or(o.Term, defaultTerm)
	o.Log = cmp.Or(o.Log, slog.Default())
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	names := newNamesakes()
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		m := &memberList{o: o, changed: changed, words: map[string]word{}}
		WatchKeys(ctx, kv, o.Kind+".*", o.Term/2, m.begin, names.listen(o, m.entry, leave))
	}()
	defer func() { <-watching }()
	logged := false
	for {
		next := o.Term / 3
		if err := announce(ctx, kv, o, names.word()); err == nil {
			logged = false
		} else {
			// Electing a leader takes less than a term, and our announcement should arrive before
			// the term ends.
			next = o.Term / 20
			if ctx.Err() == nil && !logged {
				o.Log.Warn("cannot announce this process; trying again", "member", o.key(), "err", err)
				logged = true
			}
		}
		select {
		case <-ctx.Done():
			if err := context.Cause(ctx); errors.Is(err, ErrNamesake) {
				return err // do not delete the key: it belongs to the other process
			}
			dctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			_ = kv.Delete(dctx, o.key()) // if this fails, the others notice our silence
			return nil
		case <-time.After(next):
		}
	}
}

func announce(ctx context.Context, kv jetstream.KeyValue, o MemberOptions, word []byte) error {
	ctx, cancel := context.WithTimeout(ctx, o.Term/3)
	defer cancel()
	_, err := kv.Put(ctx, o.key(), word)
	return err
}

// silentWords is how many of our own announcements must have come back to us since the last
// announcement of a member before that member is gone. The bucket orders the announcements of all
// members. So a member that announces itself as often as we do is never taken for silent, however
// late a watch is, and however long no leader accepted announcements.
const silentWords = 4

// memberList is the state of one call of Members. No part of it depends on the clock of a server.
type memberList struct {
	o         MemberOptions
	changed   func([]string)
	words     map[string]word // the last announcements, by member; kept from one watch to the next
	seen      map[string]bool // members that this watch has delivered
	complete  bool            // the watch has delivered all existing entries
	ours      int             // how many of our own announcements have come back
	announced []string
}

// word is the last announcement of a member.
type word struct {
	revision uint64
	at       time.Duration // on boottime.Now
	ours     int           // memberList.ours at that time
}

func (m *memberList) begin() {
	m.seen, m.complete = map[string]bool{}, false
}

func (m *memberList) entry(e jetstream.KeyValueEntry) {
	if e == nil {
		m.complete = true
		maps.DeleteFunc(m.words, func(name string, _ word) bool { return !m.seen[name] })
		m.tell(boottime.Now())
		return
	}
	name := strings.TrimPrefix(e.Key(), m.o.Kind+".")
	if e.Operation() == jetstream.KeyValuePut {
		m.seen[name] = true
		m.hear(name, e.Revision(), boottime.Now())
	} else {
		delete(m.words, name)
	}
	// While more announcements are on their way, the other members would seem more silent than they
	// are.
	if m.complete && e.Delta() == 0 {
		m.tell(boottime.Now())
	}
}

// hear records an announcement. Every new watch delivers known announcements again; these do not
// count.
func (m *memberList) hear(name string, revision uint64, now time.Duration) {
	if w, known := m.words[name]; known && w.revision == revision {
		return
	}
	if name == m.o.Instance {
		m.ours++
	}
	m.words[name] = word{revision: revision, at: now, ours: m.ours}
}

func (m *memberList) tell(now time.Duration) {
	us, known := m.words[m.o.Instance]
	if !known || now-us.at >= m.o.Term {
		return // we seem to be cut off, so our knowledge of the others may be old
	}
	var names []string
	for name, w := range m.words {
		if m.ours-w.ours < silentWords || now-w.at < m.o.Term {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if !slices.Equal(names, m.announced) {
		m.announced = names
		m.changed(slices.Clone(names))
	}
}

// Assign determines which member should own which shard: name i of the result is for shard i. It
// depends only on its arguments. The numbers of shards of two members differ by at most one, and a
// member that joins or leaves moves few shards. Without members all names are empty. The order of
// members does not matter.
func Assign(shards int, members []string) []string {
	owners := make([]string, shards)
	n := len(members)
	if n == 0 {
		return owners
	}
	members = slices.Clone(members)
	slices.Sort(members)
	share, extra := shards/n, shards%n // extra members get one more
	count := make(map[string]int, n)
	ranked := make([]string, n)
	for i := range owners {
		copy(ranked, members)
		slices.SortStableFunc(ranked, func(a, b string) int { return cmp.Compare(weight(b, i), weight(a, i)) })
		for _, name := range ranked {
			if count[name] < share || count[name] == share && extra > 0 {
				if count[name] == share {
					extra--
				}
				count[name]++
				owners[i] = name
				break
			}
		}
	}
	return owners
}

// weight returns the weight of a member for a shard (rendezvous hashing).
func weight(member string, shard int) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d", member, shard) // never fails
	w := h.Sum64()
	w ^= w >> 31 // the high bits of FNV hardly depend on the last byte
	w *= 0x9e3779b97f4a7c15
	return w ^ w>>29
}
