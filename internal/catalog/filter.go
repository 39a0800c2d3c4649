package catalog

import (
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
)

// UnknownLicense is what Licensed calls a licence that is none that is known, or is told by others
// than the host of the files.
const UnknownLicense = "unknown"

// Licensed reports whether a dataset is under one of these licences, which are SPDX identifiers in
// any case or UnknownLicense, by the word of the host of its files. Without licences every dataset
// is.
func Licensed(d *crawl.DatasetInfo, licenses []string) bool {
	return len(licenses) == 0 || slices.ContainsFunc(licenses, func(l string) bool {
		// What a stranger says of somebody's files gives no right to them.
		if d.SPDX == nil || !d.LicenseByHost {
			return l == UnknownLicense
		}
		return *d.SPDX == SPDX(l)
	})
}

// HasWords reports whether all words, in any case, are in what a dataset says of itself.
func HasWords(d *crawl.DatasetInfo, words []string) bool {
	if len(words) == 0 {
		return true
	}
	says := []string{d.Title, d.Name, d.Description, d.Publisher, d.Identifier}
	says = append(append(says, d.Keywords...), d.Creators...)
	for _, c := range d.Columns {
		says = append(says, c.Name, c.Description)
	}
	text := strings.ToLower(strings.Join(says, "\n"))
	for _, w := range words {
		if !strings.Contains(text, strings.ToLower(w)) {
			return false
		}
	}
	return true
}
