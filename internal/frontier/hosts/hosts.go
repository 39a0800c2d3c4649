package hosts

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/mirror"
	"github.com/curtsy/curtsy/internal/frontier/times"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// RobotsFile is the parsed copy of an origin's robots.txt, or one that allows all
// when there is none.
func (s *Ledger) RobotsFile(h *Host, o *Origin) *robots.File {
	if o.Copy != crawl.RobotsParsed {
		return new(robots.File)
	}
	return robots.Parse(RobotsCopy(s.Tx, h.ID, o.Origin))
}

// RobotsOrigin is an origin as package robots names it.
func RobotsOrigin(o canon.Origin) robots.Origin {
	return robots.Origin{Scheme: o.Scheme, Host: strings.Trim(string(o.Host), "[]"), Port: o.Port}
}

// DueAddress is the DueReason of a host that waits because other hosts at its address keep that
// busy. That is our own doing, so it never counts as held.
const DueAddress = "address"

// Host is what a shard keeps of one host: about 1 KiB with its origins, in memory if it is being
// visited or is to be soon (residence.go, evict.go). Its URLs are on disk.
// The exported fields are its record in the file.
type Host struct {
	ID   HostID     `json:"id"`
	Name canon.Host `json:"name"`

	Origins []Origin `json:"origins,omitempty"`
	// URLs in class Queued, those that wait for another attempt included
	Queued  int64 `json:"queued,omitempty"`
	Later   int64 `json:"later,omitempty"`   // of them, those that wait
	Stored  int64 `json:"stored,omitempty"`  // pages stored, for --max-pages-per-host
	Failed  int64 `json:"failed,omitempty"`  // URLs that have, as far as that was counted
	Fetched int64 `json:"fetched,omitempty"` // requests sent, probes included

	// Due is the earliest start of the next request, durably: the delay after the last response, or
	// what Retry-After asked.
	Due time.Time `json:"due,omitzero"`
	// "retry-after" or "address" while that is what Due stands for
	DueReason string        `json:"due_reason,omitempty"`
	Delay     time.Duration `json:"delay,omitempty"` // in force at the end of the last visit
	// How often the adaptive delay has doubled.
	Backoff  int           `json:"backoff,omitempty"`
	Private  bool          `json:"private,omitempty"`  // the address dialled last was private
	Response time.Duration `json:"response,omitempty"` // smoothed time per request, for the ETA
	Last     crawl.VisitID `json:"last,omitzero"`      // the newest visit that told of itself
	Reported Reported      `json:"told,omitzero"`      // what that told, until its end is applied

	// Its domain has too many names: its URLs are refused (domains.go).
	Closed bool `json:"closed,omitempty"`
	// URLs that are refused without a request, as far as that was counted
	Refused int64 `json:"refused,omitempty"`
	LeftOut int64 `json:"left_out,omitempty"` // links left out because too many URLs wait

	Sitemaps    int `json:"sitemaps,omitempty"`     // kept of this host
	SitemapsDue int `json:"sitemaps_due,omitempty"` // of them, those that are to be read
	// SitemapsForeign are those kept that other hosts vouch for. When the last of them was read and
	// how many URLs it named says when the next may be.
	SitemapsForeign int       `json:"sitemaps_foreign,omitempty"`
	ForeignRead     time.Time `json:"foreign_read,omitzero"`
	ForeignEntries  int       `json:"foreign_entries,omitempty"`

	// Requests that are kept (package timeline), about.
	Timeline int `json:"timeline,omitempty"`

	Aux             []crawl.AuxRequest `json:"-"` // wanted under this host's visit
	Visit           *Visit             `json:"-"` // the outstanding one, or nil
	Quota           quota              `json:"-"` // whose turn it is
	TooManySitemaps bool               `json:"-"` // said so

	// URLs found since the first of its own was done, and URLs done, the older ones counting less:
	// see Grows.
	Grew   float64 `json:"-"`
	Ended  float64 `json:"-"`
	Few    int64   `json:"-"` // sitemaps are read while fewer URLs are queued: see sitemaps.FewWait
	Domain *Domain `json:"-"`
	// Never visited, and among the few of those that are kept in memory (residence.go).
	Fresh   bool `json:"-"`
	Evicted bool `json:"-"` // its record is a sleeper's

	At    int       `json:"-"` // index in the schedule's heap, -1 when not in it
	When  time.Time `json:"-"` // the time it is scheduled for
	dirty bool      // differs from its record

	Misplaced bool `json:"-"` // may belong elsewhere in the schedule: see shard.misplaced

	// Of one at rest (evict.go): until when, as it stands in BucketEvicted (Unix ms, 0: not there),
	// and Meta.Paces when it began to.
	until  int64
	paces  uint64
	pinned bool // in memory, whatever there is room for
	idle   bool // in Ledger.idle
	older  bool // was never awake: whether it was slowed down before is not known
}

