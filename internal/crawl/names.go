package crawl

import (
	"fmt"
	"regexp"

	"github.com/curtsy/curtsy/pkg/canon"
)

// Limits of a crawl's own name and number of shards.
const (
	MaxShards      = 256
	EmbeddedShards = 4  // default with the embedded server
	ClusterShards  = 16 // default with --nats
	DefaultName    = "default"
	// An event or page message is closed at about this size, well under NATS' 1 MiB.
	MaxEventBytes   = 512 << 10
	MaxPayloadBytes = 1 << 20
)

var nameRE = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

// CheckName refuses a crawl name that could not be a NATS subject token.
func CheckName(name string) error {
	if !nameRE.MatchString(name) {
		return fmt.Errorf("crawl name %q is not valid: use 1 to 32 letters, digits, '-' or '_', for example --crawl docs", name)
	}
	return nil
}

// Names derives every subject, stream and bucket of one crawl from its name.
type Names string

// EventsStream is the stream that holds a shard's event log.
func (n Names) EventsStream(shard int) string { return fmt.Sprintf("%s-EVENTS-%d", n, shard) }

// EventsSubject is where events for a shard are published.
func (n Names) EventsSubject(shard int) string { return fmt.Sprintf("%s.events.%d", n, shard) }

// PagesStream is the work queue between fetchers and indexers.
func (n Names) PagesStream() string { return string(n) + "-PAGES" }

// PagesSubject is where pages for a shard are published.
func (n Names) PagesSubject(shard int) string { return fmt.Sprintf("%s.pages.%d", n, shard) }

// VisitRequest is the request subject on which one frontier grants visits.
func (n Names) VisitRequest(frontier string) string { return fmt.Sprintf("%s.take.%s", n, frontier) }

// Renew is the request subject on which a shard's owner prolongs visits.
func (n Names) Renew(shard int) string { return fmt.Sprintf("%s.renew.%d", n, shard) }

// Robots is the request subject on which a shard's owner hands out a robots.txt by digest.
func (n Names) Robots(shard int) string { return fmt.Sprintf("%s.robots.%d", n, shard) }

// Control carries stop to everyone.
func (n Names) Control() string { return string(n) + ".control" }

// Query is the request subject of one question ("status", "hosts", …); every service that holds
// shards answers for them.
func (n Names) Query(question string) string { return fmt.Sprintf("%s.q.%s", n, question) }

// Bucket is the KV bucket with the crawl's spec ("spec"), its budget ("budget") and the owners
// ("frontier.<shard>", "indexer.<shard>").
func (n Names) Bucket() string { return string(n) + "-CRAWL" }

// Secrets is the KV bucket of what only frontiers may read: the secret of the addresses
// that sites are told.
func (n Names) Secrets() string { return string(n) + "-SECRET" }

// HostsBucket is the KV bucket in which all crawls of a cluster say who is at which host. No
// crawl's own names begin as it does.
const HostsBucket = "CURTSY_HOSTS"

// Retired is the key in the crawl's bucket whose presence says that an indexer is to give its
// shards to others for good.
func Retired(instance string) string { return "retired." + instance }

// AssignmentKey is the key in the crawl's bucket of the record that says which indexer has a
// shard's pages.
func AssignmentKey(shard int) string { return fmt.Sprintf("home.%d", shard) }

// Members is the KV bucket in which frontiers ("frontier.<instance>") and indexers
// ("indexer.<instance>") say that they are there.
func (n Names) Members() string { return string(n) + "-MEMBERS" }

// Checkpoints is the object store with the frontiers' checkpoints.
func (n Names) Checkpoints() string { return string(n) + "-CHECKPOINTS" }

// Move is the object store through which a shard's pages move from one indexer to another; it
// exists only meanwhile.
func (n Names) Move(shard int) string { return fmt.Sprintf("%s-MOVE-%d", n, shard) }

// ShardOf is the shard a host belongs to: FNV-1a of the host as written, mod n. It never
// changes for a crawl.
func ShardOf(h canon.Host, n int) int {
	f := uint32(2166136261)
	for i := 0; i < len(h); i++ {
		f ^= uint32(h[i])
		f *= 16777619
	}
	// FNV's low bits follow the last letter closely; fold the high ones in.
	return int((f ^ f>>15) % uint32(n))
}
