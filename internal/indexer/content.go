package indexer

import (
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/siterules"
)

// contentBy makes the content of pages by the site rules that are in force when a page is read. A
// page without rules about its content costs a look for its entry.
func contentBy(rules func() *siterules.Rules) pages.Content {
	return func(p *pages.Page, body []byte) (contentType, charset string, content []byte) {
		if site := rules().For(p.URL); site.HasContent() && !p.IsMeta() {
			in := siterules.InputOf(&p.Page, nil, body)
			if out, changed := site.Content(in.ContentType, in.Charset, body); changed {
				return "text/html", "utf-8", out
			}
		}
		return p.ContentType, p.Charset, body
	}
}
