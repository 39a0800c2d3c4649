package service

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/queue"
)

// demoPasswords stand in deploy/compose.cluster.yaml, where everybody can read them.
var demoPasswords = []string{"demo-fetcher", "demo-frontier", "demo-indexer", "demo-operator", "demo-route"}

// ErrDemoPassword says that a crawl that reaches the public web was started with one of the demo's
// passwords. Everybody knows them, and could send the crawler wherever they like.
var ErrDemoPassword = errors.New(`the NATS password is the one of the demo, which everyone can read in deploy/compose.cluster.yaml;
with it a crawl must have no --contact, and so reaches private addresses only. Make passwords of your own:
    deploy/make-credentials
and start all again with them, nothing is lost: the command that you brought it up with, for example
    SEED=https://docs.example.org/ CONTACT=me@example.org docker-compose -f deploy/compose.cluster.yaml up -d`)

// CheckPassword returns ErrDemoPassword when the crawl may reach public addresses, which it may
// when it has a contact, and o connects with a password of the demo.
func CheckPassword(spec crawl.Spec, o queue.Options) error {
	// without a URL the server is our own, and nobody knows its password
	if spec.Contact == "" || o.URL == "" {
		return nil
	}
	if slices.Contains(demoPasswords, o.Password) {
		return ErrDemoPassword
	}
	// a server's address may hold a user and password
	for server := range strings.SplitSeq(o.URL, ",") {
		if server = strings.TrimSpace(server); !strings.Contains(server, "://") {
			server = "nats://" + server // as it is read by who connects
		}
		if u, err := url.Parse(server); err == nil && u.User != nil {
			if p, _ := u.User.Password(); slices.Contains(demoPasswords, p) {
				return ErrDemoPassword
			}
		}
	}
	return nil
}
