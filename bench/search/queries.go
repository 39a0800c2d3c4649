package main

import (
	"crypto/md5"
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

//go:embed queries/*.tsv
var queryFiles embed.FS

// A query is what a person types, and the pages that the person wants.
type query struct {
	manual  manual
	class   string // what kind of query it is, if its file has classes
	text    string
	wanted  []string // paths in the manual, from its root
	anchors []string // paths with #id, of sections that answer the query
}

// aside reports whether a query belongs to the half that is not used for tuning. A hash of its text
// decides, so that the choice is not arbitrary; MD5 because it is short and mixes well, not for
// security.
func (q query) aside() bool {
	sum := md5.Sum([]byte(q.text))
	return sum[0]&1 == 1
}

// rank returns the place of the first wanted hit among the first ten, from 1, or 0, and whether the
// hit names a wanted section. one maps places of pages with the same text to one of them.
func (q query) rank(hits []hit, one func(string) string) (rank int, named bool) {
	for i, h := range hits[:min(len(hits), 10)] {
		for _, raw := range h.urls {
			for _, w := range q.wanted {
				if one(place(raw)) == one(q.manual.host()+w) {
					return i + 1, q.names(h.section, one)
				}
			}
		}
	}
	return 0, false
}

// names reports whether the address of a section is one that answers the query.
func (q query) names(section string, one func(string) string) bool {
	page, id, _ := strings.Cut(section, "#")
	return slices.ContainsFunc(q.anchors, func(a string) bool {
		path, want, _ := strings.Cut(a, "#")
		return id == want && one(place(page)) == one(q.manual.host()+path)
	})
}

// part matches the language in the first directory of a wanted path, as in /fr/howto/auth.html.
var part = regexp.MustCompile(`^/(?:gnucash-[a-z]+-)?([a-z]{2})(?:-[A-Za-z]{2})?/`)

// reader returns the language of the person who asks: that of the wanted page, as far as the path
// or the name of the manual has it, or else English.
func (q query) reader() string {
	if m := part.FindStringSubmatch(q.wanted[0]); m != nil {
		return m[1]
	}
	for _, lang := range []string{"de", "es", "fr"} {
		if strings.HasSuffix(q.manual.name, "-"+lang) {
			return lang
		}
	}
	return "en"
}

// load reads the queries of a manual.
func load(m manual) (qs []query, err error) {
	name := "queries/" + m.name + ".tsv"
	b, err := queryFiles.ReadFile(name)
	if err != nil {
		return nil, err
	}
	class := ""
	for i, line := range strings.Split(strings.TrimSuffix(string(b), "\n"), "\n") {
		f := strings.Split(line, "\t")
		switch {
		case len(f) == 1 && strings.HasPrefix(line, "#"):
		case len(f) == 1 && strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]"):
			class = strings.Trim(line, "[]")
		case len(f) < 2 || len(f) > 4 || strings.TrimSpace(f[0]) == "":
			return nil, fmt.Errorf("%s:%d: want a query and one to three paths, with tabs between", name, i+1)
		default:
			q := query{manual: m, class: class, text: f[0]}
			for _, w := range f[1:] {
				path, _, anchored := strings.Cut(w, "#")
				if q.wanted = append(q.wanted, path); anchored {
					q.anchors = append(q.anchors, w)
				}
			}
			qs = append(qs, q)
		}
	}
	return qs, nil
}
