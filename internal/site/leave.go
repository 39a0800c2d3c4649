package site

import (
	"crypto/rand"
	"errors"
	"net/http"

	"github.com/curtsy/curtsy/internal/boltfile"
	bolt "go.etcd.io/bbolt"
)

// leaving ends registrations for the readers of mails: whoever receives a mail can stop further
// ones without a key.
type leaving struct {
	db   *boltfile.File
	site string // URLBase
}

// ServeHTTP lets the owner of an address unsubscribe.
func (l *leaving) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	button(w, r, page{
		ask: "Stop mails about " + l.site + "?", yes: "Done. No further mails will be sent.",
		no: "This registration does not exist. No mails will be sent.", do: l.leave,
	})
}

func (l *leaving) leave(token string) (known bool, err error) {
	has := func(p progress) bool { return token != "" && p.Leave == token }
	id, err := withProgress(l.db, has)
	if err != nil || id == "" {
		return false, err
	}
	err = l.db.Update(func(tx *bolt.Tx) error {
		regs := registrations{tx}
		_, p, ok, err := regs.byID(id)
		if err != nil || !ok || !has(p) {
			return err
		}
		known = true
		return errors.Join(regs.Delete(p.Email), regs.sweep())
	})
	return known && err == nil, err
}

// leave gives a registration the token that stops its mails. Each mail contains the token, and it
// can do nothing else, so it is stored unhashed.
func (p *progress) leave() {
	if p.Leave == "" {
		p.Leave = rand.Text()
	}
}

// withProgress finds the registration for whose progress has returns true, or "".
func withProgress(db *boltfile.File, has func(progress) bool) (id string, err error) {
	err = db.View(func(tx *bolt.Tx) error {
		return each(tx.Bucket(bucketProgress), func(k []byte, p progress) error {
			if has(p) {
				id = string(k)
			}
			return nil
		})
	})
	return id, err
}
