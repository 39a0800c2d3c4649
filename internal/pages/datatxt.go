package pages

import (
	"bytes"
	"errors"
	"strings"

	bolt "go.etcd.io/bbolt"
)

// bucketFiles contains data.txt files, which are no pages. The dataset catalogue chooses the keys.
// The store does not read the values.
var bucketFiles = []byte("files")

// UpdateFiles replaces the values of some keys by the results of change, in the order of the keys.
// change gets nil if there is no value, and returns nil to leave the value unchanged. A key may
// occur twice. There is one transaction and one fsync for all of them, and none if nothing changes.
func (d *Datasets) UpdateFiles(keys []string, change func(i int, old []byte) ([]byte, error)) error {
	d.store.writing.Lock()
	defer d.store.writing.Unlock()
	nothing := errors.New("nothing changes")
	err := d.store.write(func(tx *bolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists(bucketFiles)
		if err != nil {
			return err
		}
		changed := false
		for i, key := range keys {
			v, err := change(i, b.Get([]byte(key)))
			if err != nil {
				return err
			}
			if v == nil {
				continue
			}
			changed = true
			if err := b.Put([]byte(key), v); err != nil {
				return err
			}
		}
		if !changed {
			return nothing // ends the transaction without a write
		}
		return nil
	})
	if errors.Is(err, nothing) {
		return nil
	}
	if err != nil {
		return d.store.writeError("store the data.txt of "+strings.Join(keys[:min(len(keys), 5)], ", "), err)
	}
	d.changes.Add(1)
	return nil
}

// File returns the value of a key, nil if there is none.
func (d *Datasets) File(key string) (value []byte, err error) {
	err = d.store.view(func(tx *bolt.Tx) error {
		if b := tx.Bucket(bucketFiles); b != nil {
			value = bytes.Clone(b.Get([]byte(key)))
		}
		return nil
	})
	return value, err
}

// NextFile returns the first key after another one that want accepts, and its value. ok is false if
// there is none.
func (d *Datasets) NextFile(after string, want func(key string) bool) (key string, value []byte, ok bool, err error) {
	err = d.store.view(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketFiles)
		if b == nil {
			return nil
		}
		cur := b.Cursor()
		for k, v := cur.Seek([]byte(after)); k != nil; k, v = cur.Next() {
			if string(k) != after && want(string(k)) {
				key, value, ok = string(k), bytes.Clone(v), true
				break
			}
		}
		return nil
	})
	return key, value, ok, err
}

// EachFile calls fn for every file, in the order of keys. value is valid only during the call.
func (d *Datasets) EachFile(fn func(key string, value []byte) error) error {
	return d.store.view(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketFiles)
		if b == nil {
			return nil
		}
		return b.ForEach(func(k, v []byte) error { return fn(string(k), v) })
	})
}

// DropFiles removes the values of the keys for which drop returns true.
func (d *Datasets) DropFiles(drop func(key string) bool) error {
	var all [][]byte
	err := d.EachFile(func(key string, _ []byte) error {
		if drop(key) {
			all = append(all, []byte(key))
		}
		return nil
	})
	if err != nil || len(all) == 0 {
		return err
	}
	return d.store.update(func() string { return "remove data.txt files" }, func(ch *change) error {
		ch.claimsChanged = true
		for _, k := range all {
			if err := ch.tx.Bucket(bucketFiles).Delete(k); err != nil {
				return err
			}
		}
		return nil
	})
}
