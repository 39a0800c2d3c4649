package service

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/queue"
)

// demoPasswords are in deploy/compose.cluster.yaml, which everybody can read.
var demoPasswords = []string{"demo-feeder", "demo-fetcher", "demo-frontier", "demo-indexer", "demo-operator", "demo-renderer", "demo-route"}

// ErrDemoPassword says that a crawl of the public web uses a password of the demo. Everybody knows
// these passwords and could control the crawler.
var ErrDemoPassword = errors.New(`the NATS password is the one of the demo, which everyone can read in deploy/compose.cluster.yaml;
with it a crawl must have no --contact, and so reaches private addresses only. Make passwords of your own:
    deploy/make-credentials
and start all again with them, nothing is lost: the command that you brought it up with, for example
    SEED=https://docs.example.org/ CONTACT=me@example.org docker-compose -f deploy/compose.cluster.yaml up -d`)

// CheckPassword returns ErrDemoPassword if the crawl may reach public addresses and o connects with
// a password of the demo. A crawl with a contact may reach them.
func CheckPassword(spec crawl.Spec, o queue.Options) error {
	// Without a URL the server is embedded, and nobody knows its password.
	if spec.Contact == "" || o.URL == "" {
		return nil
	}
	if slices.Contains(demoPasswords, o.Password) {
		return ErrDemoPassword
	}
	// The address of a server may contain a user and a password.
	for server := range strings.SplitSeq(o.URL, ",") {
		if server = strings.TrimSpace(server); !strings.Contains(server, "://") {
			server = "nats://" + server // as the NATS client reads it
		}
		if u, err := url.Parse(server); err == nil && u.User != nil {
			if p, _ := u.User.Password(); slices.Contains(demoPasswords, p) {
				return ErrDemoPassword
			}
		}
	}
	return nil
}
