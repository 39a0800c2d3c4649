package store

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/frontier/times"
)

// timed is a record that shows its times.
type timed interface{ Times(see times.See) }

// InRecords returns a walk over the times in a bucket of JSON records.
func InRecords[R any, P interface {
	*R
	timed
}](bucket []byte) times.In {
	return func(tx *bolt.Tx, see times.See) error {
		b := tx.Bucket(bucket)
		if b == nil {
			return nil // a file from a version without this bucket
		}
		type change struct{ k, v []byte }
		var changes []change
		err := b.ForEach(func(k, v []byte) error {
			r, changed := P(new(R)), false
			if err := json.Unmarshal(v, r); err != nil {
				return fmt.Errorf("%w: %s %q: %w", ErrRecord, bucket, k, err)
			}
			r.Times(func(at *time.Time, kind times.Kind) {
				was := *at
				see(at, kind)
				changed = changed || !was.Equal(*at)
			})
			if !changed {
				return nil
			}
			v, err := json.Marshal(r)
			changes = append(changes, change{slices.Clone(k), v})
			return err
		})
		for _, c := range changes {
			if err == nil {
				err = b.Put(c.k, c.v)
			}
		}
		return err
	}
}
