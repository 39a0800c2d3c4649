// Package siterules reads files of site rules: what an operator wants of single sites. It checks
// them, finds the rules of a URL, and reads fields and content of a page by them.
//
// A file is YAML:
//
//	sites:
//	  docs.example.org:                     # a host
//	    include: ["/docs/**"]               # globs of paths; "re:…" is a regular expression
//	    delay: 5s
//	    fields:
//	      version: {path: '^/docs/(\d+)/', type: number}
//	      kind: {css: "div.titlepage h2", type: keyword, default: page}
//	    content: {main: ["#docContent"], drop: [".banner", "a.headerlink"]}
//	    skip:
//	      - {css: "body.error404"}
//	  "*.example.org":                      # this name and all names below it
//	    max-depth: 3
//	  docs.example.org/api/:                # a prefix of URLs
//	    skip: [{meta: robots-kind, matches: "^stub"}]
//
// An entry is a host, a pattern of hosts, or one of them with a path. A path ends where a folder
// does: docs.example.org/api is about /api and /api/x, not about /apiary. A scheme or a port before
// or behind the host restricts the entry to it.
//
// Each setting of a URL comes from the most specific entry that has it: a host before a pattern, a
// longer pattern before a shorter one, and then a longer path before a shorter one. Fields are
// taken one by one, by name, and so are the parts of content. The delay is the largest of all
// entries that match.
//
// In a glob, "*" is anything but a slash, and "**" anything. A glob with
// a "?" is compared with the path and the query, another one with the path alone. A regular
// expression is compared with the path and the query, and may match any part of them.
//
// The files of the package:
//
//   - parse.go reads a file: key.go the names of entries, fields.go, source.go and conditions.go
//     what is below them, globs.go include and exclude; package rulefile reads single values
//   - rules.go finds the entries of a URL and merges them
//   - read.go and content.go apply them to a page: dom.go makes its tree, selector.go, xpath.go and
//     jsonld.go look into it, values.go brings values into their form
package siterules
