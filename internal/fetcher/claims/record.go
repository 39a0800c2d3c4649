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
	// MaxPause is the longest pause that is published to other crawls.
	MaxPause = wire.MaxCrawlDelay
	// maxWant is how many crawls can wait for a host in its record. Others try at random.
	maxWant = 16
	// maxRecord is the size of the largest record that is read.
	maxRecord = 4 << 10
)

// record is the contents of the bucket for a host.
type record struct {
	Crawl   crawl.Names `json:"crawl"`
	Process string      `json:"process"` // a name that each process invents when it starts
	Number  uint64      `json:"number"`  // of the claim, among those of the process
	Held    bool        `json:"held"`    // otherwise it was released
	// In a claim: the delay from the holder's last request to the next. Released: how long the
	// pause of the host is from this write on.
	Pause time.Duration `json:"rest"`
	Want  []crawl.Names `json:"want,omitempty"` // crawls that wait, the next one first
}

// of reports whether a record was written for a claim.
func (r *record) of(other *record) bool {
	return r.Process == other.Process && r.Number == other.Number
}

// decode reads a record. One that cannot be understood counts as a claim with the longest pause.
func decode(b []byte) record {
	var r record
	if len(b) > maxRecord || json.Unmarshal(b, &r) != nil || len(r.Want) > maxWant || r.Pause < 0 || r.Pause > MaxPause {
		return record{Held: true, Pause: MaxPause}
	}
	return r
}

func (r *record) encode() ([]byte, error) { return json.Marshal(r) }

// nameRE matches the hosts that can be keys of a bucket.
var nameRE = regexp.MustCompile(`^[a-z0-9_-]+(\.[a-z0-9_-]+)*$`)

// keyOf returns the key of a host: its name, if that can be a key.
func keyOf(h canon.Host) string {
	if len(h) <= 253 && nameRE.MatchString(string(h)) {
		return "h." + string(h)
	}
	sum := sha256.Sum256([]byte(h))
	return "x." + hex.EncodeToString(sum[:16])
}

// sighting is a record as this process knows it. The zero sighting means that there is none.
type sighting struct {
	rec      record
	revision uint64        // 0: there is no record
	since    time.Duration // when this process first read this write
	ours     bool          // we wrote it; the next write shows whether it is still the latest
}

// terms say for whom a record is read.
type terms struct {
	crawl   crawl.Names
	process string
}

// turn is how long only the first waiting crawl may claim a host, after its pause.
func (t *terms) turn() time.Duration { return term / 2 }

// left returns how long the host has to be left alone; 0 means that it may be claimed. delay is the
// one that we know of.
func (s *sighting) left(t *terms, delay, now time.Duration) time.Duration {
	r := &s.rec
	mine := r.Crawl == t.crawl || r.Process == t.process
	passing := len(r.Want) > 0 && r.Want[0] != t.crawl
	var until time.Duration
	switch {
	case s.revision == 0:
		return 0
	case r.Held && mine: // according to our frontier that visit has ended, or it was ours
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

// wanting returns the list of waiting crawls after a crawl has claimed the host. If it was not the
// first of them, that one did not use its turn.
func (s *sighting) wanting(t *terms) []crawl.Names {
	want := slices.Clone(s.rec.Want)
	if !s.rec.Held && len(want) > 0 && want[0] != t.crawl {
		want = want[1:]
	}
	return slices.DeleteFunc(want, func(n crawl.Names) bool { return n == t.crawl })
}

// marked returns the record with a crawl among those that wait. It returns false if the crawl is
// among them, or if the list is full.
func (s *sighting) marked(t *terms, now time.Duration) (record, bool) {
	r := s.rec
	if s.revision == 0 || len(r.Want) >= maxWant || slices.Contains(r.Want, t.crawl) {
		return r, false
	}
	r.Want = append(slices.Clone(r.Want), t.crawl)
	if !r.Held { // its pause is counted from the new write
		r.Pause = max(s.since+r.Pause-now, 0)
	}
	return r, true
}
