package crawl

import (
	"time"

	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/usage"
)

// Encoding says how Page.Body is packed.
type Encoding uint8

const (
	EncodingNone  Encoding = iota // as it is
	EncodingS2                    // one S2 block (klauspost/compress/s2)
	EncodingParts                 // in parts that came before: see Page.Parts
)

// DirectiveBits are the robots directives in force for a page, as effective for our product token
// when it was fetched.
type DirectiveBits uint8

const (
	NoIndex   DirectiveBits = 1 << iota // must not be stored
	NoSnippet                           // none of its text may be shown
	NoFollow                            // its links must not be followed
	NoArchive                           // no copy of it may be shown
)

// PageKind distinguishes pages from other things that are sent in the same way.
type PageKind uint8

// The kinds.
const (
	KindPage PageKind = iota
	// KindData is a /data.txt. Its body replaces what is known of Origin's datasets. If Deleted is
	// set, the file does not exist.
	KindData
	// KindAlias makes URL an alias of the page AliasOf. If AliasOf is empty, URL becomes a page of
	// its own again. The message goes to the shard of URL. Its Visit has a number from the visits
	// of this shard, and is newer than that of the page: the newest message about a URL wins, in
	// whatever order messages come. If URL is the /data.txt of an origin, the file of AliasOf
	// replaces it, and Visit need only be newer than the last KindAlias. Indexers send the same
	// kind to each other: see package indexer.
	KindAlias
	// KindMeta is a JSON document about datasets (data.json, datapackage.json, linked JSON-LD). Its
	// body replaces what is known from URL. If Deleted is set, the document has gone.
	KindMeta
	// KindCapture has only a Capture of URL for the archive. It goes to the shard of URL.
	KindCapture
)

// Page is what a fetcher sends to the indexer about one URL: the page, or that there is no page. If
// NoIndex or Deleted is set, Body is empty, because a fetcher sends nothing that must not be
// stored.
type Page struct {
	URL       canon.URL
	Visit     VisitID // the newest visit of a URL wins
	Status    int
	FetchedAt time.Time
	// ContentType is the media type in lower case without parameters: text/html,
	// application/xhtml+xml, text/plain, text/markdown.
	ContentType      string
	Charset          string // name for golang.org/x/net/html/charset; "utf-8" if known or assumed
	Directives       DirectiveBits
	UnavailableAfter time.Time // zero: never
	Size             int64     // bytes of the body after content-decoding
	SHA256           [32]byte  // of these bytes
	Depth            int
	FoundOn          canon.URL
	ETag             string
	LastModified     string
	Encoding         Encoding
	Body             []byte // after content-decoding, in its charset, packed according to Encoding
	Deleted          Reason // why a stored copy must be deleted; empty: it stays
	Truncated        bool   // the body was over the size limit, and this is its beginning
	Scope            uint64 // Spec.LinkHash of the spec that filtered its links
	Kind             PageKind
	Origin           canon.Origin  // KindData: its origin; URL is the address after redirects
	Fresh            time.Duration // KindData: its lifetime
	// Canonical is the address that the page gives for itself (rel=canonical), if it is another
	// one.
	Canonical canon.URL
	AliasOf   canon.URL // KindAlias

	// Renewed: the server answered that the stored copy is still valid (304). There is no body.
	// Tagged: this response had robots tags, which replace those of the stored header
	// (formats §4.2). Then Directives are only those of the header.
	Renewed bool
	Tagged  bool
	MetaTags

	// Asked, of KindData, is the requested address of the data.txt of a directory. URL is the
	// address after redirects. The file is stored beside Origin's own, and is in use while that
	// file, or another nested one, names it. Empty: the file is Origin's own.
	Asked canon.URL

	// MaxSnippet is the maximum number of characters of a quotation (max-snippet); 0 means no
	// limit. If Tagged is set, it is only that of the header.
	MaxSnippet int

	// Usage is what the site states about the use of the page (formats §8). If Renewed is
	// set, it consists of the statements of the 304; see usage.Statements.Renew.
	Usage usage.Statements
	// Purposes are those of the crawl, if Renewed is set. If all of them are forbidden now, also by
	// statements of the stored page, the copy is deleted and the page is fetched once more.
	Purposes usage.Purposes
	// Vary is the Vary header of the response to a request that accepted Markdown as well: other
	// clients may get other content. It has 200 bytes at most.
	Vary string

	// A document of KindMeta that is too large for a message is sent in parts. Each part has its
	// number, Part, from 1, and its body is a document of its own. After them comes the page
	// itself. It has the number of the parts, Parts, EncodingParts, no body, and the size and
	// digest of the whole. Parts may come in any order, and more than once. The document replaces
	// the one before it when all parts have come.
	Part  int
	Parts int

	// Capture is for the archive, if the crawl has one. Nil: nothing is archived.
	Capture *Capture

	// Head has the title and language, so that the indexer need not unpack the page. Nil: the page
	// was not read, or there may be data in it that Head does not have.
	Head *Head

	// Signposts are the page's Link headers about its dataset, as a set of links in JSON (RFC 9264)
	// of MaxSignposts bytes at most. Nil: there are none.
	Signposts []byte

	// Ruled is what the site rules made of the page. Nil: no rule reads it, or the sender is of a
	// version without site rules.
	Ruled *Ruled

	// Rendering is whether the scripts of the page were run, or should be. If they were, Body is
	// what they made of it.
	Rendering Rendering
}

