package config

import (
	"fmt"
	"strconv"
	"strings"
)

// CrawlShare is one of the crawls that a fetcher serves, and its weight beside the others.
type CrawlShare struct {
	Name   string
	Weight int
}

const (
	maxCrawls = 64 // that one fetcher serves: each has a connection, and takers, of its own
	maxWeight = 1000
)

// parseCrawls reads a list such as docs=3,news: crawls, each with its weight, which is 1 unless it
// says another.
func parseCrawls(list string) (all []CrawlShare, err error) {
	seen := map[string]bool{}
	for _, text := range strings.Split(list, ",") {
		name, weight, weighted := strings.Cut(strings.TrimSpace(text), "=")
		s := CrawlShare{name, 1}
		if weighted {
			if s.Weight, err = strconv.Atoi(weight); err != nil || s.Weight < 1 || s.Weight > maxWeight {
				return nil, fmt.Errorf("has the weight %q, which is not 1 to %d; use for example docs=3,news", weight, maxWeight)
			}
		}
		switch {
		case crawlName(name) != nil:
			return nil, fmt.Errorf("has %q, which cannot name a crawl; use for example docs, or docs=3,news", name)
		case seen[name]:
			return nil, fmt.Errorf("names %s twice; use for example docs=3,news", name)
		case len(all) == maxCrawls:
			return nil, fmt.Errorf("names more than %d crawls; run another fetcher for the others", maxCrawls)
		}
		seen[name] = true
		all = append(all, s)
	}
	return all, nil
}

// Shares are the crawls that the fetcher serves: one at least.
func (c *Fetcher) Shares() []CrawlShare {
	all, err := parseCrawls(c.Crawl)
	if err != nil { // check refuses that
		return []CrawlShare{{c.Crawl, 1}}
	}
	return all
}
