package main

import (
	"fmt"
	"strings"

	"github.com/temoto/robotstxt"

	"github.com/curtsy/curtsy/pkg/robots"
)

const agent = "curtsy"

var origin = robots.Origin{Scheme: "https", Host: "www.example.org", Port: 443}

// comparison is one task of both libraries.
type comparison struct {
	name         string
	ours, theirs func()
	agree        func() error // both return the same answers
}

// cases are those of issue 3: parsing files until they can be queried, and queries. Our parser
// leaves the choice of a robot's rules to File.Rules and theirs leaves finding its group to
// FindGroup, so both are part of parsing.
func cases() []comparison {
	return []comparison{
		reading("parse a typical file, 2 KiB", typical(2<<10)),
		reading("parse a large file, 500 KiB", typical(500<<10)),
		matching("match 10 paths against 50 rules", fiftyRules(), shopPaths()),
		matching("match a path against wildcards", wildcards(1), []string{longPath}),
		matching("the same, 50 such rules", wildcards(50), []string{longPath}),
		reading("parse those 50 rules", wildcards(50)),
	}
}

func reading(name string, body []byte) comparison {
	return comparison{
		name:   name,
		ours:   func() { robots.Parse(body).Rules(agent, origin) },
		theirs: func() { mustParse(body).FindGroup(agent) },
		agree:  func() error { return sameAnswers(name, body, shopPaths()) },
	}
}

func matching(name string, body []byte, paths []string) comparison {
	r, g := robots.Parse(body).Rules(agent, origin), mustParse(body).FindGroup(agent)
	return comparison{
		name: name,
		ours: func() {
			for _, p := range paths {
				r.Match(p)
			}
		},
		theirs: func() {
			for _, p := range paths {
				g.Test(p)
			}
		},
		agree: func() error { return sameAnswers(name, body, paths) },
	}
}

func mustParse(body []byte) *robotstxt.RobotsData {
	d, err := robotstxt.FromBytes(body)
	if err != nil {
		panic(err) // the files are ours, and correct
	}
	return d
}

// sameAnswers reports a path for which the two libraries disagree: then their times would not be
// comparable.
func sameAnswers(name string, body []byte, paths []string) error {
	r, g := robots.Parse(body).Rules(agent, origin), mustParse(body).FindGroup(agent)
	for _, p := range paths {
		if a, b := r.Match(p).Allowed, g.Test(p); a != b {
			return fmt.Errorf("%s: %.60s is allowed: %t by us, %t by them", name, p, a, b)
		}
	}
	return nil
}

// typical returns about size bytes of what shops and forums write: groups for a few robots,
// comments, plain paths, some patterns, a sitemap.
func typical(size int) []byte {
	var b strings.Builder
	b.WriteString("# robots.txt for www.example.org\nUser-agent: BadBot\nUser-agent: WorseBot\nDisallow: /\n\n" +
		"User-agent: *\nCrawl-delay: 2\n")
	for i := 0; b.Len() < size-48; i++ {
		switch i % 8 {
		case 0:
			fmt.Fprintf(&b, "\nDisallow: /*?sort%d=\n", i)
		case 1:
			fmt.Fprintf(&b, "Allow: /shop/%d/open$\n", i)
		case 2:
			b.WriteString("# not for robots\n")
		default:
			fmt.Fprintf(&b, "Disallow: /shop/%d/cart\n", i*7919%100_000)
		}
	}
	b.WriteString("Sitemap: https://www.example.org/sitemap.xml\n")
	return []byte(b.String())
}

// fiftyRules is a file of exactly 50 rules: 40 plain paths, 10 with "*" or "$".
func fiftyRules() []byte {
	var b strings.Builder
	b.WriteString("User-agent: *\n")
	for i := range 40 {
		fmt.Fprintf(&b, "%s: /shop/%d/%s\n", []string{"Disallow", "Disallow", "Disallow", "Allow"}[i%4], i, []string{"cart", "print/"}[i%2])
	}
	for i := range 10 {
		b.WriteString([]string{"Disallow: /*?sort", "Disallow: /*.pdf", "Disallow: /shop/*/draft", "Disallow: /feed", "Disallow: /user/*/edit"}[i%5])
		fmt.Fprintf(&b, "%d%s\n", i, []string{"=", "$"}[i%2])
	}
	return []byte(b.String())
}

// shopPaths are paths on such a site: most of them allowed, some forbidden, some matching a
// wildcard.
func shopPaths() []string {
	return []string{
		"/", "/shop/7/item-4711.html", "/shop/8/cart", "/shop/23/print/page.html", "/about/us.html", "/shop/99999/cart?step=2",
		"/list?page=2&sort0=price", "/docs/manual/chapter-12/section-3.html", "/shop/12/draft2", "/user/anna/edit9",
	}
}

// wildcards has n patterns of 50 stars that almost match longPath: only the last octet is missing.
// A matcher that backtracks at every star would never finish.
func wildcards(n int) []byte {
	var b strings.Builder
	b.WriteString("User-agent: *\n")
	for i := range n {
		fmt.Fprintf(&b, "Disallow: /%sb%d\n", strings.Repeat("a*", 50), i)
	}
	return []byte(b.String())
}

var longPath = "/" + strings.Repeat("a", 2000)
