package settings

import "github.com/curtsy/curtsy/internal/crawl"

var accessSettings = []Setting{
	{
		Name: "allow-private", Group: "Access", Common: true,
		Usage:   "connect to private and loopback addresses too",
		Doc:     "Connect to private and loopback addresses too. Link-local and metadata addresses are never used.",
		Decides: Refusals,
		value:   field[bool]{at: func(s *crawl.Spec) *bool { return &s.AllowPrivate }},
	},
	{
		Name: "resolve", Group: "Access",
		Usage:   "connect to ADDR for HOST, given as ‹HOST=ADDR›; *.suffix is allowed (repeatable)",
		Example: "docs.test=127.0.0.1:8080",
		Doc:     "Addresses of hosts, instead of DNS: HOST=ADDR or *.suffix=ADDR, ADDR with or without a port.",
		Decides: Refusals,
		value:   field[[]string]{at: func(s *crawl.Spec) *[]string { return &s.Resolve }, check: checkResolve},
	},
	{
		Name: "shards", Group: "Cluster", Fixed: true, NotPlanned: true,
		Usage:   "divide a new crawl into ‹N› shards; this cannot be changed later (0: 4 embedded, 16 with --nats)",
		Example: "16",
		Doc:     "Number of shards of a new crawl, which cannot be changed later. 0: 4 with the embedded server, 16 with nats.",
		value: field[int]{at: func(s *crawl.Spec) *int { return &s.Shards }, check: func(n int) string {
			if n < 0 || n > crawl.MaxShards {
				return "must be 1 to 256, or 0 for the default; use for example 16"
			}
			return ""
		}},
	},
}
