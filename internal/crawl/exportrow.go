package crawl

import (
	"bytes"
	"fmt"
	"regexp"
	"time"
)

// PageInfo is one line of `curtsy pages`.
type PageInfo struct {
	URL            string    `json:"url"`
	Status         int       `json:"status"`
	FetchedAt      time.Time `json:"fetched_at"`
	ContentType    string    `json:"content_type"`
	Title          string    `json:"title"`
	Size           int64     `json:"size"`
	SHA256         string    `json:"sha256"` // hex, of the decoded body
	SnippetAllowed bool      `json:"snippet_allowed"`
	// MaxSnippet is the maximum number of characters of a quotation (max-snippet); 0 means no
	// limit.
	MaxSnippet int     `json:"max_snippet,omitempty"`
	Depth      int     `json:"depth"`
	FoundOn    *string `json:"found_on"` // null for a seed
	Truncated  bool    `json:"truncated,omitempty"`
	// Canonical is the address that the page gives for itself, if it is another one.
	Canonical string `json:"canonical,omitempty"`
	// Aliases are the addresses of this page on confirmed mirrors, a hundred at most.
	Aliases []string `json:"aliases,omitempty"`
	// AliasOf is set if URL is such an alias. It is the address of the page that is stored.
	AliasOf string `json:"alias_of,omitempty"`
	// Vary is the Vary header of the response, if the request accepted Markdown as well.
	Vary string `json:"vary,omitempty"`
	// Rendering is needed if the page has almost no text without its scripts, done if what is
	// stored is what they made of it, and failed if running them failed. Otherwise it is empty.
	Rendering string `json:"rendering,omitempty"`

	Usage Usage `json:"usage"`
	// Description is the one that the site rules of the crawl found.
	Description string `json:"description,omitempty"`
	// Fields are those that the site rules of the crawl found.
	Fields Fields `json:"fields,omitempty"`
}

// PageRecord is a page as `curtsy export pages` writes it: the line of `curtsy pages`, and as much
// of the content as the page allows to be shown.
type PageRecord struct {
	PageInfo
	Lang string `json:"lang,omitempty"` // ISO 639-1, as declared or detected
	// Charset is that of the page as it was fetched. The fields below are in UTF-8.
	Charset string `json:"charset,omitempty"`
	Text    string `json:"text,omitempty"` // the visible text
	HTML    string `json:"html,omitempty"` // the page itself, if it was asked for
	// Markdown is the main text, if it was asked for.
	Markdown string `json:"markdown,omitempty"`
	Cut      bool   `json:"cut,omitempty"` // Text, HTML or Markdown is only the beginning
	// Withheld is why there is no content: "nosnippet", "noarchive", "metadata", "alias",
	// "unreadable", or an error.
	Withheld string `json:"withheld,omitempty"`
}

// PageRemoved is a line of an export of changes: the page is no longer a part of the export.
type PageRemoved struct {
	URL       string    `json:"url"`
	FetchedAt time.Time `json:"fetched_at"`
	// Removed is the reason: a Reason, "unavailable_after", PageEmpty, or a key of LeftOut.
	Removed string `json:"removed"`
}

// PageEmpty means that a page has no text any more. The pieces of it in an earlier export are void.
const PageEmpty = "empty"

// PageRow is a row of an export of pages. If Removed is set, the row is a PageRemoved.
type PageRow struct {
	PageRecord
	Removed string `json:"removed,omitempty"`
}

// LinkRow is a line of `curtsy export links`: a link from a page to a URL. In an export of changes,
// a line without To makes all earlier links of the page void. The current links of the page follow,
// if the page is still a part of the export.
type LinkRow struct {
	From    string `json:"from"`
	To      string `json:"to,omitempty"`
	Removed string `json:"removed,omitempty"` // LinksChanged, or a reason of PageRemoved
}

// PageLinks are all links of a page, a row of the export of links in the format "grouped". Removed
// is as in a LinkRow, but a page that was stored again comes with its current links.
type PageLinks struct {
	From    string   `json:"from"`
	To      []string `json:"to,omitempty"`
	Cut     bool     `json:"cut,omitempty"` // there are more links than fit into a message
	Removed string   `json:"removed,omitempty"`
}

// PagesGone is the key in a LeftOut for pages that are no longer a part of an export whose format
// cannot name them.
const PagesGone = "gone"

// LinksChanged means that a page was stored again after ExportQuery.Since.
const LinksChanged = "changed"

// PageChunk is a piece of a page's main text, a row of `curtsy export pages --format chunks`.
type PageChunk struct {
	URL   string `json:"url"`
	N     int    `json:"n"`  // from 1, in the order of the page
	Of    int    `json:"of"` // the number of pieces
	Title string `json:"title,omitempty"`
	// Headings are the headings above it, the outermost first, with 200 bytes of each at most.
	Headings  []string  `json:"headings,omitempty"`
	Text      string    `json:"text,omitempty"` // Markdown
	Lang      string    `json:"lang,omitempty"`
	FetchedAt time.Time `json:"fetched_at"`
	SHA256    string    `json:"sha256,omitempty"` // of the page, as in PageInfo
	Usage     *Usage    `json:"usage,omitempty"`
}

