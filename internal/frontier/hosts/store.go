package hosts

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	xxhash "github.com/cespare/xxhash/v2"
	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/curtsy/curtsy/internal/boltfile"
	"github.com/curtsy/curtsy/pkg/canon"
)

// formatVersion is the layout of frontier-<shard>.db, which is described below. A file of version 1
// is upgraded when it is opened (older.go). A file of version 2 has no evicted hosts and is
// otherwise the same as one of version 3. Files of other versions are refused.
const formatVersion = 3

// oldestFormat is the oldest version that can be upgraded.
const oldestFormat = 1

// The buckets of a shard's file. Every key that grows with the crawl begins with the four bytes of
// a host id, so that records that change together lie together: random keys make a bbolt file slow.
var (
	BucketMeta   = []byte("meta")   // see state.go
	bucketNames  = []byte("names")  // host name → host id
	BucketHosts  = []byte("hosts")  // host id → host record (hosts.go)
	BucketRobots = []byte("robots") // host id, origin → robots.txt, the last good copy
	bucketBlocks = []byte("blocks") // host id, kind, … → the largest parts of the file (blocks.go)
	// Host id, origin index, pace, due (Unix s), order → nothing: URLs to be fetched again.
	BucketAgain = []byte("again")
	// Due (Unix ms), host id, order → nothing: URLs that wait for another attempt.
	BucketLater = []byte("later")
	// Host id → order of the first URL for which forgetting is decided again: see shard.Passes.
	BucketForget = []byte("forget")
	// Host id → order of the first URL that is retried: see shard.Passes.
	BucketRetry = []byte("retry")
	BucketAux   = []byte("errands") // host id, auxiliary request → nothing
	// Number → target shard, event: sent after the commit that contains it.
	bucketOutbox = []byte("outbox")

	// Host id, URL, origin → what is known of a sitemap (wellknown.Sitemaps).
	BucketSitemaps = []byte("sitemaps")
	// Host id, URL, origin → nothing: sitemaps that are to be read.
	BucketSitequeue = []byte("sitequeue")

	// Host id, URL → what is known of a nested data.txt (wellknown.DataFiles).
	BucketNested = []byte("nested")
	// Host id, origin → what is known of a site that reports its updates (updates.RUPSites).
	BucketRUP = []byte("rup")
	// Host id, origin → what is known of a site's use of IndexNow (updates.IndexNow).
	BucketIndexNow = []byte("indexnow")
	// Host id, origin, 0, number, part → URLs that wait until a key is verified.
	BucketIndexNowURLs = []byte("indexnow-urls")

	// Host id, URL, 0, origin → what is known of a feed (wellknown.Feeds).
	BucketFeeds = []byte("feeds")
	// Due (Unix s), key of a feed → nothing.
	BucketFeedsDue = []byte("feeds-due")
	// Host id, topic → a subscription at a hub (updates.WebSub).
	BucketWebSub = []byte("websub")
	// Host id, source, origin → how reliable hints proved (urls.Recrawl).
	BucketHints = []byte("hints")

	// Host id, day (since 1970, UTC), registered domain → number of requests to that domain for the
	// host's robots.txt files (wellknown.RobotsProxy).
	BucketRobotsProxy = []byte("hops")
	// Host id, visit, number of earlier requests in it → the requests (schedule.Timeline).
	BucketTimeline = []byte("timeline")
	BucketDomains  = []byte("domains") // registered domain → counts (domains.go)
	// Registered domain, 0, host id → nothing: names past the limit.
	BucketClosed = []byte("closed")
	// Host id → nothing: evicted hosts that were never visited and have queued URLs
	BucketWaiting = []byte("waiting")
	// Until when (Unix ms), host id → counts of its URLs: visited hosts that were evicted with work
	// (evict.go).
	BucketEvicted = []byte("resting")

	BucketHistory = []byte("history") // Unix s → sample of the shard's accounting (shard.History)

	// Origin that is not known yet, although its name with "www." is → 1
	BucketTwins = []byte("twins")

	allBuckets = [][]byte{BucketMeta, bucketNames, BucketHosts, BucketRobots, bucketBlocks, BucketLater, BucketAgain, BucketForget, BucketRetry,
		BucketAux, bucketOutbox, BucketTwins, BucketSitemaps, BucketSitequeue, BucketNested, BucketRUP, BucketIndexNow, BucketIndexNowURLs, BucketFeeds, BucketFeedsDue, BucketWebSub, BucketHints, BucketDomains, BucketClosed, BucketWaiting, BucketEvicted, BucketRobotsProxy, BucketTimeline,
		BucketHistory}
)

// ErrFormat says that a file was written by another version of Curtsy.
var ErrFormat = errors.New("the format is different")

// FileName is the frontier's file of one shard.
func FileName(shard int) string { return fmt.Sprintf("frontier-%d.db", shard) }

