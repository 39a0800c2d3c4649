package catalog

import (
	"encoding/json"
	"fmt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/disk"
)

// spillFrom is how many bytes of claims, as Budget counts them, are kept in memory completely.
const spillFrom = 4 << 20

// Collector collects any number of claims and merges them as Each does. Beyond a few MiB of claims,
// only the parts by which they are joined stay in memory, less than 1 KiB each; the rest is in an
// unnamed file. The zero value is ready to use. Only one goroutine may use it.
type Collector struct {
	claims []*crawl.DatasetClaim
	size   int
	shelf  *shelf // nil: all claims are in memory completely
	same   map[string]string
}

// Add adds a claim.
func (c *Collector) Add(claim crawl.DatasetClaim) (err error) {
	c.claims = append(c.claims, &claim)
	if c.size += claimCost(&claim); c.size <= spillFrom {
		return nil
	}
	from := len(c.claims) - 1
	if c.shelf == nil {
		c.shelf, c.same, from = &shelf{places: map[*crawl.DatasetClaim][]place{}}, map[string]string{}, 0
		if err := c.shelf.file.Open(); err != nil {
			return fmt.Errorf("memory for the catalogue: %w", err)
		}
	}
	for i := from; i < len(c.claims) && err == nil; i++ {
		c.claims[i], err = c.shelf.put(c.claims[i], c.same)
	}
	return err
}

// Each calls fn for each dataset, ordered by origin and name. After it no claim can be added.
func (c *Collector) Each(fn func(crawl.DatasetInfo) error) error {
	if c.shelf != nil {
		if err := c.shelf.file.Flush(); err != nil {
			return fmt.Errorf("memory for the catalogue: %w", err)
		}
	}
	return each(c.claims, c.shelf, fn)
}

// Close closes the file.
func (c *Collector) Close() {
	if c.shelf != nil {
		c.shelf.file.Close()
	}
}

// shelf stores complete claims in a file. Memory has their outlines, which contain everything by
// which claims are joined and datasets are named. A nil shelf is empty.
type shelf struct {
	file   disk.Spool
	places map[*crawl.DatasetClaim][]place // of an outline; several if the claim came in parts
	buf    []byte
}

type place struct {
	at   int64
	size uint32
}

// put stores a claim and returns its outline. same has the texts that many claims share.
func (s *shelf) put(c *crawl.DatasetClaim, same map[string]string) (*crawl.DatasetClaim, error) {
	whole, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	p := place{at: s.file.Size()}
	if p.size, err = s.file.Add(whole); err != nil {
		return nil, fmt.Errorf("memory for the catalogue: %w", err)
	}
	one := func(text string) string {
		if have, ok := same[text]; ok {
			return have
		}
		same[text] = text
		return text
	}
	out := &crawl.DatasetClaim{
		Kind: one(c.Kind), Document: one(c.Document), Origin: one(c.Origin), Line: c.Line, N: c.N, Part: c.Part, Depth: c.Depth, Fills: c.Fills,
		ID: c.ID, Page: c.Page, Name: c.Name, Title: c.Title, License: one(c.License), Files: make([]crawl.DatasetFile, len(c.Files)),
		External: c.External, Allowed: c.Allowed, FetchedAt: c.FetchedAt, Expires: c.Expires,
	}
	for i := range c.Files {
		out.Files[i].URL, out.Files[i].Directory = c.Files[i].URL, c.Files[i].Directory
	}
	s.places[out] = []place{p}
	return out, nil
}

// moved records that an outline is now part of another.
func (s *shelf) moved(from, to *crawl.DatasetClaim) {
	if s != nil {
		s.places[to] = append(s.places[to], s.places[from]...)
		delete(s.places, from)
	}
}

// full returns the complete claim.
func (m *merger) full(i int) *crawl.DatasetClaim {
	c := m.claims[i]
	if m.shelf == nil {
		return c
	}
	var all *crawl.DatasetClaim
	for _, p := range m.shelf.places[c] {
		part := &crawl.DatasetClaim{}
		var err error
		if m.shelf.buf, err = m.shelf.file.Read(m.shelf.buf, p.at, p.size); err == nil {
			err = json.Unmarshal(m.shelf.buf, part)
		}
		if err != nil {
			m.failed = fmt.Errorf("read the temporary file of the catalogue: %w", err)
			return c
		}
		if all == nil {
			all = part
		} else {
			extend(all, part)
		}
	}
	return all
}
