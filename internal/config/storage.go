package config

import "github.com/curtsy/curtsy/internal/hooks"

// CrawlLog says how much of the crawl log is kept by the process that writes it.
type CrawlLog struct {
	LogMax  Size `key:"log-max" group:"Output" usage:"start a new file of the crawl log after this ‹SIZE› (0: one file only)" example:"64MiB"`
	LogKeep int  `key:"log-keep" group:"Output" usage:"keep ‹N› full files of the crawl log" example:"8"`
}

func newCrawlLog() CrawlLog { return CrawlLog{LogMax: 64 << 20, LogKeep: 8} }

func (c CrawlLog) check(src *Source) error {
	switch {
	case c.LogMax != 0 && c.LogMax < 64<<10:
		return src.Refuse("log-max", "is under 64KiB; use for example 64MiB, or 0 for one file")
	case c.LogKeep < 0 || c.LogKeep > 1000:
		return src.Refuse("log-keep", "must be 0 to 1000; use for example 8")
	}
	return nil
}

// Disk says when a process that stores files pauses because the disk is almost full.
type Disk struct {
	MinFree Size `key:"min-free" group:"Limits" usage:"pause while less than this ‹SIZE› of disk space is free (0: 1GiB or 5 %, whichever is more)" example:"2GiB"`
}

func (d Disk) check(src *Source) error {
	if d.MinFree < 0 {
		return src.Refuse("min-free", "is negative; use for example 2GiB, or 0 for 1GiB or 5 % of the disk")
	}
	return nil
}

// Hooks are what is called when a crawl ends, or needs attention.
type Hooks struct {
	OnDone    string `key:"on-done" group:"Output" usage:"when the crawl has ended, run this ‹COMMAND› with a JSON report on its input, or send the report to this URL" example:"/usr/local/bin/notify"`
	OnProblem string `key:"on-problem" group:"Output" usage:"the same ‹COMMAND› or URL for each problem, once: paused, disk full, a seed lost, a host postponed for a day, a feed that lags" example:"https://example.org/hooks/crawl"`
}

func (h Hooks) check(src *Source) error {
	for key, hook := range map[string]string{"on-done": h.OnDone, "on-problem": h.OnProblem} {
		if problem := hooks.Problem(hook); problem != "" {
			return src.refuseSecretly(key, problem) // a URL may contain a token
		}
	}
	return nil
}