// Origin is what is kept per (scheme, port) of a host: its robots.txt and its share of the queue.
type Origin struct {
	Origin canon.Origin `json:"origin"`
	Ready  int64        `json:"ready,omitempty"` // URLs in the queue bucket

	Again int64 `json:"again,omitempty"` // URLs in the again bucket
	// When the first of them is due (Unix s); 0: to be looked for.
	AgainDue int64 `json:"again_due,omitempty"`

	// History is when robots.txt was had, or not; Copy what the last success was (Parsed: Digest
	// names the stored body).
	History    robots.History    `json:"history,omitzero"`
	Copy       crawl.RobotsState `json:"copy,omitempty"`
	Digest     []byte            `json:"digest,omitempty"`
	Status     int               `json:"status,omitempty"` // of the last answer
	Reason     string            `json:"reason,omitempty"` // of the last failure, for people
	CrawlDelay time.Duration     `json:"crawl_delay,omitempty"`
	HasDelay   bool              `json:"has_delay,omitempty"`
	ETag       string            `json:"etag,omitempty"`
	LastMod    string            `json:"last_modified,omitempty"`

	// Robots-pending: the URL asked on another host.
	PendingOn string    `json:"pending_on,omitempty"`
	PendingAt time.Time `json:"pending_at,omitzero"`
	Redirects int       `json:"hops,omitempty"`

	Visit crawl.VisitID `json:"visit,omitzero"` // the newest that told of this robots.txt

	// When the sitemaps it names were asked for last.
	SitemapsAsked time.Time `json:"sitemaps_asked,omitzero"`
	// And the first bytes of the digest of what it said then, with the scope's hash.
	SitemapsOf []byte `json:"sitemaps_of,omitempty"`

	Cleans bool         `json:"cleans,omitempty"` // the copy has Clean-param lines
	Agents bool         `json:"agents,omitempty"` // and names servers for mobile agents
	Uses   bool         `json:"uses,omitempty"`   // and speaks of the use of its pages
	Clean  *robots.File `json:"-"`                // the copy, parsed when first needed for them

	Data       crawl.ProbeState `json:"data,omitempty"` // of /data.txt
	DataDue    time.Time        `json:"data_due,omitzero"`
	DataReason string           `json:"data_reason,omitempty"`
	// ProbePending: the URL asked on another host
	DataOn string `json:"data_on,omitempty"`

	// /rupinfo.txt is not asked for before; what is known of a site that has one is
	// in package rupsites
	RUPDue time.Time `json:"rup_due,omitzero"`

	// Rights are the files that say more of the use of its pages: crawl.MaxAparts at most, of which
	// the texts are kept beside that of robots.txt.
	Rights []RightsFile `json:"apart,omitempty"`

	// SecurityTxt is nil until it was asked for, and never changed in place. It is not asked for
	// before SecurityTxtDue.
	SecurityTxt    *crawl.SecurityTxt `json:"security_txt,omitempty"`
	SecurityTxtDue time.Time          `json:"security_txt_due,omitzero"`
	// LLMSTxt and LLMSTxtDue are the same of its llms.txt.
	LLMSTxt    *crawl.LLMSTxt `json:"llms_txt,omitempty"`
	LLMSTxtDue time.Time      `json:"llms_txt_due,omitzero"`

	Mirror *mirror.Record `json:"mirror,omitempty"`
	// Where the page asked for last has moved for good, its path kept.
	MovedTo canon.Origin `json:"moved_to,omitzero"`
	Moved   uint32       `json:"moved,omitempty"` // pages in a row that have moved there
	Led     int64        `json:"led,omitempty"`   // URLs that redirects of other hosts led to
	// Its name with or without www. was asked after.
	Twin bool `json:"twin,omitempty"`
	// TwinOut is the spec, as Meta.Spec, by which that name is out of scope.
	TwinOut string `json:"-"`
}

// Reported is what a visit has told of itself so far, and what the host's counts have of it
// therefore. Outcomes tell sums, and each adds what it has more of: nothing if it comes twice, or
// late.
type Reported struct {
	Open     bool  `json:"open,omitempty"` // its end was not applied
	Requests int   `json:"requests,omitempty"`
	Bytes    int64 `json:"bytes,omitempty"`
	Trouble  bool  `json:"trouble,omitempty"` // the host's delay was doubled for it
}