// OpenDB opens or creates a shard's file. It waits at most a second for another process to close
// it.
func OpenDB(path string, readOnly bool) (*boltfile.File, error) {
	db, err := OpenBolt(path, readOnly)
	if err != nil {
		return nil, err
	}
	if readOnly {
		old := false
		err = db.View(func(tx *bolt.Tx) error {
			old = tx.Bucket(bucketBlocks) == nil || tx.Bucket(oldURLs) != nil
			return CheckFormat(tx, path)
		})
		// Nobody has it open: a file is only opened for reading when no crawl runs
		if err == nil && old {
			return reopen(db, path)
		}
	} else if err = bringUpToDate(db, path); err == nil {
		err = db.Update(func(tx *bolt.Tx) error { return initFormat(tx, path) })
	}
	if err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

// reopen upgrades a file that was opened for reading, and opens it for reading again.
func reopen(db *boltfile.File, path string) (*boltfile.File, error) {
	db.Close()
	db, err := OpenDB(path, false)
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("an older version wrote %s, and upgrading it needs permission to write: "+
			"run `curtsy status --dir %s` as the user who owns it: %w", path, filepath.Dir(path), err)
	}
	return OpenDB(path, true)
}

// mapRoom is the size of the initial mapping of a file. A file that outgrows its mapping makes its
// writer wait while a checkpoint is being read. The mapping costs address space, not memory; on
// Windows it would cost disk space.
func mapRoom() int {
	if strconv.IntSize < 64 || runtime.GOOS == "windows" {
		return 0
	}
	return 4 << 30
}

// OpenBolt opens a bbolt file with the options of a shard. It waits at most a second for its lock.
func OpenBolt(path string, readOnly bool) (*boltfile.File, error) {
	o := bolt.Options{
		Timeout:  time.Second,
		ReadOnly: readOnly,
		// Few pages are free, so the first one that fits is found quickly
		FreelistType:   bolt.FreelistArrayType,
		NoFreelistSync: true, // it is rebuilt on opening; commits write less
	}
	if !readOnly {
		o.InitialMmapSize = mapRoom()
	}
	remedy := fmt.Sprintf("stop the crawl if it runs, move the file away (mv %[1]s %[1]s.damaged) and start the crawl again with its seeds: "+
		"the shard then starts empty and fetches its pages again. A frontier daemon restores the file by itself, from the last checkpoint and the log", path)
	db, err := boltfile.Open(path, o, remedy)
	if errors.Is(err, syscall.ENOMEM) { // there is not enough address space
		o.InitialMmapSize = 0
		db, err = boltfile.Open(path, o, remedy)
	}
	if errors.Is(err, berrors.ErrTimeout) {
		return nil, fmt.Errorf("open %s: another process uses it (the lock file beside it has the pid): stop it with `curtsy stop`, or query it with --nats: %w", path, err)
	}
	if boltfile.IsDamaged(err) {
		return nil, err // the error names the file
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return db, nil
}

var keyFormat = []byte("format")

// CheckFormat refuses a file of another format with ErrFormat.
func CheckFormat(tx *bolt.Tx, path string) error {
	b := tx.Bucket(BucketMeta)
	if b == nil {
		return fmt.Errorf("open %s: not a frontier file: %w", path, ErrFormat)
	}
	var format, version int
	if _, err := fmt.Sscanf(string(b.Get(keyFormat)), "frontier %d canon %d", &format, &version); err != nil ||
		format < oldestFormat || format > formatVersion || version < canon.OldestVersion || version > canon.Version {
		return fmt.Errorf("open %s: its format is %q, but this program writes \"frontier %d canon %d\": use the version that wrote it, or start again with another --dir: %w",
			path, b.Get(keyFormat), formatVersion, canon.Version, ErrFormat)
	}
	return nil
}

func initFormat(tx *bolt.Tx, path string) error {
	if tx.Bucket(BucketMeta) != nil {
		if err := CheckFormat(tx, path); err != nil {
			return err
		}
	}
	for _, name := range allBuckets {
		if _, err := tx.CreateBucketIfNotExists(name); err != nil {
			return fmt.Errorf("create %s: %w", path, err)
		}
	}
	return putFormat(tx)
}

func putFormat(tx *bolt.Tx) error {
	return tx.Bucket(BucketMeta).Put(keyFormat, fmt.Appendf(nil, "frontier %d canon %d", formatVersion, canon.Version))
}

// HostID is a host's short number within its shard; 0 is none.
type HostID uint32

// Append appends the four bytes of a host with which keys begin.
func (id HostID) Append(b []byte) []byte { return binary.BigEndian.AppendUint32(b, uint32(id)) }

// SeenHash is the key of a URL in the seen set, within its host.
func SeenHash(u canon.URL) uint64 { return xxhash.Sum64String(string(u)) }

// URLKey appends the key of a URL's record. Records are in the order of acceptance, which is
// roughly the order of visits. Records that a visit changes therefore lie together; the hashes of
// the seen set would scatter them over the whole file.
func URLKey(b []byte, id HostID, order uint64) []byte {
	return binary.BigEndian.AppendUint64(id.Append(b), order)
}

// KeyOrder is the order in a key that ends with it, without the rank in its upper bits (QueueKey).
func KeyOrder(key []byte) uint64 {
	return binary.BigEndian.Uint64(key[len(key)-8:]) & (1<<rankShift - 1)
}

// QueueKey appends a URL's position in its host's queue: lowest depth first, then lowest rank, then
// first found.
func QueueKey(b []byte, id HostID, origin uint8, depth int, rank uint16, order uint64) []byte {
	b = id.Append(b)
	b = append(b, origin)
	b = binary.BigEndian.AppendUint16(b, uint16(min(depth, 0xffff)))
	return binary.BigEndian.AppendUint64(b, uint64(rank)<<rankShift|order)
}

// rankShift is the position of the rank in a queue key. No shard accepts enough URLs for an order
// to reach these bits.
const rankShift = 48

// LaterKey appends the key of a URL that waits until due.
func LaterKey(b []byte, due time.Time, id HostID, order uint64) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(max(due.UnixMilli(), 0)))
	return URLKey(b, id, order)
}

