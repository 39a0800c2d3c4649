package scope

import (
	"fmt"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/pkg/canon"
)

// maxNamed is how many parts of the web, and how many rules, Words lists.
const maxNamed = 3

// Words describes which URLs belong to a crawl: "docs.example.org and all other hosts of
// example.org, but nothing that matches [?]print=". It lists only a few of many. It also describes
// rules that New would refuse.
func Words(spec Spec) string {
	text := kindWords(spec)
	if len(spec.Include) > 0 {
		text += ", but besides the seeds only URLs that match " + some(spec.Include, "rules", " or ")
	}
	if len(spec.Exclude) > 0 {
		text += ", but no URL that matches " + some(spec.Exclude, "rules", " or ")
	}
	return text
}

func kindWords(spec Spec) string {
	seeds := slices.Clone(spec.Seeds)
	slices.Sort(seeds)
	seeds = slices.DeleteFunc(slices.Compact(seeds), func(u canon.URL) bool { return u.Host() == "" })
	if len(seeds) == 0 {
		return "nothing yet, because there is no seed"
	}
	s := &Scope{kind: spec.Kind}
	switch spec.Kind {
	case "page":
		return some(texts(seeds, canon.URL.String), "pages", " and ") + " only"
	case "prefix":
		return "all URLs below " + some(texts(seeds, s.name), "directories", " and ")
	case "host":
		hosts := texts(seeds, func(u canon.URL) string { return u.Host().String() })
		return some(hosts, "hosts", " and ") + " and no other host"
	case "subdomains":
		hosts := texts(seeds, func(u canon.URL) string { return u.Host().String() })
		return some(hosts, "hosts", " and ") + " and all subdomains"
	case "any":
		return "all hosts that links lead to, starting at " + some(texts(seeds, func(u canon.URL) string { return u.Host().String() }), "hosts", " and ")
	}
	if name, ok := strings.CutPrefix(spec.Kind, "*."); ok {
		return name + " and all subdomains"
	}
	of := map[string][]string{} // a registered domain → the hosts of its seeds
	for _, u := range seeds {
		d := u.Host().Registered()
		of[d] = append(of[d], u.Host().String())
	}
	return some(texts(seeds, func(u canon.URL) string { return domainWords(u.Host().Registered(), of) }), "domains", "; ")
}

// domainWords describes a domain: the hosts of its seeds, and all others.
func domainWords(domain string, of map[string][]string) string {
	hosts := slices.Compact(slices.Sorted(slices.Values(of[domain])))
	switch {
	case canon.Host(domain).IsIP(), !strings.Contains(domain, "."):
		return domain // it has no other hosts
	case slices.Contains(hosts, domain):
		return domain + " and all its hosts"
	}
	return some(hosts, "hosts", ", ") + " and all other hosts of " + domain
}

// texts returns the texts of f for the URLs in their order, each text once.
func texts(urls []canon.URL, f func(canon.URL) string) (list []string) {
	named := map[string]bool{}
	for _, u := range urls {
		if t := f(u); !named[t] {
			named[t] = true
			list = append(list, t)
		}
	}
	return list
}

// some lists the first of a list, and says how many more there are.
func some(list []string, what, between string) string {
	if len(list) <= maxNamed {
		if n := len(list) - 1; between == " and " && n > 1 {
			return strings.Join(list[:n], ", ") + between + list[n]
		}
		return strings.Join(list, between)
	}
	return fmt.Sprintf("%s and %d more %s", strings.Join(list[:maxNamed], ", "), len(list)-maxNamed, what)
}
