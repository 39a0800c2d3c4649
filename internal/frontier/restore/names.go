package restore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/pkg/queue"
)

// Name identifies the state of a shard in a checkpoint: its owner's epoch, and how far the log was
// applied. It is unique: a name is used once.
type Name struct {
	Shard int
	Epoch uint64 // of the owner that made it
	Gen   int    // how often a new log was found; sequences of different logs cannot be compared
	Seq   uint64 // the last message of the log that was applied
	N     int    // counts within the epoch
	Full  int    // 0, or for a delta (delta.go) the N of the full checkpoint on which it is based
}

// String is the name in the store of checkpoints.
func (c Name) String() string {
	name := fmt.Sprintf("%d-%d-%d-%d-%d", c.Shard, c.Epoch, c.Gen, c.Seq, c.N)
	if c.Full > 0 {
		name += fmt.Sprintf("-%d", c.Full)
	}
	return name
}

// ParseName parses a name; ok is false if it is not one.
func ParseName(name string) (c Name, ok bool) {
	if strings.Count(name, "-") == 5 {
		_, err := fmt.Sscanf(name, "%d-%d-%d-%d-%d-%d", &c.Shard, &c.Epoch, &c.Gen, &c.Seq, &c.N, &c.Full)
		return c, err == nil && c.String() == name && c.Full < c.N
	}
	_, err := fmt.Sscanf(name, "%d-%d-%d-%d-%d", &c.Shard, &c.Epoch, &c.Gen, &c.Seq, &c.N)
	return c, err == nil && c.String() == name
}

// Needs reports whether o is c, or may be a checkpoint on which c is based.
func (c Name) Needs(o Name) bool {
	if o.Shard != c.Shard || o.Epoch != c.Epoch {
		return false
	}
	return o.N == c.N || c.Full > 0 && o.N >= c.Full && o.N < c.N
}

// Stands reports whether the checkpoint of that name and the full one on which it is based are
// among names.
func Stands(name string, names []string) bool {
	c, ok := ParseName(name)
	return ok && slices.Contains(names, name) && (c.Full == 0 || slices.ContainsFunc(names, func(name string) bool {
		o, ok := ParseName(name)
		return ok && c.Needs(o) && o.N == c.Full && o.Full == 0
	}))
}

// Recorded parses the names in a record; an invalid name is zero.
func Recorded(rec queue.Record) (last, before Name) {
	last, _ = ParseName(rec.Checkpoint)
	before, _ = ParseName(rec.Previous)
	return last, before
}
