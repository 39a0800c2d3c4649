package pages

import bolt "go.etcd.io/bbolt"

// bucketFiles holds what is no page: data.txt files, under a key of the dataset catalogue's, as values opaque to us.
var bucketFiles = []byte("files")

// UpdateFile replaces what is kept under a key by what change makes of it; change gets nil when there is nothing, and
// returns nil to leave it as it is. One transaction, one fsync.
func (s *Store) UpdateFile(key string, change func(old []byte) ([]byte, error)) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	err := s.db.Update(func(tx *bolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists(bucketFiles)
		if err != nil {
			return err
		}
		v, err := change(b.Get([]byte(key)))
		if v == nil || err != nil {
			return err
		}
		return b.Put([]byte(key), v)
	})
	if err != nil {
		return s.writeError("store the data.txt of "+key, err)
	}
	return nil
}

// EachFile calls fn for everything so kept, in the order of keys. value is valid during the call only.
func (s *Store) EachFile(fn func(key string, value []byte) error) error {
	return s.db.View(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketFiles)
		if b == nil {
			return nil
		}
		return b.ForEach(func(k, v []byte) error { return fn(string(k), v) })
	})
}

// DropFiles removes what is kept under the keys that drop names.
func (s *Store) DropFiles(drop func(key string) bool) error {
	var all [][]byte
	err := s.EachFile(func(key string, _ []byte) error {
		if drop(key) {
			all = append(all, []byte(key))
		}
		return nil
	})
	if err != nil || len(all) == 0 {
		return err
	}
	return s.update(func() string { return "remove data.txt files" }, func(ch *change) error {
		for _, k := range all {
			if err := ch.tx.Bucket(bucketFiles).Delete(k); err != nil {
				return err
			}
		}
		return nil
	})
}

// bucketMarks holds small facts about the store as a whole.
var bucketMarks = []byte("marks")

// Mark returns what SetMark last kept under a name; empty when nothing.
func (s *Store) Mark(name string) (value string, err error) {
	err = s.db.View(func(tx *bolt.Tx) error {
		if b := tx.Bucket(bucketMarks); b != nil {
			value = string(b.Get([]byte(name)))
		}
		return nil
	})
	return value, err
}

// SetMark keeps a small fact about the store as a whole.
func (s *Store) SetMark(name, value string) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	err := s.db.Update(func(tx *bolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists(bucketMarks)
		if err != nil {
			return err
		}
		return b.Put([]byte(name), []byte(value))
	})
	if err != nil {
		return s.writeError("mark "+name, err)
	}
	return nil
}
