package hosts

import (
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// RightsFile is what is known of a file that says more of the use of an origin's pages:
// crawl.Apart.
type RightsFile struct {
	URL    canon.URL         `json:"url"`
	State  crawl.RightsState `json:"state"`
	Digest []byte            `json:"digest,omitempty"`
	Reason string            `json:"reason,omitempty"`
	Due    time.Time         `json:"due,omitzero"` // when it is asked for again, at the earliest
}

// RightsKey is where the text of such a file is, in BucketRobots: a key that no origin has, since
// it has a path.
func RightsKey(id HostID, u canon.URL) []byte { return append(id.Append(nil), u...) }

// RightsCopy returns the text of such a file, a slice of the transaction's memory, or nil.
func RightsCopy(tx *bolt.Tx, id HostID, u canon.URL) []byte {
	return tx.Bucket(BucketRobots).Get(RightsKey(id, u))
}
