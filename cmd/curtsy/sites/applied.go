package sites

import (
	"fmt"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/dustin/go-humanize"
)

// applied is the result of `curtsy sites apply`, which --json prints.
type applied struct {
	Changed    bool           `json:"changed"` // false: the crawl had these rules already
	Pages      int64          `json:"pages"`   // stored pages that were passed
	Read       int64          `json:"read"`    // of these, pages that were read by the rules
	Different  int64          `json:"different"`
	Skipped    int64          `json:"skipped"` // pages that were removed
	Fields     []appliedField `json:"fields"`
	Queued     int64          `json:"queued"`  // URLs that came in
	Refused    int64          `json:"refused"` // URLs that went out
	Discovered int64          `json:"discovered"`

	spec       crawl.Spec
	discovered int64 // before
	found      asker.SitesApplied
}

// appliedField is what became of a field. It is not about skipped pages.
type appliedField struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Pages int64  `json:"pages"` // to which it applies
	Empty int64  `json:"empty"`
}

// print prints what the rules have done.
func (p *applying) print(res *applied) error {
	m := &res.found.Made
	res.Pages, res.Read, res.Different, res.Skipped = m.Pages, m.Read, m.Changed, m.Skipped
	res.Queued, res.Refused, res.Discovered = res.found.Queued, res.found.Refused, max(res.found.Discovered-res.discovered, 0)
	res.Fields = []appliedField{}
	for _, f := range p.rules.Schema() {
		row := appliedField{Name: f.Name, Type: f.Type.String()}
		for _, c := range m.Fields {
			if c.Name == f.Name {
				row.Pages, row.Empty = c.Pages, c.Empty
			}
		}
		res.Fields = append(res.Fields, row)
	}
	if p.asJSON {
		return p.app.PrintJSON(res)
	}
	w := p.app.Stdout
	if !res.Changed && res.Pages == 0 {
		_, err := fmt.Fprintf(w, "the crawl has these rules already: its pages were read by them when they were stored; to see the fields: curtsy pages --fields%s\n", p.app.About)
		return err
	}
	if !res.Changed {
		fmt.Fprintln(w, "the crawl has these rules already; this is what they have done:")
	}
	fmt.Fprintf(w, "%s: %s read again, %s different now, %s removed because the rules skip them\n", term.Count(res.Pages, "stored page"),
		humanize.Comma(res.Read), humanize.Comma(res.Different), humanize.Comma(res.Skipped))
	for _, f := range res.Fields {
		switch {
		case f.Pages == 0:
			fmt.Fprintf(w, "%s (%s): no stored page has an entry with this field\n", f.Name, f.Type)
		case f.Pages == f.Empty:
			fmt.Fprintf(w, "%s (%s): empty on all %s\n", f.Name, f.Type, term.Count(f.Pages, "page"))
		default:
			fmt.Fprintf(w, "%s (%s): empty on %s of %s\n", f.Name, f.Type, humanize.Comma(f.Empty), term.Count(f.Pages, "page"))
		}
	}
	_, err := fmt.Fprintf(w, "URLs: %s queued that were refused, %s refused that were queued, %s discovered\n",
		humanize.Comma(res.Queued), humanize.Comma(res.Refused), humanize.Comma(res.Discovered))
	return err
}
