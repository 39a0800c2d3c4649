package pages

import bolt "go.etcd.io/bbolt"

// bucketMarks contains small facts about the store as a whole.
var bucketMarks = []byte("marks")

// Mark returns what SetMark last stored under a name, "" if there is nothing.
func (s *Store) Mark(name string) (value string, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		if b := tx.Bucket(bucketMarks); b != nil {
			value = string(b.Get([]byte(name)))
		}
		return nil
	})
	return value, err
}

// SetMark stores a small fact about the store as a whole.
func (s *Store) SetMark(name, value string) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	err := s.write(func(tx *bolt.Tx) error {
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
