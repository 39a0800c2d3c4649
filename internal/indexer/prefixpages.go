package indexer

import (
	"context"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/questions"
)

// prefixPages sends the number of stored pages that an entry of Spec.Forgotten names.
func (a answers) prefixPages(_ context.Context, r questions.PrefixRequest, send func(crawl.PrefixCount) error) error {
	n, entry := int64(0), r.URL
	whole := !strings.Contains(entry, "://")
	for _, p := range a.parts() {
		err := p.store.EachOfHost(crawl.EntryHost(entry), func(page pages.Page) error {
			if whole || strings.HasPrefix(string(page.URL), entry) {
				n++
			}
			return nil
		})
		if err != nil && !p.gone.Load() {
			return err
		}
	}
	return send(crawl.PrefixCount{Pages: n})
}
