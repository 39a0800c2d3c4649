package hosts

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/times"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// RobotsFile parses the stored robots.txt of an origin. It returns a file that allows everything if
// there is none.
func (s *Ledger) RobotsFile(h *Host, o *Origin) *robots.File {
	if o.Copy != crawl.RobotsParsed {
		return new(robots.File)
	}
	return robots.Parse(RobotsCopy(s.Tx, h.ID, o.Origin))
}

// RobotsOrigin converts an origin to the type of package robots.
func RobotsOrigin(o canon.Origin) robots.Origin {
	return robots.Origin{Scheme: o.Scheme, Host: strings.Trim(string(o.Host), "[]"), Port: o.Port}
}

// Host is what a shard knows of one host: about 1 KiB with its origins. It is in memory while it is
// being visited or is to be visited soon (residence.go, evict.go). Its URLs are on disk. The
// exported fields are its record in the file.
type Host struct {
	ID   store.HostID `json:"id"`
	Name canon.Host   `json:"name"`

	Origins   []Origin `json:"origins,omitempty"`
	URLCounts          // counts.go
	Pace               // due.go

	Last crawl.VisitID `json:"last,omitzero"` // the newest visit that reported a result
	// What that visit reported, until its end is applied
	Reported Reported `json:"told,omitzero"`

	// The domain has too many host names: URLs of this host are refused (domains.go).
	Closed bool `json:"closed,omitempty"`
	// URLs that are refused without a request, as far as this was counted
	Refused int64 `json:"refused,omitempty"`
	LeftOut int64 `json:"left_out,omitempty"` // links left out because too many URLs are queued

	SitemapCounts // sitemaps.go

	// Number of requests that schedule.Timeline stores, approximately.
	Timeline int `json:"timeline,omitempty"`

	// What follows is in memory only.

	Aux    []crawl.AuxRequest `json:"-"` // auxiliary requests that are to be sent to this host
	Visit  *Visit             `json:"-"` // the outstanding one, or nil
	Quota  quota              `json:"-"` // which kind of work gets the next visit
	Domain *Domain            `json:"-"`
	At     int                `json:"-"` // index in the schedule's heap, -1 when not in it
	When   time.Time          `json:"-"` // the time it is scheduled for
	// The host is due, and waits because others need the slots (schedule.Slots).
	Waits bool `json:"-"`
	// The host was never visited, and is one of the few such hosts in memory (evict.go).
	Fresh   bool `json:"-"`
	Evicted bool `json:"-"` // the record in the file is that of an evicted host

	growth    `json:"-"`
	residence `json:"-"`

	memory *Eviction // nil for a host that is only read
}

// residence is what Eviction and Places note of a host in memory, and, for an evicted host, what
// its record has of that.
type residence struct {
	dirty     bool // differs from its record
	misplaced bool // its position in the schedule may be wrong: see Places.Unschedule
	pinned    bool // must stay in memory, however many hosts there are
	idle      bool // in Eviction.idle

	// For an evicted host (evict.go): the time until which it is evicted, as in BucketEvicted (Unix
	// ms; 0: it has no entry there).
	until int64
	paces uint64 // Meta.Paces when it was evicted
	older bool   // was never in memory: it is unknown whether the operator slowed it down before
}

// Origin is what a shard knows of one scheme and port of a host: its robots.txt and its queue.
type Origin struct {
	Origin canon.Origin `json:"origin"`
	Ready  int64        `json:"ready,omitempty"` // URLs in the queue bucket

	Again int64 `json:"again,omitempty"` // URLs in the again bucket
	// When the first of them is due (Unix s); 0: unknown, to be looked up.
	AgainDue int64 `json:"again_due,omitempty"`

	RobotsTxt // robots.go

	// When the sitemaps that robots.txt names were requested last.
	SitemapsAsked time.Time `json:"sitemaps_asked,omitzero"`
	// The first bytes of a digest of the robots.txt of that time, with the scope's hash.
	SitemapsOf []byte `json:"sitemaps_of,omitempty"`

	RobotsContents // robots.go
	DataTxt        // wellknown.go

	// /rupinfo.txt is not requested before this time. Package rupsites stores what is known of a
	// site that has one.
	RUPDue time.Time `json:"rup_due,omitzero"`

	// Rights are the rights files of the origin, at most crawl.MaxAparts. Their texts are stored
	// beside that of robots.txt.
	Rights []RightsFile `json:"apart,omitempty"`

	crawl.OriginFiles
	crawl.OriginFilesDue

	Moves // moved.go

	// Dispatch is set while mobile robots are sent for the origin (wellknown.go).
	Dispatch *Dispatch `json:"dispatch,omitempty"`

	host *Host // nil until its host is in memory
}

// Reported is what a visit has reported so far, and what the host's counts therefore include.
// Outcomes report sums, and each adds only the difference to what was reported before. An outcome
// that arrives twice or late therefore adds nothing.
type Reported struct {
	Open     bool  `json:"open,omitempty"` // the end of the visit was not applied yet
	Requests int   `json:"requests,omitempty"`
	Bytes    int64 `json:"bytes,omitempty"`
	Trouble  bool  `json:"trouble,omitempty"` // the host's delay was doubled because of this visit
}

