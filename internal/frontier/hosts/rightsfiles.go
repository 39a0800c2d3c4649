package hosts

import (
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// RightsFile is what is known of a rights file of an origin: crawl.Apart.
type RightsFile struct {
	URL    canon.URL         `json:"url"`
	State  crawl.RightsState `json:"state"`
	Digest []byte            `json:"digest,omitempty"`
	Reason string            `json:"reason,omitempty"`
	Due    time.Time         `json:"due,omitzero"` // earliest time of the next request
}

// RightsKey is the key of such a file's text in BucketRobots. No origin has this key, because it
// contains a path.
func RightsKey(id HostID, u canon.URL) []byte { return append(id.Append(nil), u...) }

// RightsCopy returns the text of such a file, or nil. The slice belongs to the transaction.
func RightsCopy(tx *bolt.Tx, id HostID, u canon.URL) []byte {
	return tx.Bucket(BucketRobots).Get(RightsKey(id, u))
}
