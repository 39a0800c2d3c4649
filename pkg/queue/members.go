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

// memberTTL is how long the server remembers a member that says nothing. It only keeps the bucket
// tidy: memberList decides who is there, by what was heard lately.
const memberTTL = 5 * time.Minute

// MemberOptions say who is a member, and whom to tell about the others.
type MemberOptions struct {
	Kind     string // of members that share the same shards, as in "frontier"; required
	Instance string // who we are; a subject token; required
	// we say that we are there every third of it; a member that is silent for
	// longer is gone; 0: 10 s
	Term time.Duration
	Log  *slog.Logger // nil: slog.Default()
}

func (o MemberOptions) key() string { return o.Kind + "." + o.Instance }

// OpenMembers opens the bucket in which processes say that they are there, and creates it when
// missing. replicas 0 means what Options.Replicas said.
func (c *Conn) OpenMembers(ctx context.Context, name string, replicas int) (jetstream.KeyValue, error) {
	return c.openBucket(ctx, name, bucketConfig{bytes: 1 << 20, ttl: memberTTL, replicas: replicas})
}

// Members says that we are there until ctx ends. Meanwhile it calls changed with the names of all
// members of our kind, sorted: when it first knows them, and whenever they change. A member is gone
// when it left, or when it was silent for a term and we have been heard four times since. While the
// broker is away, or does not show us our own words, nothing is told. Members returns nil when ctx
// ends; then we are no member any more. It returns a wrapped ErrNamesake when another process of
// our name is there and came first: not at once, but within a term.
//
// Membership is a hint about who should hold which shard (Assign). It guards
// nothing; Ownership does.
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
	said := false
	for {
		next := o.Term / 3
		if err := announce(ctx, kv, o, names.word()); err == nil {
			said = false
		} else {
			// a leader is elected in less than a term, and we want to be heard before it is over
			next = o.Term / 20
			if ctx.Err() == nil && !said {
				o.Log.Warn("cannot announce this process; trying again", "member", o.key(), "err", err)
				said = true
			}
		}
		select {
		case <-ctx.Done():
			if err := context.Cause(ctx); errors.Is(err, ErrNamesake) {
				return err // the key is the other's
			}
			dctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			_ = kv.Delete(dctx, o.key()) // else silence says it
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

// silentWords is how many of our own words must have come back to us since a member's last word
// before that member is gone. The bucket has one order for all. So however late a watch is, and
// however long no leader took words from anybody, a member that speaks as often as we do is
// never taken for silent.
const silentWords = 4

// memberList is what one call of Members knows. Nothing in it comes from a server's clock.
type memberList struct {
	o         MemberOptions
	changed   func([]string)
	words     map[string]word // by member; kept from one watch to the next
	seen      map[string]bool // members this watch has shown
	complete  bool            // it has shown all there were
	ours      int             // our own words that came back
	announced []string
}

// word is the last one heard of a member.
type word struct {
	revision uint64
	at       time.Duration // on boottime.Now
	ours     int           // memberList.ours then
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
	// while more words are on their way, the others would look more silent than they are
	if m.complete && e.Delta() == 0 {
		m.tell(boottime.Now())
	}
}

// hear notes a word. A word that is known already, which every new watch shows
// again, does not count.
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
		return // we are cut off, or not in yet: what we know of the others is no better
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

// Assign says which member should hold which shard: the i-th name is shard i's. It depends on
// nothing but its arguments; members' shares differ by at most one, and a member that comes or goes
// moves few shards. Without members all names are empty. The order of members does not matter.
func Assign(shards int, members []string) []string {
	owners := make([]string, shards)
	n := len(members)
	if n == 0 {
		return owners
	}
	members = slices.Clone(members)
	slices.Sort(members)
	share, extra := shards/n, shards%n // extra members hold one more
	held := make(map[string]int, n)
	ranked := make([]string, n)
	for i := range owners {
		copy(ranked, members)
		slices.SortStableFunc(ranked, func(a, b string) int { return cmp.Compare(weight(b, i), weight(a, i)) })
		for _, name := range ranked {
			if held[name] < share || held[name] == share && extra > 0 {
				if held[name] == share {
					extra--
				}
				held[name]++
				owners[i] = name
				break
			}
		}
	}
	return owners
}

// weight is what a member bids for a shard (rendezvous hashing).
func weight(member string, shard int) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d", member, shard) // never fails
	w := h.Sum64()
	w ^= w >> 31 // FNV's high bits hardly depend on the last byte
	w *= 0x9e3779b97f4a7c15
	return w ^ w>>29
}
