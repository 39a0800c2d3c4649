package frontier

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/cespare/xxhash/v2"
	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/curtsy/curtsy/pkg/canon"
)

// formatVersion is the layout of frontier-<shard>.db described below. A file of another version is refused.
const formatVersion = 1

// The buckets of a shard's file. Every key that grows with the crawl begins with the four bytes of a host id, so that
// what is touched together lies together: random keys cost a bbolt file dearly.
var (
	bucketMeta    = []byte("meta")    // see meta.go
	bucketNames   = []byte("names")   // host name → host id
	bucketHosts   = []byte("hosts")   // host id → host record (hosts.go)
	bucketRobots  = []byte("robots")  // host id, origin → robots.txt, the last good copy
	bucketSeen    = []byte("seen")    // host id, hash of the URL (, probe) → order: the seen set
	bucketURLs    = []byte("urls")    // host id, order → URL record (record.go)
	bucketQueue   = []byte("queue")   // host id, origin index, depth, order → nothing
	bucketAgain   = []byte("again")   // host id, origin index, pace, due (Unix s), order → nothing: URLs to be asked for again
	bucketLater   = []byte("later")   // due (Unix ms), host id, order → nothing: URLs that wait for another attempt
	bucketForget  = []byte("forget")  // host id → order of the URL from which on they are judged anew: see forget.go
	bucketErrands = []byte("errands") // host id, errand → nothing
	bucketOutbox  = []byte("outbox")  // number → target shard, event: sent after the commit that holds it

	bucketSitemaps  = []byte("sitemaps")  // host id, URL, origin → what is known of a sitemap (sitemaps.go)
	bucketSitequeue = []byte("sitequeue") // host id, URL, origin → nothing: sitemaps that are to be read

	bucketNested = []byte("nested") // host id, URL → what is known of a nested data.txt (nested.go)
	bucketRUP    = []byte("rup")    // host id, origin → what is known of a site that tells of its updates (rup.go)

	bucketTwins = []byte("twins") // origin that is not known yet, and whose name with www. is → 1

	allBuckets = [][]byte{bucketMeta, bucketNames, bucketHosts, bucketRobots, bucketSeen, bucketURLs, bucketQueue, bucketLater, bucketAgain, bucketForget,
		bucketErrands, bucketOutbox, bucketTwins, bucketSitemaps, bucketSitequeue, bucketNested, bucketRUP}
)

// ErrFormat says that a file was written by another version of Curtsy.
var ErrFormat = errors.New("another format")

// fileName is the frontier's file of one shard.
func fileName(shard int) string { return fmt.Sprintf("frontier-%d.db", shard) }

