package check

import (
	"fmt"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/fetcher"
)

// byHand is how long a command may take that sends requests. A Crawl-delay can be long.
const byHand = 15 * time.Minute

// requesterOptions are the settings of a command that sends requests.
type requesterOptions struct {
	sign         config.Sign
	access       config.SiteAccess
	contact      string
	allowPrivate bool
	resolve      []string
}

// requester makes what sends the requests of a command. It prints on the standard error what delays
// or refuses them.
func requester(a *app.App, o requesterOptions) (*fetcher.Manual, error) {
	signer, err := o.sign.Signer()
	if err != nil {
		return nil, err
	}
	shown, err := o.access.Shown()
	if err != nil {
		return nil, err
	}
	through, err := o.access.Through(shown)
	if err != nil {
		return nil, err
	}
	word := func(text string) { fmt.Fprintln(a.Stderr, "curtsy:", term.Clean(text)) }
	app.PrintProxy(o.access, word)
	m, err := fetcher.NewManual(fetcher.ManualOptions{
		Signer: signer, Credentials: shown, Proxy: through, Word: word, Contact: o.contact, AllowPrivate: o.allowPrivate, Resolve: o.resolve, Dial: a.Dial,
		Waiting: func(host string, wait time.Duration) {
			fmt.Fprintf(a.Stderr, "waiting %v before the next request to %s\n", wait.Round(100*time.Millisecond), term.Clean(host))
		},
	})
	if err != nil {
		return nil, app.Usage("%v", err)
	}
	return m, nil
}
