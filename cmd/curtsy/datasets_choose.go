package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/curtsy/curtsy/internal/catalog"
	"github.com/curtsy/curtsy/internal/crawl"
)

// leastPrefix is how much of an ID must be typed at least.
const leastPrefix = 4

// choose finds datasets by their IDs, in the order of the IDs, each once. All of them must be
// there, and under a licence that is wanted.
func (w *wanted) choose(ctx context.Context, from catalogue, ids []string) ([]crawl.DatasetInfo, error) {
	if err := w.check(); err != nil {
		return nil, err
	}
	found := make([][]crawl.DatasetInfo, len(ids))
	named := make([]string, len(ids)) // the ID of a dataset that is called so
	missing := from.Datasets(ctx, func(d crawl.DatasetInfo) error {
		for i, id := range ids {
			switch {
			case strings.EqualFold(d.ID, id):
				found[i] = []crawl.DatasetInfo{d}
			case len(id) >= leastPrefix && strings.HasPrefix(d.ID, strings.ToLower(id)) && (len(found[i]) == 0 || len(found[i][0].ID) != len(id)):
				found[i] = append(found[i], d)
			case named[i] == "" && (d.Name == id || d.Title == id):
				named[i] = d.ID
			}
		}
		return nil
	})
	var chosen []crawl.DatasetInfo
	seen := map[string]bool{}
	for i, id := range ids {
		switch {
		case len(found[i]) == 0 && missing != nil:
			return nil, missing // it may be where nobody answers
		case len(found[i]) == 0 && named[i] != "":
			return nil, usage("there is no dataset with the ID %q; one of that name has the ID %s", id, named[i])
		case len(found[i]) == 0:
			return nil, usage("there is no dataset with the ID %q; curtsy datasets lists those there are", id)
		case len(found[i]) > 1:
			return nil, usage("%q is the beginning of several IDs; type more of one of them:%s", id, listed(found[i]))
		}
		d := found[i][0]
		if !catalog.Licensed(&d, w.licenses) && d.SPDX != nil && !d.LicenseByHost {
			return nil, fmt.Errorf("%s is under %s by the word of %s alone, and --license goes by what the host of the files says; without it, or with --license unknown, you get them",
				d.ID, *d.SPDX, cmp.Or(d.Provenance["license"], d.Origin))
		}
		if !catalog.Licensed(&d, w.licenses) {
			return nil, fmt.Errorf("%s is under %s, which --license %s leaves out", d.ID, spelled(&d), strings.Join(w.licenses, ","))
		}
		if !seen[d.ID] {
			seen[d.ID] = true
			chosen = append(chosen, d)
		}
	}
	return chosen, nil
}

// spelled says a licence in an error.
func spelled(d *crawl.DatasetInfo) string {
	switch l := licenseOf(d); {
	case d.SPDX != nil:
		return l
	case l != "":
		return fmt.Sprintf("a licence that is none of the known ones (%.100q)", l)
	}
	return "no licence that it names"
}

func listed(all []crawl.DatasetInfo) string {
	var b strings.Builder
	for i, d := range all {
		if i == 10 {
			fmt.Fprintf(&b, "\n  and %d more", len(all)-i)
			break
		}
		fmt.Fprintf(&b, "\n  %s  %s", d.ID, short(clean(d.Title+" "+d.Name), 60))
	}
	return b.String()
}
