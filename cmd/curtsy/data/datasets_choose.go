package data

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/catalog"
	"github.com/curtsy/curtsy/internal/crawl"
)

// leastPrefix is the shortest beginning of an ID that is accepted.
const leastPrefix = 4

// choose finds datasets by their IDs, each once and in the order of the IDs. All of them must exist
// and have an accepted licence.
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
			return nil, missing // the dataset may be in a shard that does not answer
		case len(found[i]) == 0 && named[i] != "":
			return nil, app.Usage("no dataset has the ID %q; the dataset of that name has the ID %s", id, named[i])
		case len(found[i]) == 0:
			return nil, app.Usage("no dataset has the ID %q; to list all datasets: curtsy datasets%s", id, w.about)
		case len(found[i]) > 1:
			return nil, app.Usage("%q is the beginning of several IDs; type more characters:%s", id, listed(found[i]))
		}
		d := found[i][0]
		if !catalog.Licensed(&d, w.licenses) && d.SPDX != nil && !d.LicenseByHost {
			return nil, fmt.Errorf("only %[3]s states that %[1]s is under %[2]s, and --license accepts what the host of the files states; leave --license out, or use --license unknown",
				d.ID, *d.SPDX, cmp.Or(d.Provenance["license"], d.Origin))
		}
		if !catalog.Licensed(&d, w.licenses) {
			return nil, fmt.Errorf("%s is under %s, which --license %s excludes", d.ID, spelled(&d), strings.Join(w.licenses, ","))
		}
		if !seen[d.ID] {
			seen[d.ID] = true
			chosen = append(chosen, d)
		}
	}
	return chosen, nil
}

// spelled is a licence as an error shows it.
func spelled(d *crawl.DatasetInfo) string {
	switch l := licenseOf(d); {
	case d.SPDX != nil:
		return l
	case l != "":
		return fmt.Sprintf("an unknown licence (%.100q)", l)
	}
	return "no stated licence"
}

func listed(all []crawl.DatasetInfo) string {
	var b strings.Builder
	for i, d := range all {
		if i == 10 {
			fmt.Fprintf(&b, "\n  and %d more", len(all)-i)
			break
		}
		fmt.Fprintf(&b, "\n  %s  %s", d.ID, term.Short(term.Clean(d.Title+" "+d.Name), 60))
	}
	return b.String()
}