// Times shows all times of the host and its origins to see.
func (h *Host) Times(see times.See) {
	see(&h.Due, times.Waits)
	see(&h.ForeignRead, times.Happened)
	for i := range h.Origins {
		o := &h.Origins[i]
		see(&o.PendingAt, times.Happened)
		see(&o.SitemapsAsked, times.Happened)
		see(&o.DataDue, times.Waits)
		see(&o.RUPDue, times.Waits)
		for _, due := range o.OriginFilesDue.All() {
			see(due, times.Waits)
		}
		for j := range o.Rights {
			see(&o.Rights[j].Due, times.Waits)
		}
		if o.Dispatch != nil {
			see(&o.Dispatch.Until, times.Waits)
		}
		see(&o.History.RetryAt, times.Waits)
		see(&o.History.Since, times.Happened)
		see(&o.History.Fetched, times.Known)
		if o.Mirror != nil {
			o.Mirror.Times(see)
		}
	}
}

// OriginOf returns the index of o among h's origins, and adds it when it is new. If h has
// MaxOrigins already it returns false, and the caller refuses the URL.
func (s *Ledger) OriginOf(h *Host, o canon.Origin) (uint8, bool) {
	for i := range h.Origins {
		if h.Origins[i].Origin == o {
			return uint8(i), true
		}
	}
	if len(h.Origins) >= MaxOrigins {
		return 0, false
	}
	o.Host = h.Name // a substring of the message would keep the whole message in memory
	h.Origins = append(h.Origins, Origin{Origin: o, host: h})
	s.MarkDirty(h)
	return uint8(len(h.Origins) - 1), true
}

// MaxOrigins limits the ports per host, because a page may name 65,535 of them.
const MaxOrigins = 64

func (h *Host) save(tx *bolt.Tx) error {
	v, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return tx.Bucket(store.BucketHosts).Put(h.ID.Append(nil), v)
}

// LoadHosts reads every host record of a file, except those of evicted hosts.
func LoadHosts(tx *bolt.Tx, each func(*Host) error) error {
	return tx.Bucket(store.BucketHosts).ForEach(func(k, v []byte) error {
		h := &Host{At: -1}
		if err := json.Unmarshal(v, h); err != nil {
			return fmt.Errorf("%w: host %x: %w", store.ErrRecord, k, err)
		}
		return each(h)
	})
}

// RobotsKey is the key of an origin's robots.txt.
func RobotsKey(id store.HostID, o canon.Origin) []byte {
	return append(id.Append(nil), o.String()...)
}

// RobotsCopy returns the stored robots.txt of an origin, or nil. The slice belongs to the
// transaction.
func RobotsCopy(tx *bolt.Tx, id store.HostID, o canon.Origin) []byte {
	return tx.Bucket(store.BucketRobots).Get(RobotsKey(id, o))
}

// MaxAttempts is the number of attempts after which a URL counts as failed.
const MaxAttempts = crawl.MaxAttempts

// HostsFrom returns up to n hosts in the order of their names, beginning with the name from (nil:
// the first), and the name with which to continue, nil at the end. Closed hosts are left out.
// Evicted hosts are read but not loaded, so the caller must not change them.
func (s *Ledger) HostsFrom(from []byte, n int) (hosts []*Host, next []byte, err error) {
	c := s.Tx.Bucket(store.BucketNames).Cursor()
	looked := 0
	k, v := c.Seek(from)
	for ; k != nil && looked < 16*n && len(hosts) < n; k, v = c.Next() {
		looked++
		if len(v) != 4 {
			return nil, nil, fmt.Errorf("host %q: %w", k, store.ErrRecord)
		}
		h := s.ByID[store.KeyHost(v)]
		if h == nil {
			if h, err = readHost(s.Tx, store.KeyHost(v)); err != nil {
				return nil, nil, err
			}
		}
		if h != nil && !h.Closed {
			hosts = append(hosts, h)
		}
	}
	return hosts, slices.Clone(k), nil
}

// HostsNumbered calls each for up to n hosts in the order of their numbers, beginning with from,
// and returns the number with which to continue, 0 at the end. Closed hosts are left out. Evicted
// hosts are included if evicted is set. They are not loaded: each must not change them, nor keep
// them after it returns.
func (s *Ledger) HostsNumbered(from store.HostID, n int, evicted bool, each func(*Host)) (next store.HostID, err error) {
	end := store.HostID(s.Meta.NextHost)
	var records *bolt.Cursor
	var k, v []byte
	var record Host
	if evicted {
		records = s.Tx.Bucket(store.BucketBlocks).Cursor()
		k, v = store.NextRecord(records, store.RecordKey(from))
	}
	id := max(from, 1)
	for ; n > 0 && id <= end; n, id = n-1, id+1 {
		for k != nil && store.KeyHost(k) < id {
			k, v = store.NextRecord(records, nil)
		}
		h := s.ByID[id]
		switch {
		case h != nil || !evicted:
		case k != nil && store.KeyHost(k) == id:
			h = &record
			err = decodeInto(h, id, v)
		default: // of an older file, read by a Reader, or an unused number
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

// HostOf returns the host of that name, and makes it when it is new. The limit of names per domain
// does not apply to hosts that visits, outcomes and auxiliary requests name.
func (s *Ledger) HostOf(name canon.Host) (*Host, error) {
	if h, err := s.HostNamed(name); h != nil || err != nil {
		return h, err
	}
	return s.NewHost(name, false)
}

// OriginIndex returns the index of o among the host's origins.
func (h *Host) OriginIndex(o canon.Origin) (int, bool) {
	i := slices.IndexFunc(h.Origins, func(have Origin) bool { return have.Origin == o })
	return i, i >= 0
}
