package control

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/control"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/webtext"
	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
)

// someHosts accepts at least one host.
func someHosts(_ *cobra.Command, args []string) error {
	_, err := retryHosts(args)
	return err
}

// retryHosts reads host names; a URL stands for its host.
func retryHosts(args []string) (hosts []string, err error) {
	if len(args) == 0 {
		return nil, app.Usage("curtsy retry needs a host; use for example: curtsy retry docs.example.org")
	}
	for _, arg := range args {
		h, err := app.TypedHost(arg)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(hosts, string(h)) {
			hosts = append(hosts, string(h))
		}
	}
	return hosts, nil
}

// retry has hosts tried again that the crawl knows, and reports when each is.
func retry(ctx context.Context, t target, args []string) (string, error) {
	hosts, err := retryHosts(args)
	if err != nil {
		return "", err
	}
	done, err := control.Retry(ctx, t.Crawl, app.Me(), hosts)
	if err != nil {
		return "", err
	}
	after := ""
	if t.stopped {
		after = " when the crawl is resumed: curtsy crawl --dir " + webtext.ShellWord(t.cfg.Dir)
	}
	var lines []string
	err = t.HostsNamed(ctx, hosts, func(h crawl.HostInfo) error {
		when := after
		if when == "" && h.Queued > 0 && h.NextDue != nil && time.Until(*h.NextDue) > time.Minute {
			when = strings.TrimSuffix(fmt.Sprintf(", from %s on: %s", h.NextDue.Local().Format(time.DateTime), term.Clean(h.Reason)), ": ")
		}
		lines = append(lines, fmt.Sprintf("%s is tried again%s (%s queued)", h.Host, when, humanize.Comma(h.Queued)))
		return nil
	})
	if err != nil { // the hosts are tried again all the same
		lines = append(lines, done)
	}
	return strings.Join(lines, "\n"), nil
}
