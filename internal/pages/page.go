package pages

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/klauspost/compress/s2"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// maxDecoded limits what unpacking a body may allocate. The fetcher stops at 10 MiB; this allows
// for a larger limit.
const maxDecoded = 64 << 20

// ErrBody is returned for a body that cannot be unpacked.
var ErrBody = errors.New("pages: stored body cannot be unpacked")

// Page is a page as the store keeps it: what the fetcher published, and what the indexer read in
// it. In a list it has no Body. Deleted is set only in results of Changes, for a URL whose page is
// no longer stored. AliasOf is set while the copy of a mirror's page is stored in place of its main
// page; see alias.go.
type Page struct {
	crawl.Page
	// Title is Ruled.Title if that is not empty, otherwise <title>, otherwise the first h1; UTF-8,
	// white space folded.
	Title string
	Lang  string // <html lang> in lower case, without its region; may be empty
	// The number of the page in this store. It stays the same as long as the URL is known, also if
	// the page is deleted meanwhile.
	ID     uint64
	Seq    uint64 // its latest number in the change feed
	Packed int    // bytes of Body as stored
	// Since is when the body was first fetched in its present form, by its digest. Fetching the
	// same body again does not change it. The zero time means that it is not known, because it is
	// from before this was recorded. Put sets it.
	Since time.Time
	// Changed is when the stored page last changed, by the clock of this store: its body, what its
	// site states about it, or whether it is stored. The store sets it. In records from before this
	// was recorded it is Since, otherwise FetchedAt. For a URL that never had a page of its own it
	// is a time before all others.
	Changed time.Time

	// Claims, for Put, is what the body states about datasets, packed by its reader. nil means
	// nothing; empty means that the whole body is about datasets.
	Claims []byte
	// Late, for Put, means that the page's unavailable_after passed before it arrived. The page is
	// not stored, and the frontier is notified.
	Late bool
	// SkippedBy, for Put with Deleted set to ReasonSiteRule, says which site rule skips the page.
	// The frontier is notified, because it believes that the page is stored. Then Ruled is set. It
	// is empty if the fetcher skipped the page.
	SkippedBy string
	// Aliases are the addresses of this page on mirrors, at most maxAliases.
	Aliases []canon.URL

	claimed bool // it has Claims
	// The visit of the newest report whether this is an alias, if that is newer than Visit.
	aliasVisit crawl.VisitID
	// With AliasOf: the outcome of the main page is known, so this copy is not kept.
	mainKnown bool
}

// applyTitle replaces the title of the page itself by that of the site rules.
func (p *Page) applyTitle() {
	if p.Ruled != nil && p.Ruled.Title != "" {
		p.Title = p.Ruled.Title
	}
}

// listed reports whether this is a page of its own: neither removed nor an alias.
func (p *Page) listed() bool { return p.ID != 0 && p.Deleted == "" && p.AliasOf == "" }

// SnippetAllowed reports whether an excerpt of the page may be shown.
func (p *Page) SnippetAllowed() bool { return p.Directives&crawl.NoSnippet == 0 }

// RuledExcerpt returns what site rules made of the page, as far as the page allows to quote it: all
// of it is an excerpt, because nobody knows which values come from the page's text. With
// max-snippet, a longer description is cut, and a field with a longer value is left out.
func (p *Page) RuledExcerpt() (description string, fields crawl.Fields) {
	if p.Ruled == nil || !p.SnippetAllowed() {
		return "", nil
	}
	if p.MaxSnippet <= 0 {
		return p.Ruled.Description, p.Ruled.Fields
	}
	description = p.Ruled.Description
	if utf8.RuneCountInString(description) > p.MaxSnippet {
		description = string([]rune(description)[:p.MaxSnippet])
	}
	for _, f := range p.Ruled.Fields {
		if !slices.ContainsFunc(f.Values, func(v string) bool { return utf8.RuneCountInString(v) > p.MaxSnippet }) {
			fields = append(fields, f)
		}
	}
	return description, fields
}

// Expired reports whether the page requests not to be available any more at t.
func (p *Page) Expired(t time.Time) bool {
	return !p.UnavailableAfter.IsZero() && !t.Before(p.UnavailableAfter)
}

// Info returns the page as `curtsy pages` lists it.
func (p *Page) Info() crawl.PageInfo {
	info := crawl.PageInfo{
		URL: string(p.URL), Status: p.Status, FetchedAt: p.FetchedAt, ContentType: p.ContentType, Title: p.Title,
		Size: p.Size, SHA256: hex.EncodeToString(p.SHA256[:]), SnippetAllowed: p.SnippetAllowed(), MaxSnippet: p.MaxSnippet, Depth: p.Depth,
		Truncated: p.Truncated, Canonical: string(p.Canonical), AliasOf: string(p.AliasOf), Usage: crawl.UsageOf(p.Usage), Vary: p.Vary,
		Rendering: p.Rendering.String(),
	}
	info.Description, info.Fields = p.RuledExcerpt()
	for _, u := range p.Aliases {
		info.Aliases = append(info.Aliases, string(u))
	}
	if p.FoundOn != "" {
		f := string(p.FoundOn)
		info.FoundOn = &f
	}
	return info
}

// Unpack returns the body, decoded from its content coding but in its own charset. The result may
// be Body itself. dst is used if it is large enough. The error wraps ErrBody.
func (p *Page) Unpack(dst []byte) ([]byte, error) { return Unpack(dst, p.Encoding, p.Body) }

// Unpack decodes an encoding. The result may be body itself, or use the memory of dst.
func Unpack(dst []byte, enc crawl.Encoding, body []byte) ([]byte, error) {
	switch enc {
	case crawl.EncodingNone:
		return body, nil
	case crawl.EncodingS2:
		if len(body) == 0 {
			return nil, nil
		}
		n, err := s2.DecodedLen(body)
		if err != nil || n > maxDecoded {
			return nil, fmt.Errorf("%w: %d bytes, S2, should contain %d: %v", ErrBody, len(body), n, err)
		}
		out, err := s2.Decode(dst[:cap(dst)], body)
		if err != nil {
			return nil, fmt.Errorf("%w: %v", ErrBody, err)
		}
		return out, nil
	case crawl.EncodingParts:
		return nil, nil // see EachPart
	}
	return nil, fmt.Errorf("%w: encoding %d is unknown to this version", ErrBody, enc)
}

// sameContent reports whether q has the content of p. Then only dates differ, and followers of the
// change feed need not read it.
func (p *Page) sameContent(q *Page) bool {
	return p.SHA256 == q.SHA256 && p.Size == q.Size && p.Directives == q.Directives && p.ContentType == q.ContentType &&
		p.Charset == q.Charset && p.UnavailableAfter.Equal(q.UnavailableAfter) && p.MaxSnippet == q.MaxSnippet && p.Truncated == q.Truncated &&
		(p.Encoding == crawl.EncodingParts) == (q.Encoding == crawl.EncodingParts) && p.Title == q.Title && p.Lang == q.Lang && p.Canonical == q.Canonical && p.Kind == q.Kind &&
		slices.Equal(p.Usage, q.Usage) && p.Ruled.SameContent(q.Ruled)
}

// shownAs reports whether a page of the same content is also shown with the same facts as q, apart
// from its dates.
func (p *Page) shownAs(q *Page) bool {
	return p.Status == q.Status && p.Depth == q.Depth && p.FoundOn == q.FoundOn && p.Vary == q.Vary && p.Rendering == q.Rendering
}
