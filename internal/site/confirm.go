package site

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"html"
	"net/http"
	"time"

	"github.com/curtsy/curtsy/pkg/rup"
	bolt "go.etcd.io/bbolt"
)

// confirmations asks addresses whether they want reports, and hears their answers.
type confirmations struct {
	db   *bolt.DB
	site string // URLBase
	link string // absolute URL of the page with the answer; the token follows
	wake func()
}

const question = `Somebody, perhaps you, asked the web site

  %s

to mail a report of what changes there to this address, again and again.
If that is what you want, open this page within two days and confirm:

  %s

or, from a shell:  curl -d token=%s %s

If not, do nothing: no other mail will come.
`

// ask puts the question to a robot's address into the spool. It is rup.ServerOptions' Confirm.
func (c *confirmations) ask(_ context.Context, reg rup.Registration) error {
	token := rand.Text()
	err := c.db.Update(func(tx *bolt.Tx) error {
		_, p, ok, err := registrations{tx}.byID(reg.ID)
		if err != nil || !ok {
			return err // unregistered in the same moment
		}
		now := time.Now()
		p.Token = hash(token)
		text := fmt.Sprintf(question, c.site, c.link+"?token="+token, token, c.link)
		return errors.Join(registrations{tx}.putProgress(reg.ID, p), post(tx, letter{ID: reg.ID, Created: now, Next: now}, []byte(text)))
	})
	if err == nil {
		c.wake()
	}
	return err
}

// answer ends the waiting of the registration that has the token.
func (c *confirmations) answer(token string) (found bool, err error) {
	err = c.db.Update(func(tx *bolt.Tx) error {
		regs, want := registrations{tx}, hash(token)
		id := ""
		if err := each(tx.Bucket(bucketProgress), func(k []byte, p progress) error {
			if bytes.Equal(p.Token, want) {
				id = string(k)
			}
			return nil
		}); err != nil || id == "" {
			return err
		}
		reg, _, ok, err := regs.byID(id)
		if err != nil || !ok || reg.Pending && time.Since(reg.Asked) > confirmWithin {
			return err
		}
		found, reg.Pending = true, false
		return regs.Put(reg)
	})
	return found && err == nil, err
}

// ServeHTTP shows a button to a GET, for programs that look into mails follow links, and takes the token from a POST. Confirming
// twice is no harm.
func (c *confirmations) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Robots-Tag", "noindex")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	r.Body = http.MaxBytesReader(w, r.Body, 4<<10)
	token := r.FormValue("token")
	switch r.Method {
	case http.MethodGet:
		fmt.Fprintf(w, "<!DOCTYPE html>\n<title>RUP</title>\n<form method=post>\n<p>Mail reports of what changes at %s?\n"+
			"<input type=hidden name=token value=\"%s\">\n<button>Yes</button>\n</form>\n", html.EscapeString(c.site), html.EscapeString(token))
	case http.MethodPost:
		found, err := c.answer(token)
		switch {
		case err != nil:
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintln(w, "<!DOCTYPE html>\n<title>RUP</title>\n<p>Something went wrong here; later, please.")
		case !found:
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintln(w, "<!DOCTYPE html>\n<title>RUP</title>\n<p>There is no such registration, or the question was put more than two days ago: register anew.")
		default:
			fmt.Fprintln(w, "<!DOCTYPE html>\n<title>RUP</title>\n<p>Confirmed. Reports will be mailed.")
		}
	default:
		w.Header().Set("Allow", "GET, POST")
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

func hash(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}