// openDB opens or creates a shard's file. It waits at most a second for another process to let go of it.
func openDB(path string, readOnly bool) (*bolt.DB, error) {
	db, err := openBolt(path, readOnly)
	if err != nil {
		return nil, err
	}
	if readOnly {
		err = db.View(func(tx *bolt.Tx) error { return checkFormat(tx, path) })
	} else {
		err = db.Update(func(tx *bolt.Tx) error { return initFormat(tx, path) })
	}
	if err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

// mapRoom is how much of a file is mapped from the beginning: while a checkpoint is read, a file that outgrows its mapping
// makes its writer wait. It costs addresses, not memory, but on Windows, where it costs disk.
func mapRoom() int {
	if strconv.IntSize < 64 || runtime.GOOS == "windows" {
		return 0
	}
	return 4 << 30
}

func openBolt(path string, readOnly bool) (*bolt.DB, error) {
	o := &bolt.Options{
		Timeout:        time.Second,
		ReadOnly:       readOnly,
		FreelistType:   bolt.FreelistMapType,
		NoFreelistSync: true, // the free list is rebuilt on opening; commits write less
	}
	if !readOnly {
		o.InitialMmapSize = mapRoom()
	}
	db, err := bolt.Open(path, 0o600, o)
	if errors.Is(err, syscall.ENOMEM) { // not even the addresses
		o.InitialMmapSize = 0
		db, err = bolt.Open(path, 0o600, o)
	}
	if errors.Is(err, berrors.ErrTimeout) {
		return nil, fmt.Errorf("open %s: another process holds it (see the pid in the lock file beside it): stop it with `curtsy stop`, or ask it with --nats: %w", path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return db, nil
}

var keyFormat = []byte("format")

func checkFormat(tx *bolt.Tx, path string) error {
	b := tx.Bucket(bucketMeta)
	if b == nil {
		return fmt.Errorf("open %s: not a frontier file: %w", path, ErrFormat)
	}
	var format, version int
	if _, err := fmt.Sscanf(string(b.Get(keyFormat)), "frontier %d canon %d", &format, &version); err != nil ||
		format != formatVersion || version != canon.Version {
		return fmt.Errorf("open %s: it says %q, this program writes \"frontier %d canon %d\": use the version that wrote it, or begin anew with another --dir: %w",
			path, b.Get(keyFormat), formatVersion, canon.Version, ErrFormat)
	}
	return nil
}

func initFormat(tx *bolt.Tx, path string) error {
	if tx.Bucket(bucketMeta) != nil {
		if err := checkFormat(tx, path); err != nil {
			return err
		}
	}
	for _, name := range allBuckets {
		if _, err := tx.CreateBucketIfNotExists(name); err != nil {
			return fmt.Errorf("create %s: %w", path, err)
		}
	}
	return tx.Bucket(bucketMeta).Put(keyFormat, fmt.Appendf(nil, "frontier %d canon %d", formatVersion, canon.Version))
}

// hostID is a host's short number within its shard; 0 is none.
type hostID uint32

func (id hostID) append(b []byte) []byte { return binary.BigEndian.AppendUint32(b, uint32(id)) }

// seenKey appends the key under which the seen set knows a URL. Two URLs may share a hash; the record holds the text, and
// find (seen.go) probes on.
func seenKey(b []byte, id hostID, u canon.URL) []byte {
	b = id.append(b)
	return binary.BigEndian.AppendUint64(b, xxhash.Sum64String(string(u)))
}

// urlKey appends the key of a URL's record. Records lie in the order of acceptance, which is about the order in which they
// are visited: what a visit changes lies together, where the seen set's hashes would scatter it over the whole file.
func urlKey(b []byte, id hostID, order uint64) []byte {
	return binary.BigEndian.AppendUint64(id.append(b), order)
}

// keyOrder is the order in a key that ends with it; a rank above it (queueKey) is left out.
func keyOrder(key []byte) uint64 {
	return binary.BigEndian.Uint64(key[len(key)-8:]) & (1<<rankShift - 1)
}

// queueKey appends a URL's place in its host's queue: lowest depth first, then lowest rank, then first come.
func queueKey(b []byte, id hostID, origin uint8, depth int, rank uint16, order uint64) []byte {
	b = id.append(b)
	b = append(b, origin)
	b = binary.BigEndian.AppendUint16(b, uint16(min(depth, 0xffff)))
	return binary.BigEndian.AppendUint64(b, uint64(rank)<<rankShift|order)
}

// rankShift is where a rank stands in a queue key: no shard accepts so many URLs that their order comes up to it.
const rankShift = 48

func laterKey(b []byte, due time.Time, id hostID, order uint64) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(max(due.UnixMilli(), 0)))
	return urlKey(b, id, order)
}

// meta is what a shard's file says about itself, beside its format. It changes in the same transaction as the state
// it describes.
type meta struct {
	Seq      uint64 `json:"seq"`  // log sequence applied last
	SeqTime  int64  `json:"time"` // its server timestamp, Unix ns: with Seq the anchor
	Epoch    uint64 `json:"epoch"`
	Owner    string `json:"owner"`
	Order    uint64 `json:"order"` // last acceptance number
	NextHost uint32 `json:"next_host"`
	Counts   counts `json:"counts"`
	Spec     string `json:"spec"`    // fingerprint of what the URLs were judged by (reopen.go)
	BootID   string `json:"boot_id"` // of the machine that wrote last
	Clean    bool   `json:"clean"`   // closed with nothing outstanding but what keyVisits lists
	Written  int64  `json:"written"` // Unix ms
	Outbox   uint64 `json:"outbox"`  // last outbox number

	Applied int64 `json:"applied,omitempty"` // bytes of the log applied in all
	Gen     int   `json:"gen,omitempty"`     // how often the log was found to begin anew
	Mark    mark  `json:"mark,omitzero"`     // the last checkpoint

	// Strangers: visits were granted to processes that may outlive this one, although the frontier is embedded (downloads.go).
	Strangers bool `json:"strangers,omitempty"`

	Lost lostStore `json:"lost,omitzero"`
	Plan planning  `json:"plan,omitzero"`

	Sitemaps string `json:"sitemaps,omitempty"` // the sitemapText by which all origins were asked after theirs
}

// counts is the accounting of a shard's URLs by class. In-flight URLs are among the queued.
type counts struct {
	Queued     int64            `json:"queued"`
	Stored     int64            `json:"stored"`
	Redirected int64            `json:"redirected"`
	Refused    int64            `json:"refused"`
	Failed     int64            `json:"failed"`
	Later      int64            `json:"later"` // of the queued, those that wait for another attempt
	Bytes      int64            `json:"bytes"`
	ByReason   map[string]int64 `json:"by_reason"`
}

var keyMeta = []byte("state")

func loadMeta(tx *bolt.Tx) (m meta, err error) {
	if v := tx.Bucket(bucketMeta).Get(keyMeta); v != nil {
		if err := json.Unmarshal(v, &m); err != nil {
			return m, fmt.Errorf("read the shard's state: %w", err)
		}
	}
	if m.Counts.ByReason == nil {
		m.Counts.ByReason = map[string]int64{}
	}
	return m, nil
}

func (m *meta) save(tx *bolt.Tx) error {
	v, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return tx.Bucket(bucketMeta).Put(keyMeta, v)
}

// bootID tells one boot of the machine from the next; empty where the system has no such thing.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return string(b)
}
