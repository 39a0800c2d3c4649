package site

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/curtsy/curtsy/pkg/rup"
	bolt "go.etcd.io/bbolt"
)

// The log has one line for each change. Its key is a position: the time at which the change was
// noticed (Unix ns, never decreasing) and a number, both as eight bytes, big-endian. The value is
// the kind and then the path. A report begins and ends at a position.

func appendLog(tx *bolt.Tx, now time.Time, what kind, rel string) error {
	b := tx.Bucket(bucketLog)
	at := uint64(now.UnixNano())
	if last, _ := b.Cursor().Last(); last != nil {
		at = max(at, binary.BigEndian.Uint64(last)) // the clock may have been set back
	}
	n, err := b.NextSequence()
	if err != nil {
		return err
	}
	return b.Put(binary.BigEndian.AppendUint64(position(at), n), append([]byte{byte(what)}, rel...))
}

// position is before every line of that time.
func position(at uint64) []byte { return binary.BigEndian.AppendUint64(nil, at) }

// end returns the position of the last line, or a position before all lines.
func end(tx *bolt.Tx) []byte {
	last, _ := tx.Bucket(bucketLog).Cursor().Last()
	return bytes.Clone(last)
}

// aheadInLog reports whether the log has lines of a time after most.
func aheadInLog(tx *bolt.Tx, most time.Time) bool {
	last := end(tx)
	return last != nil && binary.BigEndian.Uint64(last) > uint64(most.UnixNano())
}

// setLogBack gives all lines of a later time than now the time now, and moves the positions of the
// reports to robots with them. The order stays, because the numbers of the lines stay.
func setLogBack(tx *bolt.Tx, now time.Time) error {
	at := uint64(now.UnixNano())
	moved := func(k []byte) []byte {
		if len(k) < 8 || binary.BigEndian.Uint64(k) <= at {
			return k
		}
		return append(position(at), k[8:]...)
	}
	type line struct{ k, v []byte }
	var later []line
	b := tx.Bucket(bucketLog)
	c := b.Cursor()
	for k, v := c.Seek(position(at + 1)); k != nil; k, v = c.Next() {
		later = append(later, line{bytes.Clone(k), bytes.Clone(v)})
	}
	for _, l := range later {
		if err := errors.Join(b.Delete(l.k), b.Put(moved(l.k), l.v)); err != nil {
			return err
		}
	}
	return amend(tx.Bucket(bucketProgress), func(p *progress) bool {
		to := moved(p.Since)
		was := !bytes.Equal(to, p.Since)
		p.Since = to
		return was
	})
}

// change is the net effect of a path's lines.
type change struct {
	rel  string
	kind kind
	at   time.Time // of the last line
}

// The limits of one report (formats §0), minus what writing it adds.
const (
	maxPaths = rup.MaxPaths
	maxBytes = 7 << 20 // of paths, %-encoded
)

// fold combines the lines after since. Each path occurs once, in the order of first mention, with
// the net effect of its lines for a robot that knows the state before them. Paths for which wanted
// returns false are left out. fold stops before there are more than most paths or maxBytes, and
// returns the position that it reached; done means that it reached the end.
func fold(tx *bolt.Tx, since []byte, most int, wanted func(rel string) bool) (list []change, upTo []byte, done bool, err error) {
	type effect struct{ first, last kind }
	effects, place, size := map[string]effect{}, map[string]int{}, 0
	upTo = since
	c := tx.Bucket(bucketLog).Cursor()
	for k, v := c.Seek(since); k != nil; k, v = c.Next() {
		if bytes.Equal(k, since) {
			continue
		}
		if len(k) != 16 || len(v) < 2 {
			return nil, nil, false, fmt.Errorf("the log has a line of %d and %d bytes", len(k), len(v))
		}
		rel, what := string(v[1:]), kind(v[0])
		if wanted(rel) {
			i, known := place[rel]
			if !known {
				size += len(escape(rel)) + 2
				if len(list) == most || size > maxBytes {
					return squeeze(list), upTo, false, nil
				}
				i = len(list)
				place[rel], effects[rel] = i, effect{first: what}
				list = append(list, change{rel: rel})
			}
			e := effects[rel]
			e.last = what
			effects[rel] = e
			list[i].kind, list[i].at = together(e.first, e.last), time.Unix(0, int64(binary.BigEndian.Uint64(k))).UTC()
		}
		upTo = bytes.Clone(k)
	}
	return squeeze(list), upTo, true, nil
}

// together is the net effect of a path's first and last line. 0 means none.
func together(first, last kind) kind {
	switch {
	case first == added && last == deleted:
		return 0 // created and deleted
	case first == added:
		return added
	case last == deleted:
		return deleted
	}
	// This includes a path that was deleted and created again: a robot that asked in between knows
	// it as deleted.
	return changed
}

func squeeze(list []change) []change {
	kept := list[:0]
	for _, c := range list {
		if c.kind != 0 {
			kept = append(kept, c)
		}
	}
	return kept
}

// purge deletes lines before the position, at most batchMax in one transaction, and reports whether
// there are more.
func purge(tx *bolt.Tx, before []byte) (more bool, err error) {
	c := tx.Bucket(bucketLog).Cursor()
	n := 0
	for k, _ := c.First(); k != nil && bytes.Compare(k, before) < 0; k, _ = c.First() {
		if n++; n > batchMax {
			return true, nil
		}
		if err := c.Delete(); err != nil {
			return false, err
		}
	}
	return false, nil
}
