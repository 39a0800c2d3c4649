package pages

import bolt "go.etcd.io/bbolt"

// bucketFiles holds what belongs to an origin rather than to a page: origin → an opaque value of the dataset catalogue.
var bucketFiles = []byte("files")

// UpdateFile replaces what is kept for an origin by what change makes of it; change gets nil when there is nothing, and
// returns nil to leave it as it is. One transaction, one fsync.
func (s *Store) UpdateFile(origin string, change func(old []byte) ([]byte, error)) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	err := s.db.Update(func(tx *bolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists(bucketFiles)
		if err != nil {
			return err
		}
		v, err := change(b.Get([]byte(origin)))
		if v == nil || err != nil {
			return err
		}
		return b.Put([]byte(origin), v)
	})
	if err != nil {
		return s.writeError("store the data.txt of "+origin, err)
	}
	return nil
}

// EachFile calls fn for every origin something is kept for, in order. value is valid during the call only.
func (s *Store) EachFile(fn func(origin string, value []byte) error) error {
	return s.db.View(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketFiles)
		if b == nil {
			return nil
		}
		return b.ForEach(func(k, v []byte) error { return fn(string(k), v) })
	})
}

// DropFiles removes what is kept for the origins that drop names.
func (s *Store) DropFiles(drop func(origin string) bool) error {
	var all [][]byte
	err := s.EachFile(func(origin string, _ []byte) error {
		if drop(origin) {
			all = append(all, []byte(origin))
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
