package pages

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/disk"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Copy writes the whole file, as it was at one moment, to w. Writers may continue meanwhile, but
// the file then grows by what they replace.
func (s *Store) Copy(w io.Writer) error {
	err := s.view(func(tx *bolt.Tx) error {
		_, err := tx.WriteTo(w)
		return err
	})
	if err != nil {
		return fmt.Errorf("copy page store %s: %w", s.path, err)
	}
	return nil
}

// Create makes an empty page store at path, in place of an existing one, and returns its identity
// once it is on disk.
func Create(path string) (identity string, err error) {
	if err := Remove(path); err != nil {
		return "", err
	}
	s, err := Open(path, Options{})
	if err != nil {
		return "", err
	}
	if err := errors.Join(s.Close(), syncDir(path)); err != nil {
		return "", err
	}
	return s.Identity(), nil
}

// Restore makes a page store at path from a Copy that fill writes, in place of an existing one. The
// store gets a new identity, because it may differ from its origin from now on. When Restore
// returns, both file and identity are on disk. After an error there is nothing at path.
func Restore(path string, fill func(io.Writer) error) (identity string, st Stats, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("restore page store %s: %w", path, err), Remove(path))
		}
	}()
	if err := fillFile(path, fill); err != nil {
		return "", st, err
	}
	if err := checkSize(path); err != nil {
		return "", st, err
	}
	s, err := Open(path, Options{})
	if err != nil {
		return "", st, err
	}
	err = s.renew()
	st = s.Stats()
	if err := errors.Join(err, s.Close(), syncDir(path)); err != nil {
		return "", st, err
	}
	return s.identity, st, nil
}

func fillFile(path string, fill func(io.Writer) error) error {
	if err := Remove(path); err != nil {
		return err
	}
	f, err := disk.OpenRegular(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 256<<10)
	if err = fill(w); err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if info, serr := f.Stat(); err == nil && (serr != nil || info.Size() == 0) {
		err = errors.Join(serr, fmt.Errorf("empty: %w", ErrFormat)) // Open would initialise it
	}
	return errors.Join(err, f.Close())
}

// checkSize refuses a file that ends before its last page. If it were opened for writing, it would
// silently be extended.
func checkSize(path string) error {
	s, err := OpenReadOnly(path)
	if err != nil {
		return err
	}
	err = s.view(func(tx *bolt.Tx) error {
		if have := s.Stats().FileBytes; have < tx.Size() {
			return fmt.Errorf("%d bytes of %d: %w", have, tx.Size(), ErrFormat)
		}
		return nil
	})
	return errors.Join(err, s.Close())
}

// renew gives the store a new identity.
func (s *Store) renew() error {
	err := s.write(func(tx *bolt.Tx) error { return identify(tx.Bucket(bucketAbout)) })
	if err != nil {
		return err
	}
	return s.view(s.load)
}

// Rename gives the store at path another name in the same directory, in place of an existing store.
// Neither may be open.
func Rename(path, to string) error {
	if err := os.Rename(path, to); err != nil {
		return fmt.Errorf("rename page store: %w", err)
	}
	return syncDir(to)
}

// Remove deletes the page store at path, which must not be open. It is no error if there is none.
func Remove(path string) error {
	for _, name := range []string{path + ".owner", path} {
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove page store: %w", err)
		}
	}
	return nil
}

// syncDir makes the name of a file survive a power cut.
func syncDir(path string) error {
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}

// identify writes the format and a new identity.
func identify(about *bolt.Bucket) error {
	var id [16]byte
	rand.Read(id[:])
	return about.Put(keyFormat, append([]byte{Format, canon.Version}, id[:]...))
}
