package site

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/curtsy/curtsy/pkg/rup"
	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/boltfile"
)

// confirmations asks addresses whether they want reports, and receives their answers.
type confirmations struct {
	db   *boltfile.File
	site string // URLBase
	link string // absolute URL of the confirmation page; the token is appended
	wake func()
	log  *slog.Logger // nil: none
}

const question = `Somebody, perhaps you, asked the web site

  %s

to send regular reports of its changes to this address by mail.
If you want these reports, open this page within two days and confirm:

  %s

or, from a shell:  curl -d token=%s %s

If you do not want them, do nothing, and no further mail will come. Robots can confirm with these two lines:

URLBase: %s
` + rup.ConfirmLine + `: %s
`

// ask queues a mail with the question to a robot's address. It is the Confirm function of
// rup.ServerOptions.
func (c *confirmations) ask(_ context.Context, reg rup.Registration) error {
	token := rand.Text()
	err := c.db.Update(func(tx *bolt.Tx) error {
		_, p, ok, err := registrations{tx}.byID(reg.ID)
		if err != nil || !ok {
			return err // unregistered at the same time
		}
		now := time.Now()
		p.Token = hash(token)
		p.leave()
		link := c.link + "?token=" + token
		text := fmt.Sprintf(question, c.site, link, token, c.link, c.site, link)
		return errors.Join(registrations{tx}.putProgress(reg.ID, p), post(tx, queuedMail{ID: reg.ID, Created: now, Next: now}, []byte(text)))
	})
	if err == nil {
		c.wake()
	}
	return err
}

// answer confirms the registration that has the token.
func (c *confirmations) answer(token string) (found bool, err error) {
	want := hash(token)
	// Anybody can send tokens, so only a known one may cause a write to the disk.
	id, err := withProgress(c.db, func(p progress) bool { return bytes.Equal(p.Token, want) })
	if err != nil || id == "" {
		return false, err
	}
	err = c.db.Update(func(tx *bolt.Tx) error {
		regs := registrations{tx}
		reg, p, ok, err := regs.byID(id)
		if !bytes.Equal(p.Token, want) {
			return err // another question was sent meanwhile
		}
		if err != nil || !ok || reg.Pending && time.Since(reg.Asked) > confirmWithin {
			return err
		}
		found, reg.Pending = true, false
		return regs.Put(reg)
	})
	if found && err == nil {
		c.wake() // a report may be due already
		if c.log != nil {
			c.log.Info("an address was confirmed", "registration", id)
		}
	}
	return found && err == nil, err
}

// ServeHTTP lets the owner of an address confirm.
func (c *confirmations) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	button(w, r, page{
		ask: "Send reports of changes by mail for " + c.site + "?", yes: "Confirmed. Reports will be sent by mail.",
		no: "This registration does not exist, or the question was sent more than two days ago. Please register again.", do: c.answer,
	})
}

func hash(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}
