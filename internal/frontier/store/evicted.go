package store

import (
	bolt "go.etcd.io/bbolt"
)

// RecordKey is the key of an evicted host's record in BucketBlocks.
func RecordKey(id HostID) []byte { return append(id.Append(make([]byte, 0, 5)), kindEvicted) }

// NextRecord moves a cursor of BucketBlocks to the next record of an evicted host, beginning with
// the key from; nil: after the cursor's position. k is nil at the end.
func NextRecord(c *bolt.Cursor, from []byte) (k, v []byte) {
	if from == nil {
		k, v = c.Next()
	} else {
		k, v = c.Seek(from)
	}
	for n := 0; len(k) > 4 && k[4] != kindEvicted; n++ {
		if n%8 < 4 { // most hosts have few records between
			k, v = c.Next()
		} else if id := KeyHost(k) + 1; id != 0 {
			k, v = c.Seek(RecordKey(id))
		} else {
			return nil, nil
		}
	}
	return k, v
}
