package hours

import (
	"fmt"
	"sync"
)

// ByHost has the hours of a crawl, and those of its hosts. A host may only have fewer hours than
// its crawl. Nil has none. It may be used concurrently.
type ByHost struct {
	// Crawl are the hours of all hosts.
	Crawl *Hours

	zone string
	own  func(host string) string // nil: no host has hours of its own
	mu   sync.Mutex               // guards read
	read map[string]*Hours        // by their text
}

// maxRead limits how many hours of hosts are remembered. They come from one file with a limit.
const maxRead = 4096

// NewByHost reads the hours of a crawl in a time zone. own returns the text of the hours of a host,
// in the same zone; "" means that it has none of its own. It may be nil.
func NewByHost(crawl, zone string, own func(host string) string) (*ByHost, error) {
	h, err := Parse(crawl, zone)
	if err != nil {
		return nil, fmt.Errorf("hours: %w", err)
	}
	return &ByHost{Crawl: h, zone: zone, own: own, read: map[string]*Hours{}}, nil
}

// OfCrawl returns the hours of all hosts; nil means any time.
func (b *ByHost) OfCrawl() *Hours {
	if b == nil {
		return nil
	}
	return b.Crawl
}

// HasOwn reports whether hosts may have hours of their own.
func (b *ByHost) HasOwn() bool { return b != nil && b.own != nil }

// Own returns the hours of a host if they differ from those of the crawl; otherwise nil. Text that
// cannot be read permits no request, because its author wanted fewer than all.
func (b *ByHost) Own(host string) *Hours {
	if !b.HasOwn() {
		return nil
	}
	text := b.own(host)
	if text == "" {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if h, ok := b.read[text]; ok {
		return h
	}
	h, err := Parse(text, b.zone)
	switch {
	case err != nil:
		h = &Hours{text: text}
		h.zone, _ = Zone("")
	case h != nil:
		h = b.Crawl.And(h)
	}
	if len(b.read) >= maxRead {
		clear(b.read)
	}
	b.read[text] = h
	return h
}

// Of returns the hours of a host; nil means any time.
func (b *ByHost) Of(host string) *Hours {
	if own := b.Own(host); own != nil {
		return own
	}
	return b.OfCrawl()
}