// ExportQuery asks for an export.
type ExportQuery struct {
	What string `json:"what"` // pages or links
	// Format of pages is jsonl (rows with the text; the default), markdown (rows with the main
	// text), source (rows with the HTML), chunks, text or html. Format of links is jsonl or
	// grouped.
	Format string `json:"format"`
	// ChunkSize is the maximum number of characters of a chunk; 0 means 2,000.
	ChunkSize int `json:"chunk_size,omitempty"`
	// Since leaves out pages that have not changed since then, by the clock of their indexer. Pages
	// that are gone come as a PageRemoved. Zero means all pages. It is not for the formats text and
	// html.
	Since time.Time `json:"since,omitzero"`
	// For are purposes (usage.Purpose). Only pages for which all of them are allowed are exported,
	// and only their links. Search needs no permission, so unknown is enough for it.
	For []string `json:"for,omitempty"`
	// UnknownToo includes pages that state nothing about these purposes.
	UnknownToo bool `json:"unknown_too,omitempty"`
	// All asks for the content even of pages that do not allow it to be shown.
	All bool `json:"all,omitempty"`
}

// LeftOut is the last object of an export, and not a part of it. It counts the pages that came
// without their content or were left out, by the directive of their sites: "nosnippet" or
// "noarchive".
type LeftOut struct {
	Pages map[string]int64 `json:"left_out"`
	// Usage counts the pages that were left out because of ExportQuery.For. The keys are a purpose
	// and a value, such as "ai-train disallow".
	Usage map[string]int64 `json:"usage,omitempty"`
}

// Add adds the counts of another part of the export.
func (l *LeftOut) Add(o LeftOut) {
	for why, n := range o.Pages {
		l.Pages[why] += n
	}
	for why, n := range o.Usage {
		if l.Usage == nil {
			l.Usage = map[string]int64{}
		}
		l.Usage[why] += n
	}
}

// IsLeftOut reports whether an object of an export is a LeftOut.
func IsLeftOut(raw []byte) bool { return bytes.HasPrefix(raw, []byte(`{"left_out":`)) }

// FeedPosition is how far a shard was sent to a sink (package feed). It is stored with the pages of
// the shard, so it moves with them and disappears with them.
type FeedPosition struct {
	Sink  string `json:"sink"`
	Shard int    `json:"shard"`
	// Generation is when this position began, in seconds since 2000. It grows each time the shard
	// is sent again from the beginning.
	Generation int64 `json:"generation"`
	// Cursor is the number in the change feed up to which the sink has acknowledged everything.
	Cursor uint64 `json:"cursor"`
	// Floor is the last number of the change feed when the position began. A page that was deleted
	// before was never sent in this generation.
	Floor uint64 `json:"floor"`
	// Swept says that what the sink had of earlier generations is deleted.
	Swept bool `json:"swept"`
	// Setup stands for everything that decides what is sent. Another setup begins again.
	Setup string `json:"setup"`
	// Hidden is the Spec.ForgottenText that rows of this position obey. Rows that were sent before
	// something was forgotten may name it; they are sent again.
	Hidden string `json:"hidden,omitempty"`

	AckedAt time.Time `json:"acked_at,omitzero"`
	Sent    int64     `json:"sent"`    // changes that were acknowledged, in all generations
	Refused int64     `json:"refused"` // of them, those that the sink refused for good
	// Trouble is why the last attempt failed; empty if it did not fail.
	Trouble   string    `json:"trouble,omitempty"`
	TroubleAt time.Time `json:"trouble_at,omitzero"`

	Behind int64 `json:"behind"` // changes that are not acknowledged; not stored
}

// FeedEpoch is when generations begin to count. It is also where the clock of a bubble begins.
var FeedEpoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// MaxFeedName is the maximum length of the name of a sink, in bytes.
const MaxFeedName = 64

var feedName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// CheckFeedName reports what is wrong with the name of a sink.
func CheckFeedName(name string) error {
	if len(name) > MaxFeedName || !feedName.MatchString(name) {
		return fmt.Errorf("the name of a feed %q must have 1 to %d letters, digits, '.', '_' or '-', for example search-1", name, MaxFeedName)
	}
	return nil
}

// FeedRead asks for the changes of a shard after the position of a sink. The position begins if the
// sink has none.
type FeedRead struct {
	Sink  string `json:"sink"`
	Shard int    `json:"shard"`
	// Content is what is sent of each page: text, markdown, html or none. Empty means text.
	Content string `json:"content,omitempty"`
	// For and UnknownToo are as in an ExportQuery. A page that is not allowed is sent as deleted.
	For        []string `json:"for,omitempty"`
	UnknownToo bool     `json:"unknown_too,omitempty"`
	// Fields names the fields of a row that the feeder passes on. The answer has all of them; other
	// names only begin the position again.
	Fields []string `json:"fields,omitempty"`
	// MaxBytes ends the answer after the row with which it has this size. 0 means one row.
	MaxBytes int `json:"max_bytes"`
	MaxRows  int `json:"max_rows"`
}

// FeedRow is a row of the answer to a FeedRead. The first row has Position, the last one End, and
// those in between have a Page.
type FeedRow struct {
	// Position is where the answer begins.
	Position *FeedPosition `json:"position,omitempty"`
	// Seq is the number of a change. In the last row it is the number up to which the answer is
	// complete, which is acknowledged when everything was sent.
	Seq  uint64   `json:"seq,omitempty"`
	ID   string   `json:"id,omitempty"` // of the page, also if its URL must not be named any more
	Page *PageRow `json:"page,omitempty"`
	End  bool     `json:"end,omitempty"`
}

// FeedAck reports that a sink has everything up to a number, or why it has not.
type FeedAck struct {
	Sink       string `json:"sink"`
	Shard      int    `json:"shard"`
	Generation int64  `json:"generation"`
	Seq        uint64 `json:"seq"`
	Sent       int64  `json:"sent,omitempty"`
	Refused    int64  `json:"refused,omitempty"`
	Swept      bool   `json:"swept,omitempty"`
	Trouble    string `json:"trouble,omitempty"`
}

// FeedForget asks all shards to remove the position of a sink.
type FeedForget struct {
	Sink string `json:"sink"`
}
