package catalog

import (
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
)

// UnknownLicense is the name that Licensed uses for a licence that is not known or that the host of
// the files does not state.
const UnknownLicense = "unknown"

// Licensed reports whether a dataset has one of these licences. They are SPDX identifiers in any
// case, or UnknownLicense. Only the statement of the host of the files counts. Without licences,
// every dataset matches.
func Licensed(d *crawl.DatasetInfo, licenses []string) bool {
	return len(licenses) == 0 || slices.ContainsFunc(licenses, func(l string) bool {
		// A stranger's statement about somebody's files gives no right to use them.
		if d.SPDX == nil || !d.LicenseByHost {
			return l == UnknownLicense
		}
		return *d.SPDX == SPDX(l)
	})
}

// HasWords reports whether a dataset's own texts contain all words, in any case.
func HasWords(d *crawl.DatasetInfo, words []string) bool {
	if len(words) == 0 {
		return true
	}
	texts := []string{d.Title, d.Name, d.Description, d.Publisher, d.Identifier}
	texts = append(append(texts, d.Keywords...), d.Creators...)
	for _, c := range d.Columns {
		texts = append(texts, c.Name, c.Description)
	}
	text := strings.ToLower(strings.Join(texts, "\n"))
	for _, w := range words {
		if !strings.Contains(text, strings.ToLower(w)) {
			return false
		}
	}
	return true
}
