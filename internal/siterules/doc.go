// Package siterules reads files of site rules: what an operator wants of single sites. It checks
// them, finds the rules of a URL, and reads fields and content of a page by them.
//
// A file is YAML:
//
//	sites:
//	  docs.example.org:                     # a host
//	    include: ["/docs/**"]               # globs of paths; /…/ is a regular expression
//	    delay: 5s
//	    fields:
//	      version: {path: '^/docs/(\d+)/', type: number}
//	      kind: {css: "div.titlepage h2", type: keyword, default: page}
//	    content: {main: ["#docContent"], drop: [".banner", "a.headerlink"]}
//	    skip:
//	      - {css: "body.error404"}
//	  "*.example.org":                      # all names below it
//	    max-depth: 3
//	  docs.example.org/api/:                # a prefix of URLs
//	    skip: [{meta: robots-kind, matches: "^stub"}]
//
// Each setting of a URL comes from the most specific entry that has it: a longer prefix before a
// shorter one, a host before a pattern, a longer pattern before a shorter one. Fields are taken one
// by one, by name. The delay is the largest of all entries that match.
package siterules
