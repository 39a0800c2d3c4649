package app

import (
	"fmt"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/fetcher"
)

// RequestTime is how long a command may take that sends requests. A Crawl-delay can be long.
const RequestTime = 15 * time.Minute

// RequesterOptions are the settings of a command that sends requests.
type RequesterOptions struct {
	Sign         config.Sign
	Access       config.SiteAccess
	Contact      string
	AllowPrivate bool
	Resolve      []string
}

// Requester makes what sends the requests of a command. It prints on the standard error what delays
// or refuses them.
func (a *App) Requester(o RequesterOptions) (*fetcher.Manual, error) {
	signer, err := o.Sign.Signer()
	if err != nil {
		return nil, err
	}
	shown, err := o.Access.Shown()
	if err != nil {
		return nil, err
	}
	through, err := o.Access.Through(shown)
	if err != nil {
		return nil, err
	}
	word := func(text string) { fmt.Fprintln(a.Stderr, "curtsy:", term.Clean(text)) }
	PrintProxy(o.Access, word)
	m, err := fetcher.NewManual(fetcher.ManualOptions{
		Signer: signer, Credentials: shown, Proxy: through, Word: word, Contact: o.Contact, AllowPrivate: o.AllowPrivate, Resolve: o.Resolve, Dial: a.Dial,
		Waiting: func(host string, wait time.Duration) {
			fmt.Fprintf(a.Stderr, "waiting %v before the next request to %s\n", wait.Round(100*time.Millisecond), term.Clean(host))
		},
	})
	if err != nil {
		return nil, Usage("%v", err)
	}
	return m, nil
}
