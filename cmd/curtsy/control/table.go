package control

import (
	"context"
	"strings"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/control"
	"github.com/spf13/cobra"
)

// actions is the table of what an operator can do to a crawl with the name of a crawl alone, or
// with that of a host, a URL or a site in it. Actions with settings of their own (set, seed,
// forget, reindex) have a file each.
var actions = []action{
	{
		use: "stop", short: "Stop a running crawl; the same crawl command resumes it", args: app.NoArgs, example: twoExamples("stop"),
		do: stop,
	}, {
		use: "pause", short: "Pause a running crawl until curtsy resume", args: app.NoArgs, example: twoExamples("pause"),
		do: func(ctx context.Context, t target, _ []string) (string, error) {
			return control.Pause(ctx, t.Crawl, app.Me())
		},
	}, {
		use: "resume", short: "Continue a paused crawl", args: app.NoArgs, example: twoExamples("resume"),
		do: func(ctx context.Context, t target, _ []string) (string, error) {
			return control.Resume(ctx, t.Crawl, app.Me())
		},
	}, {
		use:   "refetch URL",
		short: "Fetch a URL again",
		long: `Fetch a URL again that the crawl knows, whatever its state is. It is queued with its host, and
the delay and order of that host do not change. The stored copy stays until the new one is stored.
A crawl that is not running fetches the URL when it is resumed.`,
		example: "  curtsy refetch https://docs.example.org/changes.html",
		args:    app.OneURL, check: app.IsURL, stopped: true,
		do: func(ctx context.Context, t target, args []string) (string, error) {
			return control.Refetch(ctx, t.Crawl, app.Me(), args[0])
		},
	}, {
		use:   "retry HOST...",
		short: "Try hosts again that could not be reached",
		long: `Try hosts again that could not be reached, without waiting for the end of their back-off: their
robots.txt is requested again, and URLs that failed for a temporary reason (dns, connect, tls,
timeout, 5xx and the like) are queued again. The delay between requests stays the same, and
Retry-After of a server is obeyed. A crawl that is not running tries them when it is resumed.`,
		example: `  curtsy retry docs.example.org
  curtsy retry --nats nats://127.0.0.1:4222 --crawl docs docs.example.org www.example.org`,
		args: someHosts, stopped: true,
		do: retry,
	}, {
		under: "host",
		use:   "pause HOST",
		short: "Send no request to a host until it is resumed",
		long: `Send no request to a host until curtsy host resume. A running visit ends before its next
request. The URLs of the host stay queued, and a crawl with such URLs does not end.`,
		example: "  curtsy host pause docs.example.org",
		args:    app.OneHost, check: app.IsHost, stopped: true,
		do: func(ctx context.Context, t target, args []string) (string, error) {
			return control.PauseHost(ctx, t.Crawl, app.Me(), args[0])
		},
	}, {
		under: "host",
		use:   "resume HOST", short: "Continue with a paused host", example: "  curtsy host resume docs.example.org",
		args: app.OneHost, check: app.IsHost, stopped: true,
		do: func(ctx context.Context, t target, args []string) (string, error) {
			return control.ResumeHost(ctx, t.Crawl, app.Me(), args[0])
		},
	}, {
		under: "host",
		use:   "delay HOST DURATION",
		short: "Set the least time between requests to a host",
		long: `Set the least time between the end of a response of a host and the next request to it: 5s,
2m, at most 10m; 0 removes the setting. A longer delay that the site demands, that --delay sets or
that errors have caused stays in force.`,
		example: "  curtsy host delay docs.example.org 5s",
		args:    hostAndTime, check: isHostAndTime, stopped: true,
		do: func(ctx context.Context, t target, args []string) (string, error) {
			d, err := time.ParseDuration(args[1])
			if err != nil {
				return "", err
			}
			return control.DelayHost(ctx, t.Crawl, app.Me(), args[0], d)
		},
	}, {
		under: "updates",
		use:   "unregister SITE",
		short: "Ignore the reports of a site, in a running crawl",
		long: `Ignore the reports of a site. A registration there is ended as soon as the delay of the site
allows it, and the site is not queried any more. Its pages are then fetched again like those of any
other site. --undo accepts reports again.`,
		example: "  curtsy updates unregister https://docs.example.org/\n  curtsy updates unregister --undo https://docs.example.org/",
		args:    oneSite, undo: "accept the reports of the site again",
		do: unregister,
	}, {
		under:   "updates",
		use:     "prefer SITE " + strings.Join(latencies, "|"),
		short:   "Set how often a site reports, in a running crawl",
		long:    `Set how often a site reports its changes. It has an effect if the site offers that interval. With any, --updates-latency decides, as for all sites.`,
		example: "  curtsy updates prefer https://docs.example.org/ week",
		args:    siteAndLatency, words: latencies,
		do: prefer,
	},
}

// twoExamples are the examples of an action that needs no arguments.
func twoExamples(name string) string {
	return "  curtsy " + name + "\n  curtsy " + name + " --nats nats://127.0.0.1:4222 --crawl docs"
}

// hostAndTime accepts a host and a time. It only counts; isHostAndTime checks them.
func hostAndTime(_ *cobra.Command, args []string) error {
	if len(args) != 2 {
		return app.Usage("curtsy host delay needs a host and a time, for example: curtsy host delay docs.example.org 5s")
	}
	return nil
}

func isHostAndTime(cmd *cobra.Command, args []string) error {
	if _, err := time.ParseDuration(args[1]); err != nil {
		return app.Usage("%q is not a time with its unit (ms, s, m); use for example 5s or 500ms", args[1])
	}
	return app.IsHost(cmd, args)
}
