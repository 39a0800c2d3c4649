package hosts

import (
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/store"
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
func RightsKey(id store.HostID, u canon.URL) []byte { return append(id.Append(nil), u...) }

// RightsCopy returns the text of such a file, or nil. The slice belongs to the transaction.
func RightsCopy(tx *bolt.Tx, id store.HostID, u canon.URL) []byte {
	return tx.Bucket(store.BucketRobots).Get(RightsKey(id, u))
}

// KeepRights keeps what a visit learned at a time of a file that says more of the use of o's pages:
// its text with the same commit. Applied again it changes nothing. When robots.txt names more files
// than are kept, the oldest one is forgotten.
func (o *Origin) KeepRights(a *crawl.RightsFile, at time.Time) error {
	if a.URL.Origin() != o.Origin || a.State == crawl.RightsUnknown {
		return nil
	}
	f, id := o.host.memory.file, o.host.ID
	i := slices.IndexFunc(o.Rights, func(k RightsFile) bool { return k.URL == a.URL })
	if i < 0 {
		if len(o.Rights) >= crawl.MaxAparts { // robots.txt names others now
			gone := o.Rights[0].URL
			o.Rights = slices.Delete(slices.Clone(o.Rights), 0, 1)
			if err := f.Drop(store.BucketRobots, RightsKey(id, gone)); err != nil {
				return err
			}
		}
		i = len(o.Rights)
		o.Rights = append(slices.Clone(o.Rights), RightsFile{URL: canon.URL(strings.Clone(string(a.URL)))})
	}
	k := &o.Rights[i]
	k.State, k.Reason, k.Due = a.State, strings.Clone(crawl.ShortDetail(a.Reason)), at.Add(a.Fresh)
	o.changed()
	if a.State != crawl.RightsRead {
		k.Digest = nil
		return f.Drop(store.BucketRobots, RightsKey(id, k.URL))
	}
	k.Digest = slices.Clone(a.Digest)
	return f.Put(store.BucketRobots, RightsKey(id, k.URL), a.Body)
}

// RobotsRef identifies the robots.txt of an origin, or one of its rights files.
type RobotsRef struct {
	ID     store.HostID
	Origin canon.Origin
	Rights canon.URL // URL of a rights file, or "" for robots.txt
}

// Key is the key of the text in BucketRobots.
func (r RobotsRef) Key() []byte {
	if r.Rights == "" {
		return RobotsKey(r.ID, r.Origin)
	}
	return RightsKey(r.ID, r.Rights)
}
