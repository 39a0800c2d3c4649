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
	// KindData is a /data.txt: its body replaces what is known of Origin's datasets. With
	// Deleted set there is none.
	KindData
	// KindAlias says that URL is another name of the page AliasOf: what is stored under it is
	// glued to that page. With AliasOf empty it is a page of its own again. It goes to the shard
	// of URL, with a Visit newer than that of the page it glues: drawn from the numbers of that
	// shard's visits, as the newest word on a URL wins, page or alias, in whatever order they
	// come. Where URL is an origin's /data.txt, that file gives way to AliasOf's, and its Visit
	// need only be newer than the last such word. Indexers tell one another with the same kind:
	// see package indexer.
	KindAlias
	// KindMeta is a JSON document that tells of datasets (data.json, datapackage.json,
	// linked JSON-LD). Its body replaces what is known from URL. With Deleted set there
	// is nothing any more.
	KindMeta
	// KindCapture is no page: it brings a Capture of URL for the archive and nothing else. It goes
	// to the shard of URL, as pages do.
	KindCapture
)

// Page is what the fetcher hands to the indexer for one URL: the page, or the word that there is
// none (any more). With NoIndex set, or Deleted, Body is empty: the fetcher hands over nothing
// that may not be kept.
type Page struct {
	URL       canon.URL
	Visit     VisitID // the newest visit per URL wins
	Status    int
	FetchedAt time.Time
	// Media type without parameters, lower case: text/html, application/xhtml+xml, text/plain,
	// text/markdown.
	ContentType      string
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
	Scope            uint64 // Spec.LinkHash of the spec its links were filtered by
	Kind             PageKind
	Origin           canon.Origin  // KindData: whose it is; URL is where redirects led
	Fresh            time.Duration // KindData: its lifetime
	// What the page calls its own address (rel=canonical), if that is another one.
	Canonical canon.URL
	AliasOf   canon.URL // KindAlias

	// Renewed: the server answered that the copy held is still good (304): there is no body.
	// Tagged: that answer carried robots tags, which replace those of the header (formats §4.2):
	// Directives are the header's alone then.
	Renewed bool
	Tagged  bool
	// What the page's own markup says, without the header: what stays when a 304
	// replaces the header's part.
	MetaDirectives       DirectiveBits
	MetaUnavailableAfter time.Time

	// Asked, of KindData: the data.txt of a directory that was asked for (URL is where redirects
	// led). It is kept beside Origin's own and counts while that, or another one nested in it,
	// leads to it. Empty: it is Origin's own.
	Asked canon.URL

	// MaxSnippet is the most characters that an excerpt may have (max-snippet); 0: any number. As
	// of Directives, MetaMaxSnippet is what the page's own markup says, and with Tagged set
	// MaxSnippet is the header's alone.
	MaxSnippet     int
	MetaMaxSnippet int

	// Usage is what the site says of the use of the page (formats §8). With Renewed set it is
	// what is said with the 304, silent headers included: see usage.Statements.Renew.
	Usage usage.Statements
	// Purposes, with Renewed: what the crawl is for. When all of that is forbidden now, with what
	// the page had said before, the copy goes and the page is asked for once more.
	Purposes usage.Purposes
	// Vary is that header of an answer to a request that took Markdown as well: what the URL has
	// for others may be something else. 200 bytes at most.
	Vary string

	// A document of KindMeta that is too large for a message travels in parts. Each of them has
	// Part, from 1, and in its body a document of its own. Behind them comes the page itself, with
	// Parts, how many they are, EncodingParts, no body, and the size and digest of the whole. In
	// whatever order they come, and however often: the document of the visit counts once all are
	// there, and until then the one before it does.
	Part  int
	Parts int

	// Capture is for the archive, if the crawl has one; nil: nothing is.
	Capture *Capture

	// Head is what whoever has read the page says of it, so that who stores it need not unpack it;
	// nil: it was not read, or there may be more in it.
	Head *Head

	// Signposts is what the page's own Link headers say of the dataset that it is about, as a set
	// of links in JSON (RFC 9264), MaxSignposts bytes at most; nil: nothing.
	Signposts []byte
}

// MaxSignposts bounds Page.Signposts, in bytes.
const MaxSignposts = 16 << 10

// Head is what a page is listed by. Whoever tells it has seen that no JSON-LD about datasets is in
// the page.
type Head struct {
	Title string // <title>, else the first h1; UTF-8, whitespace folded, MaxTitle bytes at most
	Lang  string // what <html lang> says, two or three small letters; may be empty
}

// MaxTitle bounds a title, in bytes.
const MaxTitle = 1024
