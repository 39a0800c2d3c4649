package queue

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go/jetstream"
)

// ErrNamesake: another process with our instance name is running and was there first.
var ErrNamesake = errors.New("another process with this name is running")

// namesakes detects another process with our instance name. Each announcement contains an id that
// is unique to its process, and the revision of the first announcement of that process. The process
// that started later must stop.
type namesakes struct {
	id string // ours

	mu    sync.Mutex        // guards what follows
	first uint64            // revision of our first announcement; 0: not known yet
	last  map[string]uint64 // revision of the last announcement of a namesake, by its id
}

func newNamesakes() *namesakes { return &namesakes{id: rand.Text()[:8], last: map[string]uint64{}} }

// word returns our next announcement.
func (n *namesakes) word() []byte {
	n.mu.Lock()
	defer n.mu.Unlock()
	return fmt.Appendf(nil, "%s %d", n.id, n.first)
}

// heard processes an announcement with our name. It returns ErrNamesake once another process has
// announced itself twice since our first announcement and was there before us. A single
// announcement may come from a predecessor that is dead by now, and may have been delayed for long.
// later is true if the other process came after us.
func (n *namesakes) heard(value []byte, revision uint64) (later bool, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	id, rest, _ := strings.Cut(string(value), " ")
	if id == n.id {
		if n.first == 0 {
			n.first = revision
		}
		return false, nil
	}
	was := n.last[id]
	if n.first == 0 || revision < n.first || revision == was {
		return false, nil
	}
	n.last[id] = revision
	if was == 0 {
		return false, nil
	}
	first, _ := strconv.ParseUint(rest, 10, 64)
	if first == 0 || first > n.first { // 0: the other process does not know its revision yet
		return true, nil
	}
	return false, ErrNamesake
}

// listen forwards the announcements of the members of a kind to each. When a namesake was there
// first, it calls leave, which ends everything.
func (n *namesakes) listen(o MemberOptions, each func(jetstream.KeyValueEntry), leave context.CancelCauseFunc) func(jetstream.KeyValueEntry) {
	logged := false
	return func(e jetstream.KeyValueEntry) {
		if e != nil && e.Key() == o.key() && e.Operation() == jetstream.KeyValuePut {
			later, err := n.heard(e.Value(), e.Revision())
			if err != nil {
				leave(fmt.Errorf("%s: %w: give each its own instance name and its own directory", o.key(), err))
				return
			}
			if later && !logged {
				logged = true
				o.Log.Error("another process uses the name of this process; it started later and should stop", "member", o.key())
			}
		}
		each(e)
	}
}