// growthOf is about of how many URLs done last it is remembered what they led to.
const growthOf = 8

// Found notes that a URL of h was queued for the first time. What was found before a URL of its own
// was done counts for nothing: a host is mostly begun with its index, whose many links say nothing
// about the pages they lead to.
func (h *Host) Found() {
	if h.Ended > 0 {
		h.Grew++
	}
}

// Done notes that a URL of h was asked for and is queued no more.
func (h *Host) Done() {
	h.Grew *= 1 - 1./growthOf
	h.Ended = h.Ended*(1-1./growthOf) + 1
}

// Grows reports that h's queue grows faster than it is worked off, so that nobody knows how long it
// is going to be.
func (h *Host) Grows() bool { return h.Ended > 0 && h.Grew > h.Ended }

// Times shows what the host and its origins keep of time.
func (h *Host) Times(see times.See) {
	see(&h.Due, times.Waits)
	see(&h.ForeignRead, times.Happened)
	for i := range h.Origins {
		o := &h.Origins[i]
		see(&o.PendingAt, times.Happened)
		see(&o.SitemapsAsked, times.Happened)
		see(&o.DataDue, times.Waits)
		see(&o.RUPDue, times.Waits)
		see(&o.SecurityTxtDue, times.Waits)
		see(&o.LLMSTxtDue, times.Waits)
		for j := range o.Rights {
			see(&o.Rights[j].Due, times.Waits)
		}
		see(&o.History.RetryAt, times.Waits)
		see(&o.History.Since, times.Happened)
		see(&o.History.Fetched, times.Known)
		if o.Mirror != nil {
			o.Mirror.Times(see)
		}
	}
}

// OriginOf returns the index of o among h's origins, adding it when new. Past MaxOrigins it says
// no, and the URL is refused by the caller.
func (s *Ledger) OriginOf(h *Host, o canon.Origin) (uint8, bool) {
	for i := range h.Origins {
		if h.Origins[i].Origin == o {
			return uint8(i), true
		}
	}
	if len(h.Origins) >= MaxOrigins {
		return 0, false
	}
	o.Host = h.Name // o's own is a piece of the message it came in, and would keep all of it
	h.Origins = append(h.Origins, Origin{Origin: o})
	s.MarkDirty(h)
	return uint8(len(h.Origins) - 1), true
}

// MaxOrigins bounds the ports of one host that are looked at: a page may name 65,535.
const MaxOrigins = 64

func (h *Host) save(tx *bolt.Tx) error {
	v, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return tx.Bucket(BucketHosts).Put(h.ID.Append(nil), v)
}

// LoadHosts takes the hosts of a file just opened into memory that are awake in it, up to how many
// may be. It counts the hosts of each domain if the file is from before that was done.
func (s *Ledger) LoadHosts() error {
	s.sleepers, s.evicting = true, true // at first sight
	err := LoadHosts(s.Tx, func(h *Host) error {
		if !s.Meta.Counted {
			if err := s.countDomains(h); err != nil {
				return err
			}
		}
		if h.Untouched() {
			if h.Queued == 0 || s.resident >= MaxResident {
				s.ToSleep = append(s.ToSleep, h.ID)
				return nil
			}
			h.Fresh = true
			s.resident++
		} else if s.residentVisited() >= maxVisited() && !s.restless(h) {
			s.ToSleep = append(s.ToSleep, h.ID)
			return nil
		}
		var err error
		if h.Domain, err = s.DomainOf(h.Name); err != nil {
			return err
		}
		s.remember(h)
		s.pin(h, !h.Fresh && s.restless(h))
		return nil
	})
	s.loaded = s.loaded[:0]
	if !s.Meta.Counted {
		s.Meta.Counted = true
	}
	return err
}

// LoadHosts reads every host record of a file, but for those of sleepers.
func LoadHosts(tx *bolt.Tx, each func(*Host) error) error {
	return tx.Bucket(BucketHosts).ForEach(func(k, v []byte) error {
		h := &Host{At: -1}
		if err := json.Unmarshal(v, h); err != nil {
			return fmt.Errorf("%w: host %x: %w", ErrRecord, k, err)
		}
		return each(h)
	})
}

// RobotsKey is the key of the robots.txt of an origin.
func RobotsKey(id HostID, o canon.Origin) []byte {
	return append(id.Append(nil), o.String()...)
}

// RobotsCopy returns the stored robots.txt of an origin, a slice of the
// transaction's memory, or nil.
func RobotsCopy(tx *bolt.Tx, id HostID, o canon.Origin) []byte {
	return tx.Bucket(BucketRobots).Get(RobotsKey(id, o))
}

