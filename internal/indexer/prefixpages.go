package indexer

import (
	"context"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
)

// prefixPages counts the pages held of an entry of Spec.Forgotten.
func (a answers) prefixPages(_ context.Context, r request, send func(any) error) error {
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
