package site

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/curtsy/curtsy/pkg/rup"
	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/curtsy/curtsy/internal/boltfile"
)

// Robots writes to w who is registered in dir, one address a line. The Site in dir must not be
// open.
func Robots(dir string, w io.Writer) error {
	return whenStopped(dir, func(db *boltfile.File) error {
		return db.View(func(tx *bolt.Tx) error {
			return each(tx.Bucket(bucketRobots), func(_ []byte, reg rup.Registration) error {
				state := "registered"
				if reg.Pending {
					state = "not confirmed"
				}
				_, err := fmt.Fprintf(w, "%s\t%s\t%s since %s\tlast report %d\n", reg.Email, reg.Latency, state, reg.Registered.Format(time.DateOnly), reg.Sequence)
				return err
			})
		})
	})
}

// Forget ends the registration of an address in dir, for example because its key was lost (formats
// §6.2). The Site in dir must not be open.
func Forget(ctx context.Context, dir, email string) error {
	return whenStopped(dir, func(db *boltfile.File) error {
		store := &registry{db: db, changed: func() {}}
		return store.Update(ctx, func(r rup.Registrations) error {
			_, ok, err := r.Get(rup.EmailKey(email))
			if err == nil && !ok {
				err = fmt.Errorf("%s is not registered; to list the registered robots, type: curtsy rupd robots --config FILE", email)
			}
			return errors.Join(err, r.Delete(rup.EmailKey(email)))
		})
	})
}

func whenStopped(dir string, f func(*boltfile.File) error) (err error) {
	name := filepath.Join(dir, "rupd.db")
	if _, err := os.Stat(name); err != nil {
		return err
	}
	db, err := openDB(name)
	if errors.Is(err, berrors.ErrTimeout) {
		return fmt.Errorf("%w: rupd is running; stop it first", err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return f(db)
}
