package crawl

import (
	"fmt"
	"regexp"

	"github.com/curtsy/curtsy/pkg/canon"
)

// Limits of a crawl.
const (
	MaxShards      = 256
	EmbeddedShards = 4  // default with the embedded server
	ClusterShards  = 16 // default with --nats
	DefaultName    = "default"
	// MaxEventBytes is the approximate maximum size of an event or page message. It is well below
	// the limit of NATS, which is 1 MiB.
	MaxEventBytes   = 512 << 10
	MaxPayloadBytes = 1 << 20
)

var nameRE = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

// CheckName returns an error if a crawl name cannot be a token of a NATS subject.
func CheckName(name string) error {
	if !nameRE.MatchString(name) {
		return fmt.Errorf("crawl name %q is not valid: use 1 to 32 letters, digits, '-' or '_', for example --crawl docs", name)
	}
	return nil
}

// Names is the name of a crawl. Its methods are the names of the crawl's subjects, streams and
// buckets.
type Names string

// EventsStream is the stream of a shard's event log.
func (n Names) EventsStream(shard int) string { return fmt.Sprintf("%s-EVENTS-%d", n, shard) }

// EventsSubject is the subject of events for a shard.
func (n Names) EventsSubject(shard int) string { return fmt.Sprintf("%s.events.%d", n, shard) }

// PagesStream is the stream of pages, a work queue from fetchers to indexers.
func (n Names) PagesStream() string { return string(n) + "-PAGES" }

// PagesSubject is the subject of pages for a shard.
func (n Names) PagesSubject(shard int) string { return fmt.Sprintf("%s.pages.%d", n, shard) }

// VisitRequest is the subject for requests for visits from one frontier.
func (n Names) VisitRequest(frontier string) string { return fmt.Sprintf("%s.take.%s", n, frontier) }

// Renew is the subject for requests to renew visits of a shard.
func (n Names) Renew(shard int) string { return fmt.Sprintf("%s.renew.%d", n, shard) }

// Robots is the subject for requests for a robots.txt by its digest, from the owner of a shard.
func (n Names) Robots(shard int) string { return fmt.Sprintf("%s.robots.%d", n, shard) }

// Dispatch is the subject for requests for the plan of a dispatch, from the owner of a shard.
func (n Names) Dispatch(shard int) string { return fmt.Sprintf("%s.dispatch.%d", n, shard) }

// Control is the subject on which all processes receive stop.
func (n Names) Control() string { return string(n) + ".control" }

// Query is the subject of a question, given its name in package questions. All instances of the
// service of the question answer for their shards.
func (n Names) Query(question string) string { return fmt.Sprintf("%s.q.%s", n, question) }

// Bucket is the KV bucket with the crawl's spec ("spec"), its budget ("budget") and the owners of
// shards ("frontier.<shard>", "indexer.<shard>").
func (n Names) Bucket() string { return string(n) + "-CRAWL" }

// Secrets is the KV bucket that only frontiers may read. It has the secret for the addresses that
// are given to sites.
func (n Names) Secrets() string { return string(n) + "-SECRET" }

// HostsBucket is the KV bucket in which all crawls of a cluster record which hosts they visit. No
// name of a crawl's own buckets begins like this.
const HostsBucket = "CURTSY_HOSTS"

// HostsBucketBytes is its capacity, enough for some 100,000 hosts. When the bucket is full, nobody
// begins visits to other hosts until some are forgotten. Nothing is dropped.
const HostsBucketBytes = 32 << 20

// RenderSubject is the subject on which the fetchers of all crawls ask for a renderer. No subject
// of a crawl is called like this, whatever its name.
const RenderSubject = "curtsy.render"

// Retired is a key in the crawl's bucket. If it exists, the indexer gives its shards to other
// indexers permanently.
func Retired(instance string) string { return "retired." + instance }

// AssignmentKey is the key in the crawl's bucket of the indexer that stores a shard's pages.
func AssignmentKey(shard int) string { return fmt.Sprintf("home.%d", shard) }

// Members is the KV bucket in which frontiers ("frontier.<instance>") and indexers
// ("indexer.<instance>") announce themselves.
func (n Names) Members() string { return string(n) + "-MEMBERS" }

// Checkpoints is the object store for the checkpoints of frontiers.
func (n Names) Checkpoints() string { return string(n) + "-CHECKPOINTS" }

// Move is the object store through which a shard's pages move from one indexer to another. It
// exists only during the move.
func (n Names) Move(shard int) string { return fmt.Sprintf("%s-MOVE-%d", n, shard) }

// ShardOf is the shard of a host among n shards: the FNV-1a hash of the host as it is written, mod
// n. It never changes for a crawl.
func ShardOf(h canon.Host, n int) int {
	f := uint32(2166136261)
	for i := 0; i < len(h); i++ {
		f ^= uint32(h[i])
		f *= 16777619
	}
	// The low bits of FNV depend mostly on the last letter, so the high bits are added to them.
	return int((f ^ f>>15) % uint32(n))
}
