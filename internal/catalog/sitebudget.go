package catalog

import (
	"slices"

	"golang.org/x/net/publicsuffix"

	"github.com/curtsy/curtsy/internal/crawl"
)

// The descriptions of one site are limited, in bytes as claimCost counts them. Each document has
// its own share, so that a portal with a page for each dataset is listed completely, however many
// there are. Claims of a document beyond its share are charged to a budget that all hosts of a
// registered domain share.
const (
	DocumentBudget = 64 << 10  // bytes of a document
	SiteBudget     = 192 << 20 // bytes of a registered domain, in addition
	claimOverhead  = 2 << 10   // bytes of a claim without its texts and lists
)

// Budget limits the claims for one question, site by site. Only one goroutine may use it.
type Budget struct {
	left map[string]int
	site int // SiteBudget; less in tests
}

// NewBudget returns an unused Budget.
func NewBudget() *Budget { return &Budget{map[string]int{}, SiteBudget} }

// Capacity returns how many bytes of claims a document at this address may have; see
// Document.Capacity.
func (b *Budget) Capacity(document string) int {
	shared, ok := b.left[siteOf(&crawl.DatasetClaim{Origin: document})]
	if !ok {
		shared = b.site
	}
	return DocumentBudget + shared
}

// Take returns the claims that are within the budget, of those of one document or of one origin's
// data.txt files. The last one contains how many were left out (LeftOut). At least one claim of a
// document is kept, without its lists if necessary.
func (b *Budget) Take(claims []crawl.DatasetClaim) []crawl.DatasetClaim {
	if len(claims) == 0 {
		return nil
	}
	site := siteOf(&claims[0])
	shared, ok := b.left[site]
	if !ok {
		shared = b.site
	}
	own := DocumentBudget
	kept := make([]crawl.DatasetClaim, 0, len(claims))
	for i, c := range claims {
		n := claimCost(&c)
		if i == 0 && n > own+shared {
			c = outline(c)
			n = min(claimCost(&c), own)
			c.LeftOut++ // it is incomplete
		}
		if n > own+shared {
			kept[len(kept)-1].LeftOut++
			continue
		}
		if n > own {
			shared -= n - own
			own = 0
		} else {
			own -= n
		}
		kept = append(kept, c)
	}
	b.left[site] = shared
	return slices.Clip(kept)
}

// siteOf is the registered domain of a claim's origin, or its host if there is none.
func siteOf(c *crawl.DatasetClaim) string {
	host := hostOf(c.Origin)
	if domain, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		return domain
	}
	return host
}

// claimCost is approximately how many bytes a claim takes in memory.
func claimCost(c *crawl.DatasetClaim) int {
	n := claimOverhead
	for _, s := range []string{c.Document, c.ID, c.Page, c.Name, c.Title, c.Description, c.License, c.Publisher, c.Version, c.Issued, c.Modified, c.Type, c.Source} {
		n += len(s)
	}
	for _, s := range c.Creators {
		n += 16 + len(s)
	}
	for _, s := range c.Keywords {
		n += 16 + len(s)
	}
	for i := range c.Files {
		f := &c.Files[i]
		n += 144 + len(f.URL) + len(f.Name) + len(f.MediaType) + len(f.SHA256) + len(f.SHA512) + len(f.SHA1) + len(f.MD5)
	}
	for i := range c.Columns {
		f := &c.Columns[i]
		n += 48 + len(f.Name) + len(f.Type) + len(f.Description)
	}
	for k, v := range c.Extra {
		n += 64 + len(k) + valueCost(v)
	}
	return n
}

func valueCost(v any) (n int) {
	switch v := v.(type) {
	case string:
		n = 16 + len(v)
	case []any:
		for _, e := range v {
			n += 16 + valueCost(e)
		}
	case map[string]any:
		for k, e := range v {
			n += 64 + len(k) + valueCost(e)
		}
	}
	return n
}

// outline is the part of a claim that is kept if the budget is exhausted: its name, its address,
// and as many of its files as fit.
func outline(c crawl.DatasetClaim) crawl.DatasetClaim {
	const most = DocumentBudget / 32 // of a text
	for _, s := range []*string{&c.ID, &c.Page} {
		if len(*s) > most {
			*s = "" // a part of an address would be another address
		}
	}
	for _, s := range []*string{&c.Name, &c.Title, &c.License, &c.Publisher, &c.Version, &c.Issued, &c.Modified, &c.Type, &c.Source} {
		*s = Shorten(*s, most)
	}
	c.Description, c.Creators, c.Keywords, c.Columns, c.Extra = "", nil, nil, nil, nil
	files := c.Files
	c.Files = nil
	for n, i := claimCost(&c), 0; i < len(files); i++ {
		one := crawl.DatasetClaim{Files: files[i : i+1]}
		if n += claimCost(&one) - claimOverhead; n > DocumentBudget {
			break
		}
		c.Files = files[: i+1 : i+1]
	}
	return c
}
