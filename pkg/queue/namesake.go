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

// ErrNamesake: another process has our instance name, and had it first.
var ErrNamesake = errors.New("another process with this name is running")

// namesakes finds out whether another process speaks in our name. Each word carries an id
// that only its process knows, and the revision of that process's first word: the process
// that came later must go.
type namesakes struct {
	id string // ours

	mu    sync.Mutex        // guards what follows
	first uint64            // revision of our first word; 0: not known yet
	last  map[string]uint64 // revision of the last word of a namesake, by its id
}

func newNamesakes() *namesakes { return &namesakes{id: rand.Text()[:8], last: map[string]uint64{}} }

// word is what we say next.
func (n *namesakes) word() []byte {
	n.mu.Lock()
	defer n.mu.Unlock()
	return fmt.Appendf(nil, "%s %d", n.id, n.first)
}

// heard takes in a word in our name. It returns ErrNamesake once another process has spoken twice
// since our first word and was there before us. One word may come from a dead predecessor and have
// been long on its way. later is set when the other process came after us.
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
	if first == 0 || first > n.first { // 0: it has not heard itself yet; its next words tell
		return true, nil
	}
	return false, ErrNamesake
}

// listen passes on the words of a kind's members. When there is a namesake that came first, it ends
// everything by calling leave.
func (n *namesakes) listen(o MemberOptions, each func(jetstream.KeyValueEntry), leave context.CancelCauseFunc) func(jetstream.KeyValueEntry) {
	said := false
	return func(e jetstream.KeyValueEntry) {
		if e != nil && e.Key() == o.key() && e.Operation() == jetstream.KeyValuePut {
			later, err := n.heard(e.Value(), e.Revision())
			if err != nil {
				leave(fmt.Errorf("%s: %w: give each its own instance name and its own directory", o.key(), err))
				return
			}
			if later && !said {
				said = true
				o.Log.Error("another process uses the name of this process; it started later and should stop", "member", o.key())
			}
		}
		each(e)
	}
}
