package claims

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/pkg/canon"
)

const (
	// MaxPause is the longest rest that other crawls are told of.
	MaxPause = wire.MaxCrawlDelay
	// maxWant is how many crawls may wait for a host by turns; the others try their luck.
	maxWant = 16
	// maxRecord is the longest record that is read.
	maxRecord = 4 << 10
)

// record is what the bucket has of a host.
type record struct {
	Crawl   crawl.Names `json:"crawl"`
	Process string      `json:"process"` // a name made up by each process when it starts
	Number  uint64      `json:"number"`  // of the claim, among those of the process
	Held    bool        `json:"held"`    // else it was released
	// Held: how far the next request is from the holder's last one. Released: how long the host
	// rests from this writing on.
	Pause time.Duration `json:"rest"`
	Want  []crawl.Names `json:"want,omitempty"` // crawls that wait, the next one first
}

// of reports whether a claim is the one that the record tells of.
func (r *record) of(other *record) bool {
	return r.Process == other.Process && r.Number == other.Number
}

// decode reads a record. One that cannot be understood is that of somebody who is there, and asks
// for the longest rest.
func decode(b []byte) record {
	var r record
	if len(b) > maxRecord || json.Unmarshal(b, &r) != nil || len(r.Want) > maxWant || r.Pause < 0 || r.Pause > MaxPause {
		return record{Held: true, Pause: MaxPause}
	}
	return r
}

func (r *record) encode() ([]byte, error) { return json.Marshal(r) }

// nameRE are the hosts that a bucket takes as keys.
var nameRE = regexp.MustCompile(`^[a-z0-9_-]+(\.[a-z0-9_-]+)*$`)

// keyOf is the host's key: its name where that may be one.
func keyOf(h canon.Host) string {
	if len(h) <= 253 && nameRE.MatchString(string(h)) {
		return "h." + string(h)
	}
	sum := sha256.Sum256([]byte(h))
	return "x." + hex.EncodeToString(sum[:16])
}

// sighting is a record as this process knows it. The zero sighting is that there is none.
type sighting struct {
	rec      record
	revision uint64        // 0: there is no record
	since    time.Duration // when this writing first was in our hands
	ours     bool          // we wrote it; whether it still is the latest the next writing shows
}

// terms say for whom a record is looked at.
type terms struct {
	crawl   crawl.Names
	process string
}

// turn is for how long a host is the first waiting crawl's alone, after its rest.
func (t *terms) turn() time.Duration { return term / 2 }

// left is how long the host has to be left alone; none: it may be claimed. owed is the delay that
// we know of.
func (s *sighting) left(t *terms, delay, now time.Duration) time.Duration {
	r := &s.rec
	mine := r.Crawl == t.crawl || r.Process == t.process
	passing := len(r.Want) > 0 && r.Want[0] != t.crawl
	var until time.Duration
	switch {
	case s.revision == 0:
		return 0
	case r.Held && mine: // our frontier says that that visit is over, or it was ours
		return 0
	case r.Held:
		until = s.since + term*3/2 + max(r.Pause, delay)
	case mine && !passing:
		return 0
	case passing:
		until = s.since + r.Pause + t.turn()
	default:
		until = s.since + r.Pause
	}
	return max(until-now, 0)
}

// wanting is the list of those who wait once a crawl has claimed the host. If it was not its turn,
// the first of them did not use theirs.
func (s *sighting) wanting(t *terms) []crawl.Names {
	want := slices.Clone(s.rec.Want)
	if !s.rec.Held && len(want) > 0 && want[0] != t.crawl {
		want = want[1:]
	}
	return slices.DeleteFunc(want, func(n crawl.Names) bool { return n == t.crawl })
}

// marked is the record with a crawl among those who wait; false: it is there, or there is no room.
func (s *sighting) marked(t *terms, now time.Duration) (record, bool) {
	r := s.rec
	if s.revision == 0 || len(r.Want) >= maxWant || slices.Contains(r.Want, t.crawl) {
		return r, false
	}
	r.Want = append(slices.Clone(r.Want), t.crawl)
	if !r.Held { // its rest counts from the new writing
		r.Pause = max(s.since+r.Pause-now, 0)
	}
	return r, true
}
