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

// formatVersion is the layout of frontier-<shard>.db described below. A file of version 1 is
// brought up to date when it is opened (older.go). One of version 2 has nobody at rest, and is one
// of this version otherwise. One of another version is refused.
const formatVersion = 3

// oldestFormat is the oldest version that can be brought up to date.
const oldestFormat = 1

// The buckets of a shard's file. Every key that grows with the crawl begins with the four bytes of
// a host id, so that what is touched together lies together: random keys cost a bbolt file dearly.
var (
	BucketMeta   = []byte("meta")   // see state.go
	bucketNames  = []byte("names")  // host name → host id
	BucketHosts  = []byte("hosts")  // host id → host record (hosts.go)
	BucketRobots = []byte("robots") // host id, origin → robots.txt, the last good copy
	bucketBlocks = []byte("blocks") // host id, kind, … → what there is most of (blocks.go)
	// Host id, origin index, pace, due (Unix s), order → nothing: URLs to be asked for again.
	BucketAgain = []byte("again")
	// Due (Unix ms), host id, order → nothing: URLs that wait for another attempt.
	BucketLater = []byte("later")
	// Host id → order of the URL from which on they are judged anew: see package passes.
	BucketForget = []byte("forget")
	// Host id → order of the URL from which on they are retried: see package passes.
	BucketRetry = []byte("retry")
	BucketAux   = []byte("errands") // host id, errand → nothing
	// Number → target shard, event: sent after the commit that holds it.
	bucketOutbox = []byte("outbox")

	// Host id, URL, origin → what is known of a sitemap (package sitemaps).
	BucketSitemaps = []byte("sitemaps")
	// Host id, URL, origin → nothing: sitemaps that are to be read.
	BucketSitequeue = []byte("sitequeue")

	// Host id, URL → what is known of a nested data.txt (package datafiles).
	BucketNested = []byte("nested")
	// Host id, origin → what is known of a site that tells of its updates (package rupsites).
	BucketRUP = []byte("rup")
	// Host id, origin → what is known of a site as one that tells by IndexNow (package indexnow).
	BucketIndexNow = []byte("indexnow")
	// Host id, origin, 0, number, part → URLs that wait for a key to be proved.
	BucketIndexNowURLs = []byte("indexnow-urls")

	// Host id, URL, 0, origin → what is known of a feed (package feeds).
	BucketFeeds = []byte("feeds")
	// Due (Unix s), key of a feed → nothing.
	BucketFeedsDue = []byte("feeds-due")
	// Host id, topic → a subscription at a hub (package websub).
	BucketWebSub = []byte("websub")
	// Host id, source, origin → what came of hints (package recrawl).
	BucketHints = []byte("hints")

	// Host id, day (since 1970, UTC), registered domain → how many hops its robots.txt files
	// led there (package hops).
	BucketRobotsProxy = []byte("hops")
	// Host id, visit, how many of its requests came before → the requests (package timeline).
	BucketTimeline = []byte("timeline")
	BucketDomains  = []byte("domains") // registered domain → what is counted of it (domains.go)
	// Registered domain, 0, host id → nothing: names past the limit.
	BucketClosed  = []byte("closed")
	BucketWaiting = []byte("waiting") // host id → nothing: sleepers with URLs queued
	// Until when (Unix ms), host id → counts of its URLs: hosts at rest with work (evict.go).
	BucketEvicted = []byte("resting")

	BucketHistory = []byte("history") // Unix s → sample of the shard's accounting (package history)

	BucketTwins = []byte("twins") // origin that is not known yet, and whose name with www. is → 1

	allBuckets = [][]byte{BucketMeta, bucketNames, BucketHosts, BucketRobots, bucketBlocks, BucketLater, BucketAgain, BucketForget, BucketRetry,
		BucketAux, bucketOutbox, BucketTwins, BucketSitemaps, BucketSitequeue, BucketNested, BucketRUP, BucketIndexNow, BucketIndexNowURLs, BucketFeeds, BucketFeedsDue, BucketWebSub, BucketHints, BucketDomains, BucketClosed, BucketWaiting, BucketEvicted, BucketRobotsProxy, BucketTimeline,
		BucketHistory}
)

// ErrFormat says that a file was written by another version of Curtsy.
var ErrFormat = errors.New("the format is different")

// FileName is the frontier's file of one shard.
func FileName(shard int) string { return fmt.Sprintf("frontier-%d.db", shard) }

