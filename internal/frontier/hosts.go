package frontier

import (
	"encoding/json"
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// host is what a shard keeps in memory of one host: about 300 bytes and its origins. Its URLs are on disk.
// The exported fields are its record in the file.
type host struct {
	ID   hostID     `json:"id"`
	Name canon.Host `json:"name"`

	Origins []origin `json:"origins,omitempty"`
	Queued  int64    `json:"queued,omitempty"`  // URLs in class Queued, those that wait for another attempt included
	Later   int64    `json:"later,omitempty"`   // of them, those that wait
	Stored  int64    `json:"stored,omitempty"`  // pages stored, for --max-pages-per-host
	Fetched int64    `json:"fetched,omitempty"` // requests sent, probes included

	// Due is the earliest start of the next request, durably: the delay after the last response, or what
	// Retry-After asked.
	Due       time.Time     `json:"due,omitzero"`
	DueReason string        `json:"due_reason,omitempty"` // "retry-after" while that is what Due stands for
	Delay     time.Duration `json:"delay,omitempty"`      // in force at the end of the last visit
	Backoff   int           `json:"backoff,omitempty"`    // how often the adaptive delay has doubled
	Private   bool          `json:"private,omitempty"`    // the address dialled last was private
	Response  time.Duration `json:"response,omitempty"`   // smoothed time per request, for the ETA
	Last      crawl.VisitID `json:"last,omitzero"`        // the newest visit whose end was applied

	Sitemaps    int `json:"sitemaps,omitempty"`     // kept of this host
	SitemapsDue int `json:"sitemaps_due,omitempty"` // of them, those that are to be read

	errands         []crawl.Errand // wanted under this host's visit
	visit           *visit         // the outstanding one, or nil
	ran             bool           // the last visit was for errands: pages are next
	first           bool           // errands come before pages: what a site tells of its updates counts from when it is asked
	downloaded      bool           // the last visit was for downloads: the crawl is next
	passed          int            // new URLs granted while pages due to be asked for again were passed over
	tooManySitemaps bool           // said so

	at    int       // index in the schedule's heap, -1 when not in it
	when  time.Time // the time it is scheduled for
	dirty bool      // differs from its record
}

// origin is what is kept per (scheme, port) of a host: its robots.txt and its share of the queue.
type origin struct {
	Origin canon.Origin `json:"origin"`
	Ready  int64        `json:"ready,omitempty"` // URLs in the queue bucket

	Again      int64 `json:"again,omitempty"`     // URLs in the again bucket
	AgainDue   int64 `json:"again_due,omitempty"` // when the first of them is due (Unix s); 0: to be looked for
	HintsRight int   `json:"hints_right,omitempty"`
	HintsWrong int   `json:"hints_wrong,omitempty"` // pages said to have changed that had not
	Looked     int64 `json:"looked,omitempty"`      // pages said to have changed that were asked for, in all
	Confirmed  int64 `json:"confirmed,omitempty"`   // and had

	// History is when robots.txt was had, or not; Copy what the last success was (Parsed: Digest names the stored body).
	History    robots.History    `json:"history,omitzero"`
	Copy       crawl.RobotsState `json:"copy,omitempty"`
	Digest     []byte            `json:"digest,omitempty"`
	Status     int               `json:"status,omitempty"` // of the last answer
	Reason     string            `json:"reason,omitempty"` // of the last failure, for people
	CrawlDelay time.Duration     `json:"crawl_delay,omitempty"`
	HasDelay   bool              `json:"has_delay,omitempty"`
	ETag       string            `json:"etag,omitempty"`
	LastMod    string            `json:"last_modified,omitempty"`

	PendingOn string    `json:"pending_on,omitempty"` // robots-pending: the URL asked on another host
	PendingAt time.Time `json:"pending_at,omitzero"`
	Hops      int       `json:"hops,omitempty"`

	Visit crawl.VisitID `json:"visit,omitzero"` // the newest that told of this robots.txt

	SitemapsAsked time.Time `json:"sitemaps_asked,omitzero"` // when the sitemaps it names were asked for last
	SitemapsOf    []byte    `json:"sitemaps_of,omitempty"`   // and the first bytes of the digest of what it said then, with the scope's hash

	Cleans bool         `json:"cleans,omitempty"` // the copy has Clean-param lines
	clean  *robots.File // the copy, parsed when first needed for them

	Data       crawl.ProbeState `json:"data,omitempty"` // of /data.txt
	DataDue    time.Time        `json:"data_due,omitzero"`
	DataReason string           `json:"data_reason,omitempty"`
	DataOn     string           `json:"data_on,omitempty"` // ProbePending: the URL asked on another host

	RUPDue time.Time `json:"rup_due,omitzero"` // /rupinfo.txt is not asked for before; what is known of a site that has one is in rup.go

	Mirror  *mirror      `json:"mirror,omitempty"`
	MovedTo canon.Origin `json:"moved_to,omitzero"` // where the page asked for last has moved for good, its path kept
	Moved   uint32       `json:"moved,omitempty"`   // pages in a row that have moved there
	Led     int64        `json:"led,omitempty"`     // URLs that redirects of other hosts led to
	Twin    bool         `json:"twin,omitempty"`    // its name with or without www. was asked after
}

// pendingMax is how long an origin waits for another host's answer about its robots.txt before it is asked afresh.
const pendingMax = time.Hour

// state is what holds for the origin at a moment, and when its robots.txt is to be asked for next.
func (o *origin) state(now time.Time) (crawl.RobotsState, time.Time) {
	if o.PendingOn != "" {
		if again := o.PendingAt.Add(pendingMax); now.Before(again) {
			return crawl.RobotsPending, again
		}
		return crawl.RobotsUnknown, time.Time{}
	}
	d := o.History.Decide(now)
	switch {
	case d.Use == robots.UseCopy:
		return o.Copy, d.Ask
	case d.Use == robots.UseAllowAll:
		return crawl.RobotsUnavailable, d.Ask
	case o.History.Failures > 0:
		return crawl.RobotsUnreachable, d.Ask
	}
	return crawl.RobotsUnknown, time.Time{}
}

// from is when the origin may be asked for something at the earliest, its robots.txt included.
func (o *origin) from(now time.Time) (t time.Time) {
	if o.Mirror.mirrored() && o.Mirror.Settling {
		return now.Add(commitEvery) // what is queued is about to be the main host's
	}
	state, ask := o.state(now)
	if state == crawl.RobotsPending || state == crawl.RobotsUnreachable || o.slow() {
		return ask // of a slow one only to see whether its robots.txt has changed
	}
	return t
}

// slow reports that the origin asks for a longer delay than we can keep: its host is held, never hurried.
func (o *origin) slow() bool {
	return o.HasDelay && o.Copy == crawl.RobotsParsed && o.CrawlDelay > crawlDelayCap
}

// slow returns the origin of h that asks for a longer delay than we can keep, or nil.
func (h *host) slow() *origin {
	for i := range h.Origins {
		if h.Origins[i].slow() {
			return &h.Origins[i]
		}
	}
	return nil
}

// originOf returns the index of o among h's origins, adding it when new. Past maxOrigins it says no, and the URL is
// refused by the caller.
func (s *shard) originOf(h *host, o canon.Origin) (uint8, bool) {
	for i := range h.Origins {
		if h.Origins[i].Origin == o {
			return uint8(i), true
		}
	}
	if len(h.Origins) >= maxOrigins {
		return 0, false
	}
	o.Host = h.Name // o's own is a piece of the message it came in, and would keep all of it
	h.Origins = append(h.Origins, origin{Origin: o})
	s.touch(h)
	return uint8(len(h.Origins) - 1), true
}

// maxOrigins bounds the ports of one host that are looked at: a page may name 65,535.
const maxOrigins = 64

func (h *host) save(tx *bolt.Tx) error {
	v, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return tx.Bucket(bucketHosts).Put(h.ID.append(nil), v)
}

// loadHosts reads every host record of a file.
func loadHosts(tx *bolt.Tx, each func(*host) error) error {
	return tx.Bucket(bucketHosts).ForEach(func(k, v []byte) error {
		h := &host{at: -1}
		if err := json.Unmarshal(v, h); err != nil {
			return fmt.Errorf("host %x: %w", k, err)
		}
		return each(h)
	})
}

func robotsKey(id hostID, o canon.Origin) []byte {
	return append(id.append(nil), o.String()...)
}

// robotsCopy returns the stored robots.txt of an origin, a slice of the transaction's memory, or nil.
func robotsCopy(tx *bolt.Tx, id hostID, o canon.Origin) []byte {
	return tx.Bucket(bucketRobots).Get(robotsKey(id, o))
}