// MaxAttempts is how often a URL is tried before it counts as failed.
const MaxAttempts = crawl.MaxAttempts

// KeyHost is the host a key begins with.
func KeyHost(key []byte) HostID { return HostID(binary.BigEndian.Uint32(key)) }

// HostsFrom returns up to n hosts in the order of their names, from one on (nil: the first), and
// the name to go on from, nil at the end. Those that are closed are not among them, and those that
// sleep are not taken into memory: they are for reading.
func (s *Ledger) HostsFrom(from []byte, n int) (hosts []*Host, next []byte, err error) {
	c := s.Tx.Bucket(bucketNames).Cursor()
	looked := 0
	k, v := c.Seek(from)
	for ; k != nil && looked < 16*n && len(hosts) < n; k, v = c.Next() {
		looked++
		if len(v) != 4 {
			return nil, nil, fmt.Errorf("host %q: %w", k, ErrRecord)
		}
		h := s.ByID[KeyHost(v)]
		if h == nil {
			if h, err = readHost(s.Tx, KeyHost(v)); err != nil {
				return nil, nil, err
			}
		}
		if h != nil && !h.Closed {
			hosts = append(hosts, h)
		}
	}
	return hosts, slices.Clone(k), nil
}

// HostsNumbered calls each for up to n hosts with numbers from one on, in the order of those, and
// returns the number to go on from, 0 at the end. Hosts that are closed are not among them. Those
// that sleep are among them if asleep is set; they are not taken into memory, and are for reading
// until each returns.
func (s *Ledger) HostsNumbered(from HostID, n int, asleep bool, each func(*Host)) (next HostID, err error) {
	end := HostID(s.Meta.NextHost)
	var sleepers *bolt.Cursor
	var k, v []byte
	var sleeper Host
	if asleep {
		sleepers = s.Tx.Bucket(bucketBlocks).Cursor()
		k, v = nextSleeper(sleepers, sleeperKey(from))
	}
	id := max(from, 1)
	for ; n > 0 && id <= end; n, id = n-1, id+1 {
		for k != nil && KeyHost(k) < id {
			k, v = nextSleeper(sleepers, nil)
		}
		h := s.ByID[id]
		switch {
		case h != nil || !asleep:
		case k != nil && KeyHost(k) == id:
			h = &sleeper
			err = h.decodeSleeper(id, v)
		default: // of an older file, or read by a Reader; or a number that was given up
			h, err = readHost(s.Tx, id)
		}
		if err != nil {
			return 0, err
		}
		if h != nil && !h.Closed {
			each(h)
		}
	}
	if id > end {
		return 0, nil
	}
	return id, nil
}

// nextSleeper goes to the first record of a host that was never visited from a key on; nil: from
// where the cursor stands on.
func nextSleeper(c *bolt.Cursor, from []byte) (k, v []byte) {
	if from == nil {
		k, v = c.Next()
	} else {
		k, v = c.Seek(from)
	}
	for n := 0; len(k) > 4 && k[4] != kindSleeper; n++ {
		if n%8 < 4 { // most have little
			k, v = c.Next()
		} else if id := KeyHost(k) + 1; id != 0 {
			k, v = c.Seek(sleeperKey(id))
		} else {
			return nil, nil
		}
	}
	return k, v
}

// Link is one link on its way into the seen set.
type Link struct {
	URL   canon.URL
	Hash  uint64 // as SeenHash
	Left  bool   // Left out
	Host  *Host
	Order uint64
	I     int   // in crawl.Links
	Mod   int64 // as there, if that matters
}

// LeaveOut marks a link that is not recorded, because too many URLs of its host wait.
func (l *Link) LeaveOut() { l.Left = true }

// Renumber gives the link another number of acceptance.
func (l *Link) Renumber(order uint64) { l.Order = order }

// HostOf returns the host of that name, making it when it is new. What visits, outcomes and errands
// name is not bounded here.
func (s *Ledger) HostOf(name canon.Host) (*Host, error) {
	if h, err := s.HostNamed(name); h != nil || err != nil {
		return h, err
	}
	return s.NewHost(name, false)
}

// KnownHosts is how many hosts are known, without those that are closed.
func (s *Ledger) KnownHosts() int64 { return int64(s.Meta.NextHost) - s.Meta.Closed }

// OriginIndex returns where o is among its host's origins.
func (h *Host) OriginIndex(o canon.Origin) (int, bool) {
	i := slices.IndexFunc(h.Origins, func(have Origin) bool { return have.Origin == o })
	return i, i >= 0
}
