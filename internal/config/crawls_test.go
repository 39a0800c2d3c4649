package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestCrawlsOfAFetcher(t *testing.T) {
	many := func(n int) string {
		var names []string
		for i := range n {
			names = append(names, fmt.Sprint("c", i))
		}
		return strings.Join(names, ",")
	}
	for list, want := range map[string][]CrawlShare{
		"docs": {{"docs", 1}}, "docs,news": {{"docs", 1}, {"news", 1}}, "docs=3, news=1000": {{"docs", 3}, {"news", 1000}},
		many(maxCrawls): nil,
	} {
		c := NewFetcher()
		_, err := load(t, c, "--nats", "nats://n1", "--crawl", list)
		if got := c.Shares(); err != nil || want != nil && !slices.Equal(got, want) || want == nil && len(got) != maxCrawls || c.Crawl != list {
			t.Errorf("%s: %v, %v", list, got, err)
		}
	}
	for _, list := range []string{"", "docs,", "docs,docs", "docs=0", "docs=1001", "docs=", "docs=much", "*", "a b", "docs=1=2", many(maxCrawls + 1)} {
		if _, err := load(t, NewFetcher(), "--nats", "nats://n1", "--crawl", list); err == nil || !strings.Contains(err.Error(), "crawl") {
			t.Errorf("%q: %v", list, err)
		}
	}
	if _, err := load(t, NewFetcher(), "--nats", "nats://n1", "--crawl", "docs,news", "--credentials", "/nowhere.yaml"); err == nil || !strings.Contains(err.Error(), "separate fetcher") {
		t.Errorf("credentials for several crawls: %v", err)
	}
	if _, err := load(t, NewFrontier(), "--nats", "nats://n1", "--crawl", "docs,news"); err == nil {
		t.Error("a frontier takes several crawls")
	}
}

func FuzzCrawls(f *testing.F) {
	f.Add("docs=3,news")
	f.Fuzz(func(t *testing.T, list string) {
		all, err := parseCrawls(list)
		if err != nil {
			return
		}
		if len(all) == 0 || len(all) > maxCrawls {
			t.Fatalf("%d crawls of %q", len(all), list)
		}
		for _, s := range all {
			if crawlName(s.Name) != nil || s.Weight < 1 || s.Weight > maxWeight {
				t.Errorf("%+v of %q", s, list)
			}
		}
	})
}