// Meta is a file's information about itself, beside its format. It changes in the same transaction
// as the state that it describes.
type Meta struct {
	Seq      uint64 `json:"seq"`  // log sequence applied last
	SeqTime  int64  `json:"time"` // its server timestamp, Unix ns: with Seq the anchor
	Epoch    uint64 `json:"epoch"`
	Owner    string `json:"owner"`
	Order    uint64 `json:"order"` // last acceptance number
	NextHost uint32 `json:"next_host"`
	Counts   Counts `json:"counts"`
	// Fingerprint of the settings that decided about URLs (judging.go)
	Spec   string `json:"spec"`
	BootID string `json:"boot_id"` // of the machine that wrote the file last
	// The file was closed without outstanding visits, except those in schedule.keyVisits.
	Clean   bool   `json:"clean"`
	Written int64  `json:"written"` // Unix ms
	Outbox  uint64 `json:"outbox"`  // last outbox number

	Applied int64 `json:"applied,omitempty"` // total bytes of the log that were applied
	Gen     int   `json:"gen,omitempty"`     // how often a new log was found
	Mark    Mark  `json:"mark,omitzero"`     // the last checkpoint

	// Strangers: visits were granted to processes that may outlive this one, although the frontier
	// is embedded (downloads.go).
	Strangers bool `json:"strangers,omitempty"`

	Lost lostStore `json:"lost,omitzero"`
	Plan Planning  `json:"plan,omitzero"`

	Counted bool  `json:"counted,omitempty"` // the hosts of each registered domain are counted
	Closed  int64 `json:"closed,omitempty"`  // number of closed hosts
	// The value of judge.maxHosts for which closed names were opened last.
	MaxHosts int64 `json:"max_hosts,omitempty"`
	// How far the pass that opens names for a new value has got.
	OpenedTo []byte `json:"opened_to,omitempty"`
	// Unix ms: evicted hosts that were never visited count as visited then
	DelayedUntil int64 `json:"owed,omitempty"`

	Judging Judging `json:"judging,omitzero"`

	// Visited hosts were evicted with regard to re-crawl: until their URLs or sitemaps are due
	// again.
	EvictRecrawl bool `json:"rest_recrawl,omitempty"`
	// How often the operator may have slowed hosts down.
	Paces uint64 `json:"paces,omitempty"`

	// The SitemapText with which all origins were asked for sitemaps.
	Sitemaps string `json:"sitemaps,omitempty"`
	Updates  bool   `json:"updates,omitempty"` // all origins were to be asked for /rupinfo.txt
}

// Counts are the numbers of a shard's URLs by class. URLs in running visits count as queued.
type Counts struct {
	Queued     int64            `json:"queued"`
	Stored     int64            `json:"stored"`
	Redirected int64            `json:"redirected"`
	Refused    int64            `json:"refused"`
	Failed     int64            `json:"failed"`
	Later      int64            `json:"later"` // of the queued, those that wait for another attempt
	Bytes      int64            `json:"bytes"`
	Requests   int64            `json:"requests,omitempty"` // sent, of all kinds
	ByReason   map[string]int64 `json:"by_reason"`
}

var keyMeta = []byte("state")

// LoadMeta reads the shard's state from its file.
func LoadMeta(tx *bolt.Tx) (m Meta, err error) {
	if v := tx.Bucket(BucketMeta).Get(keyMeta); v != nil {
		if err := json.Unmarshal(v, &m); err != nil {
			return m, fmt.Errorf("%w: the shard's state: %w", ErrRecord, err)
		}
	}
	if m.Counts.ByReason == nil {
		m.Counts.ByReason = map[string]int64{}
	}
	return m, nil
}

// encode returns the record of a shard's state.
func (m *Meta) encode() []byte {
	v, err := json.Marshal(m)
	if err != nil {
		panic(err) // all its fields can be encoded
	}
	return v
}

// Save writes the shard's state.
func (m *Meta) Save(tx *bolt.Tx) error { return tx.Bucket(BucketMeta).Put(keyMeta, m.encode()) }

// BootID identifies the current boot of the machine. It is empty on systems that have no such id.
func BootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return string(b)
}
