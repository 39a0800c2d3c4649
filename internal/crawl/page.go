package crawl

import (
	"time"

	"github.com/curtsy/curtsy/pkg/canon"
)

// Encoding says how Page.Body is packed.
type Encoding uint8

const (
	EncodingNone Encoding = iota // as it is
	EncodingS2                   // one S2 block (klauspost/compress/s2)
)

// DirectiveBits are the robots directives in force for a page, as effective for our product token when it was fetched.
type DirectiveBits uint8

const (
	NoIndex   DirectiveBits = 1 << iota // not to be kept
	NoSnippet                           // none of its text is to be shown
	NoFollow                            // its links are not followed
	NoArchive                           // no cached copy is to be shown
)

// PageKind tells pages from other things that go the same way.
type PageKind uint8

// The kinds.
const (
	KindPage PageKind = iota
	// KindData is a /data.txt: its body replaces what is known of Origin's datasets. With Deleted set there is none.
	KindData
)

// Page is what the fetcher hands to the indexer for one URL: the page, or the word that there is none (any more).
// With NoIndex set, or Deleted, Body is empty: the fetcher hands over nothing that may not be kept.
type Page struct {
	URL              canon.URL
	Visit            VisitID // the newest visit per URL wins
	Status           int
	FetchedAt        time.Time
	ContentType      string // media type without parameters, lower case: text/html, application/xhtml+xml, text/plain
	Charset          string // name for golang.org/x/net/html/charset; "utf-8" when known or assumed
	Directives       DirectiveBits
	UnavailableAfter time.Time // zero: none
	Size             int64     // bytes of the body after content-decoding
	SHA256           [32]byte  // of those bytes
	Depth            int
	FoundOn          canon.URL
	ETag             string
	LastModified     string
	Encoding         Encoding
	Body             []byte // content-decoded, not character-decoded, then packed as Encoding says
	Deleted          Reason // non-empty: forget the copy you have; the reason why
	Truncated        bool   // the body is the first part only (over the size limit)
	Scope            uint64 // Spec.ScopeHash of the scope its links were filtered by
	Kind             PageKind
	Origin           canon.Origin  // KindData: whose it is; URL is where redirects led
	Fresh            time.Duration // KindData: its lifetime
}