// MetaTags are the directives in a page's own markup, without those of its headers. They stay when
// a 304 replaces those of the headers.
type MetaTags struct {
	MetaDirectives       DirectiveBits
	MetaUnavailableAfter time.Time
	MetaMaxSnippet       int // as Page.MaxSnippet
}

// MaxSignposts limits Page.Signposts, in bytes.
const MaxSignposts = 16 << 10

// Head is the data of a page for lists. A page with a Head has no JSON-LD about datasets.
type Head struct {
	Title string // <title>, else the first h1; UTF-8, whitespace folded, MaxTitle bytes at most
	Lang  string // of <html lang>, two or three lower-case letters; may be empty
}

// MaxTitle limits a title, in bytes.
const MaxTitle = 1024

// Capture is a request and its response as they were on the wire, for the archive of a crawl with
// one (Spec.WARC). URL, time and visit are those of its Page. The fetcher sends no capture of a
// page that must not be stored.
type Capture struct {
	// Number is that of the request in its visit, from 1. Visit and Number identify the capture, so
	// that it is stored once if it comes twice.
	Number  int
	Request []byte // the head that was sent, without credentials
	// Response is the head of the response and its body before any decoding, packed according to
	// Encoding. With OfPage it is only the head, not packed. The body is then that of the page,
	// because it needed no decoding, and Encoding is that of the page.
	Response []byte
	Encoding Encoding
	OfPage   bool
	// CRC is, with OfPage, the CRC-32 (IEEE) of the page's unpacked body, so that the archive need
	// not unpack it. 0 means not known.
	CRC   uint32
	Cut   bool   // the body is not complete
	CutBy CutBy  // with Cut: why
	IP    string // of the server
	Took  time.Duration
	// Links are the links of the page that are followed, or some of them if there are very many.
	// They have the form of the archive: one line "outlink: URL" for each, ended by CR and LF, all
	// together as an S2 block.
	Links []byte
	// Type, if not empty, is the Content-Type of a document that was not requested, because a
	// mobile robot brought it. Then there is no Request, and Response has only the document, or
	// with OfPage nothing.
	Type string
}

// CutBy is why the body of a capture is not complete.
type CutBy uint8

// The reasons (ISO 28500 §5.13). The zero value is for bodies that were not read or stored in full.
const (
	CutByLength CutBy = iota
	CutByTime
	CutByDisconnect
	CutUnspecified
)

// String is the reason in the form of WARC-Truncated.
func (c CutBy) String() string {
	if c < CutUnspecified {
		return [...]string{"length", "time", "disconnect"}[c]
	}
	return "unspecified"
}

// Bytes is the approximate size of a capture in a message; 0 for nil.
func (m *Capture) Bytes() int {
	if m == nil {
		return 0
	}
	return len(m.Request) + len(m.Response) + len(m.Links) + 64
}

// Rendering is whether the scripts of a page were run before it was stored, or should be.
type Rendering uint8

// The values are stored and sent, so they do not change.
const (
	// RenderingNone: the page is stored as its server sent it, and has text of its own.
	RenderingNone Rendering = iota
	// RenderingNeeded: the page is stored as its server sent it. It has scripts and almost no text
	// without them.
	RenderingNeeded
	// RenderingDone: what is stored is what the scripts made of the page.
	RenderingDone
	// RenderingFailed: the page is stored as its server sent it, because rendering it failed.
	RenderingFailed
)

// String returns the word that people and programs read: "", needed, done or failed.
func (r Rendering) String() string {
	switch r {
	case RenderingNeeded:
		return "needed"
	case RenderingDone:
		return "done"
	case RenderingFailed:
		return "failed"
	}
	return ""
}

// The values of Spec.Render, and of render in site rules.
const (
	RenderNever  = "never"  // also the empty string
	RenderAuto   = "auto"   // pages that have scripts and almost no text without them
	RenderAlways = "always" // all pages in HTML
)