// OpenDB opens or creates a shard's file. It waits at most a second for another
// process to let go of it.
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
		if err == nil && old { // nobody has it open: we are asked since nothing runs
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

// reopen brings a file that was opened for reading up to date, and opens it for reading again.
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

// mapRoom is how much of a file is mapped from the beginning: while a checkpoint is read, a file
// that outgrows its mapping makes its writer wait. It costs addresses, not memory, but on Windows,
// where it costs disk.
func mapRoom() int {
	if strconv.IntSize < 64 || runtime.GOOS == "windows" {
		return 0
	}
	return 4 << 30
}

// OpenBolt opens a bbolt file with the options of a shard. It waits at most a second for its lock.
func OpenBolt(path string, readOnly bool) (*boltfile.File, error) {
	o := bolt.Options{
		Timeout:        time.Second,
		ReadOnly:       readOnly,
		FreelistType:   bolt.FreelistArrayType, // few pages are free: the first is taken
		NoFreelistSync: true,                   // it is rebuilt on opening; commits write less
	}
	if !readOnly {
		o.InitialMmapSize = mapRoom()
	}
	remedy := fmt.Sprintf("stop the crawl if it runs, move the file away (mv %[1]s %[1]s.damaged) and start the crawl again with its seeds: "+
		"the shard then starts empty and fetches its pages again. A frontier daemon restores the file by itself, from the last checkpoint and the log", path)
	db, err := boltfile.Open(path, o, remedy)
	if errors.Is(err, syscall.ENOMEM) { // not even the addresses
		o.InitialMmapSize = 0
		db, err = boltfile.Open(path, o, remedy)
	}
	if errors.Is(err, berrors.ErrTimeout) {
		return nil, fmt.Errorf("open %s: another process uses it (the lock file beside it has the pid): stop it with `curtsy stop`, or query it with --nats: %w", path, err)
	}
	if boltfile.IsDamaged(err) {
		return nil, err // names the file
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

// SeenHash is what the seen set knows a URL by, within its host.
func SeenHash(u canon.URL) uint64 { return xxhash.Sum64String(string(u)) }

// URLKey appends the key of a URL's record. Records lie in the order of acceptance, which is about
// the order in which they are visited: what a visit changes lies together, where the seen set's
// hashes would scatter it over the whole file.
func URLKey(b []byte, id HostID, order uint64) []byte {
	return binary.BigEndian.AppendUint64(id.Append(b), order)
}

// KeyOrder is the order in a key that ends with it; a rank above it (QueueKey) is left out.
func KeyOrder(key []byte) uint64 {
	return binary.BigEndian.Uint64(key[len(key)-8:]) & (1<<rankShift - 1)
}

// QueueKey appends a URL's place in its host's queue: lowest depth first, then lowest
// rank, then first come.
func QueueKey(b []byte, id HostID, origin uint8, depth int, rank uint16, order uint64) []byte {
	b = id.Append(b)
	b = append(b, origin)
	b = binary.BigEndian.AppendUint16(b, uint16(min(depth, 0xffff)))
	return binary.BigEndian.AppendUint64(b, uint64(rank)<<rankShift|order)
}

// rankShift is where a rank stands in a queue key: no shard accepts so many URLs that their
// order comes up to it.
const rankShift = 48

// LaterKey appends the key of a URL that waits until due.
func LaterKey(b []byte, due time.Time, id HostID, order uint64) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(max(due.UnixMilli(), 0)))
	return URLKey(b, id, order)
}

// Meta is what a shard's file says about itself, beside its format. It changes in the same
// transaction as the state it describes.
type Meta struct {
	Seq      uint64 `json:"seq"`  // log sequence applied last
	SeqTime  int64  `json:"time"` // its server timestamp, Unix ns: with Seq the anchor
	Epoch    uint64 `json:"epoch"`
	Owner    string `json:"owner"`
	Order    uint64 `json:"order"` // last acceptance number
	NextHost uint32 `json:"next_host"`
	Counts   Counts `json:"counts"`
	Spec     string `json:"spec"`    // fingerprint of what the URLs were judged by (judging.go)
	BootID   string `json:"boot_id"` // of the machine that wrote last
	// Closed with nothing outstanding but what visits.keyVisits lists.
	Clean   bool   `json:"clean"`
	Written int64  `json:"written"` // Unix ms
	Outbox  uint64 `json:"outbox"`  // last outbox number

	Applied int64 `json:"applied,omitempty"` // bytes of the log applied in all
	Gen     int   `json:"gen,omitempty"`     // how often the log was found to begin anew
	Mark    Mark  `json:"mark,omitzero"`     // the last checkpoint

	// Strangers: visits were granted to processes that may outlive this one, although the frontier
	// is embedded (downloads.go).
	Strangers bool `json:"strangers,omitempty"`

	Lost lostStore `json:"lost,omitzero"`
	Plan Planning  `json:"plan,omitzero"`

	Counted bool  `json:"counted,omitempty"` // the hosts of each registered domain are
	Closed  int64 `json:"closed,omitempty"`  // hosts that are
	// judge.maxHosts by which closed names were let in last
	MaxHosts int64 `json:"max_hosts,omitempty"`
	// How far the pass has got that lets them in by another.
	OpenedTo     []byte `json:"opened_to,omitempty"`
	DelayedUntil int64  `json:"owed,omitempty"` // Unix ms: hosts that sleep count as visited then

	Judging Judging `json:"judging,omitzero"`

	// Whether hosts rest as re-crawl wants it: until URLs, and sitemaps, are asked for again.
	EvictRecrawl bool `json:"rest_recrawl,omitempty"`
	// How often the operator may have slowed hosts down.
	Paces uint64 `json:"paces,omitempty"`

	// The SitemapText by which all origins were asked after theirs.
	Sitemaps string `json:"sitemaps,omitempty"`
	Updates  bool   `json:"updates,omitempty"` // they were to be asked for /rupinfo.txt
}

// Counts is the accounting of a shard's URLs by class. In-flight URLs are among the queued.
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
		panic(err) // it has nothing that cannot be encoded
	}
	return v
}

// Save writes the shard's state.
func (m *Meta) Save(tx *bolt.Tx) error { return tx.Bucket(BucketMeta).Put(keyMeta, m.encode()) }

// BootID tells one boot of the machine from the next; empty where the system has no such thing.
func BootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return string(b)
}
