package config

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
)

// CrawlShare is a crawl that a fetcher serves, and its weight against the other crawls.
type CrawlShare struct {
	Name   string
	Weight int
}

const (
	maxCrawls = 64 // of one fetcher: each crawl has its own connection and its own goroutines
	maxWeight = 1000
)

// parseCrawls reads a list of crawls with weights, such as docs=3,news. The weight is 1 if none is
// given.
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

// Shares returns the crawls that the fetcher serves. There is at least one.
func (c *Fetcher) Shares() []CrawlShare {
	all, err := parseCrawls(c.Crawl)
	if err != nil { // check has refused it
		return []CrawlShare{{c.Crawl, 1}}
	}
	return all
}

// crawlName returns why a name cannot be that of a crawl or of a process, or nil.
func crawlName(name string) error { return crawl.CheckName(name) }
