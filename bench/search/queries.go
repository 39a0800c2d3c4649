package main

import (
	"crypto/md5"
	"embed"
	"fmt"
	"strings"
)

//go:embed queries/*.tsv
var queryFiles embed.FS

// A query is what a person types, and the pages that the person wants.
type query struct {
	manual manual
	text   string
	wanted []string // paths in the manual, from its root
}

// aside reports whether a query belongs to the half that is not used for tuning. A hash of its text
// decides, so that the choice is not arbitrary; MD5 because it is short and mixes well, not for
// security.
func (q query) aside() bool {
	sum := md5.Sum([]byte(q.text))
	return sum[0]&1 == 1
}

// rank returns the place of the first wanted hit among the first ten, from 1, or 0.
func (q query) rank(hits []hit) int {
	for i, h := range hits[:min(len(hits), 10)] {
		for _, raw := range h {
			for _, w := range q.wanted {
				if place(raw) == q.manual.host()+w {
					return i + 1
				}
			}
		}
	}
	return 0
}

// load reads the queries of a manual.
func load(m manual) (qs []query, err error) {
	name := "queries/" + m.name + ".tsv"
	b, err := queryFiles.ReadFile(name)
	if err != nil {
		return nil, err
	}
	for i, line := range strings.Split(strings.TrimSuffix(string(b), "\n"), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) < 2 || len(f) > 4 || strings.TrimSpace(f[0]) == "" {
			return nil, fmt.Errorf("%s:%d: want a query and one to three paths, with tabs between", name, i+1)
		}
		qs = append(qs, query{m, f[0], f[1:]})
	}
	return qs, nil
}
