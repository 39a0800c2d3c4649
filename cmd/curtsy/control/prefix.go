package control

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
)

// leaving describes what a crawl has of an entry that is to be forgotten. If it has nothing, the
// error names similar hosts, or a command that lists all hosts of the crawl that about selects.
func leaving(ctx context.Context, from *asker.Crawl, entry, about string) (string, error) {
	known, err := from.CountPrefix(ctx, entry)
	if err != nil {
		return "", err
	}
	gone, datasets := crawl.NewForgotten([]string{entry}), int64(0)
	err = from.Datasets(ctx, func(d crawl.DatasetInfo) error {
		if len(d.Sources) > 0 && !slices.ContainsFunc(d.Sources, func(s crawl.DatasetSource) bool { return !gone.HasText(s.Document) }) {
			datasets++
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	if known == (crawl.PrefixCount{}) && datasets == 0 {
		return "", nothingOf(ctx, from, entry, about)
	}
	return fmt.Sprintf("%s, %s, %s", term.Count(known.URLs, "URL"), term.Count(known.Pages, "page"), term.Count(datasets, "dataset")), nil
}

// nearMost is how many hosts are suggested in place of an unknown one.
const nearMost = 5

// nothingOf is the error for an entry (a host or a prefix) under which a crawl knows no URL.
func nothingOf(ctx context.Context, from *asker.Crawl, entry, about string) error {
	host := string(crawl.EntryHost(entry))
	var names []string
	err := questions.Hosts.Each(ctx, from, nil, func(h crawl.HostInfo) error {
		if h.Host == host || related(host, h.Host) {
			names = append(names, h.Host)
		}
		return nil
	})
	if err != nil {
		return err
	}
	advice := "to list all hosts: curtsy hosts" + about
	if slices.Contains(names, host) {
		advice = "the crawl knows other URLs of " + host
	} else if len(names) > 0 {
		slices.SortFunc(names, func(a, b string) int {
			return cmp.Or(cmp.Compare(config.Distance(host, a), config.Distance(host, b)), strings.Compare(a, b))
		})
		advice = "the crawl knows " + strings.Join(names[:min(len(names), nearMost)], ", ")
	}
	return fmt.Errorf("the crawl has nothing of %s, so nothing was removed; %s; to exclude URLs that are not found yet, use curtsy crawl --exclude REGEXP", entry, advice)
}

// related reports whether a person who typed one host may have meant another: one of the same
// domain, or one with a similar spelling.
func related(typed, known string) bool {
	if d, err := publicsuffix.EffectiveTLDPlusOne(typed); err == nil && (known == d || strings.HasSuffix(known, "."+d)) {
		return true
	}
	if n := len(known) - len(typed); n > 2 || n < -2 {
		return false
	}
	return config.Distance(typed, known) <= 2
}
