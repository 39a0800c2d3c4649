package pages

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// maxDecoded bounds what unpacking a body may allocate. The fetcher stops at 10 MiB; this leaves
// room for a larger limit.
const maxDecoded = 64 << 20

// ErrBody is returned for a body that cannot be unpacked.
var ErrBody = errors.New("pages: stored body cannot be unpacked")

// Page is a page as the store keeps it: what the fetcher handed over, and what the indexer read in
// it. From a listing it comes without Body. Deleted is set only on what Changes returns for a URL
// that is no longer held. AliasOf is set while a mirror's page stands in for the page it is another
// address of; see alias.go.
type Page struct {
	crawl.Page
	Title string // <title>, else the first h1; UTF-8, whitespace folded
	Lang  string // what <html lang> says, lower case, without region; may be empty
	// number of the page in this store: the same as long as the URL is known, deletions included
	ID     uint64
	Seq    uint64 // its latest number in the change journal
	Packed int    // bytes of Body as stored
	// Since is when the body was first fetched as it is, by its digest: fetching the same again
	// leaves it alone. The zero time means not known: since before it was noted. Put sets it.
	Since time.Time
	// Changed is when what is held of the page last changed by this store's clock: its body, or
	// what its site says of it, or that it is held at all. The store sets it. Of records from
	// before it was noted it is Since, else FetchedAt. Of a URL that never was a page of its own it
	// is a time before all others.
	Changed time.Time

	// Claims, for Put, is what in the body tells of datasets, packed by its reader. nil: nothing
	// does. Empty: all of the body does.
	Claims []byte
	// Late, for Put: the page's unavailable_after came while it was on its way here. It is not
	// kept, and the frontier is told.
	Late bool
	// Aliases are the addresses that this page has on mirrors, maxAliases at most.
	Aliases []canon.URL

	claimed bool // there are Claims
	// the visit of the newest word on whether this is an alias, if that is newer than Visit
	aliasVisit crawl.VisitID
	// with AliasOf: it is known what became of the main page, so this copy is not kept
	mainKnown bool
}

// listed reports whether it is a page of its own, neither gone nor another's alias.
func (p *Page) listed() bool { return p.ID != 0 && p.Deleted == "" && p.AliasOf == "" }

// SnippetAllowed reports whether stored text of the page may be shown as an excerpt.
func (p *Page) SnippetAllowed() bool { return p.Directives&crawl.NoSnippet == 0 }

// Expired reports whether the page asked not to be available any more at t.
func (p *Page) Expired(t time.Time) bool {
	return !p.UnavailableAfter.IsZero() && !t.Before(p.UnavailableAfter)
}

// Info is the page as `curtsy pages` lists it.
func (p *Page) Info() crawl.PageInfo {
	info := crawl.PageInfo{
		URL: string(p.URL), Status: p.Status, FetchedAt: p.FetchedAt, ContentType: p.ContentType, Title: p.Title,
		Size: p.Size, SHA256: hex.EncodeToString(p.SHA256[:]), SnippetAllowed: p.SnippetAllowed(), MaxSnippet: p.MaxSnippet, Depth: p.Depth,
		Truncated: p.Truncated, Canonical: string(p.Canonical), AliasOf: string(p.AliasOf), Usage: crawl.UsageOf(p.Usage), Vary: p.Vary,
	}
	for _, u := range p.Aliases {
		info.Aliases = append(info.Aliases, string(u))
	}
	if p.FoundOn != "" {
		f := string(p.FoundOn)
		info.FoundOn = &f
	}
	return info
}

// Unpack returns the body content-decoded, in the page's own charset. The result may be Body
// itself; dst is used when it is large enough. The error wraps ErrBody.
func (p *Page) Unpack(dst []byte) ([]byte, error) { return Unpack(dst, p.Encoding, p.Body) }

// Unpack undoes an encoding. The result may be body itself, or use the room of dst.
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

// sameContent reports whether q says what p says. Then only dates differ, and readers of the
// journal need not look.
func (p *Page) sameContent(q *Page) bool {
	return p.SHA256 == q.SHA256 && p.Size == q.Size && p.Directives == q.Directives && p.ContentType == q.ContentType &&
		p.Charset == q.Charset && p.UnavailableAfter.Equal(q.UnavailableAfter) && p.MaxSnippet == q.MaxSnippet && p.Truncated == q.Truncated &&
		(p.Encoding == crawl.EncodingParts) == (q.Encoding == crawl.EncodingParts) && p.Title == q.Title && p.Lang == q.Lang && p.Canonical == q.Canonical && p.Kind == q.Kind &&
		slices.Equal(p.Usage, q.Usage)
}

// A record begins with its kind. Integers are varints; strings and the digest carry no padding. A
// record is about 160 bytes and is read in one walk. What format 2 added stands at the end: a
// record without it is of format 1. After that stands Since, if it is known, then MaxSnippet, if
// there is one, then Usage, if anything is said, then Changed, if it is not Since, and Vary. A
// version that does not know what stands at the end reads the record without it.
const (
	kindPage      = 'P'
	kindTombstone = 'T'
)

// Flags of a page, and of what is known of its being an alias.
const (
	flagTruncated = 1 << iota
	flagMeta      // crawl.KindMeta
	flagClaims

	flagAlias     = 1
	flagMainKnown = 2
)

// appendRecord encodes p. A tombstone keeps the visit, the date and the reason,
// nothing of the page.
func appendRecord(dst []byte, p *Page) []byte {
	kind := byte(kindPage)
	if p.Deleted != "" {
		kind = kindTombstone
	}
	dst = append(dst, kind)
	for _, v := range [...]uint64{p.ID, p.Seq, p.Visit.Epoch, p.Visit.N} {
		dst = binary.AppendUvarint(dst, v)
	}
	dst = binary.AppendVarint(dst, millis(p.FetchedAt))
	if kind == kindTombstone {
		return binary.AppendVarint(appendAlias(appendString(dst, string(p.Deleted)), p), millis(p.Changed))
	}
	dst = append(dst, byte(p.Directives), byte(p.Encoding),
		bit(p.Truncated)*flagTruncated|bit(p.Kind == crawl.KindMeta)*flagMeta|bit(p.claimed)*flagClaims)
	for _, v := range [...]int64{int64(p.Status), millis(p.UnavailableAfter), p.Size, int64(p.Depth), int64(p.Packed)} {
		dst = binary.AppendVarint(dst, v)
	}
	dst = append(dst, p.SHA256[:]...)
	for _, s := range [...]string{p.ContentType, p.Charset, string(p.FoundOn), p.ETag, p.LastModified, p.Title, p.Lang} {
		dst = appendString(dst, s)
	}
	dst = append(dst, byte(p.MetaDirectives))
	dst = binary.AppendVarint(dst, millis(p.MetaUnavailableAfter))
	dst = appendString(dst, string(p.Canonical))
	dst = appendAlias(dst, p)
	// What follows is left out from where nothing is to be said any more, as in records from before
	// it was noted.
	changed := p.Vary != "" || !p.Changed.IsZero() && millis(p.Changed) != millis(p.Since)
	said := changed || len(p.Usage) > 0
	limited := said || p.MaxSnippet > 0 || p.MetaMaxSnippet > 0
	if limited || !p.Since.IsZero() {
		dst = binary.AppendVarint(dst, millis(p.Since))
	}
	if limited {
		dst = binary.AppendVarint(binary.AppendVarint(dst, int64(p.MaxSnippet)), int64(p.MetaMaxSnippet))
	}
	if said {
		dst = appendUsage(dst, p.Usage)
	}
	if changed {
		dst = binary.AppendVarint(dst, millis(p.Changed))
	}
	if p.Vary != "" {
		dst = appendString(dst, p.Vary)
	}
	return dst
}

// appendAlias encodes the newest word on whether a page is an alias.
func appendAlias(dst []byte, p *Page) []byte {
	if p.aliasVisit.IsZero() {
		return append(dst, 0)
	}
	dst = append(dst, flagAlias|bit(p.mainKnown)*flagMainKnown)
	dst = binary.AppendUvarint(binary.AppendUvarint(dst, p.aliasVisit.Epoch), p.aliasVisit.N)
	return appendString(dst, string(p.AliasOf))
}

func (r *reader) alias(p *Page) {
	if flags := r.byte(); flags&flagAlias != 0 {
		p.mainKnown = flags&flagMainKnown != 0
		p.aliasVisit.Epoch, p.aliasVisit.N = r.uvarint(), r.uvarint()
		p.AliasOf = canon.URL(r.string())
	}
}

// parseRecord reads what appendRecord wrote. It copies what it keeps, so b may lie
// in the mapped file.
func parseRecord(u canon.URL, b []byte) (Page, error) {
	r := reader{b: b}
	p := Page{}
	p.URL = u
	kind := r.byte()
	p.ID, p.Seq, p.Visit.Epoch, p.Visit.N = r.uvarint(), r.uvarint(), r.uvarint(), r.uvarint()
	p.FetchedAt = fromMillis(r.varint())
	switch kind {
	case kindTombstone:
		p.Deleted = crawl.Reason(r.string())
		if len(r.b) > 0 {
			r.alias(&p)
		}
		if len(r.b) > 0 {
			p.Changed = fromMillis(r.varint())
		}
	case kindPage:
		p.Directives, p.Encoding = crawl.DirectiveBits(r.byte()), crawl.Encoding(r.byte())
		flags := r.byte()
		p.Truncated, p.claimed = flags&flagTruncated != 0, flags&flagClaims != 0
		if flags&flagMeta != 0 {
			p.Kind = crawl.KindMeta
		}
		p.Status, p.UnavailableAfter = int(r.varint()), fromMillis(r.varint())
		p.Size, p.Depth, p.Packed = r.varint(), int(r.varint()), int(r.varint())
		copy(p.SHA256[:], r.take(32))
		p.ContentType, p.Charset, p.FoundOn = r.string(), r.string(), canon.URL(r.string())
		p.ETag, p.LastModified, p.Title, p.Lang = r.string(), r.string(), r.string(), r.string()
		if len(r.b) == 0 && !r.bad {
			// Which directives came from the header is not known, so no later
			// header takes any back.
			p.MetaDirectives, p.MetaUnavailableAfter = p.Directives, p.UnavailableAfter
			break
		}
		p.MetaDirectives, p.MetaUnavailableAfter = crawl.DirectiveBits(r.byte()), fromMillis(r.varint())
		p.Canonical = canon.URL(r.string())
		r.alias(&p)
		if len(r.b) > 0 {
			p.Since = fromMillis(r.varint())
		}
		if len(r.b) > 0 {
			p.MaxSnippet, p.MetaMaxSnippet = int(r.varint()), int(r.varint())
		}
		if len(r.b) > 0 {
			p.Usage = r.usage()
		}
		if len(r.b) > 0 {
			p.Changed = fromMillis(r.varint())
		}
		if len(r.b) > 0 {
			p.Vary = r.string()
		}
	default:
		r.bad = true
	}
	if r.bad {
		return Page{}, fmt.Errorf("%w: record of %s", errRecord, u)
	}
	if p.Changed.IsZero() {
		if p.Changed = p.Since; p.Since.IsZero() {
			p.Changed = p.FetchedAt
		}
	}
	return p, nil
}

// reader walks a record. After a mistake it returns zero values and bad stays true.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.bad, r.b = true, nil
		return nil
	}
	v := r.b[:n]
	r.b = r.b[n:]
	return v
}

func (r *reader) byte() byte {
	if v := r.take(1); v != nil {
		return v[0]
	}
	return 0
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) string() string {
	n := r.uvarint()
	if n > uint64(len(r.b)) {
		r.bad = true
		return ""
	}
	return string(r.take(int(n)))
}

func appendString(dst []byte, s string) []byte {
	dst = binary.AppendUvarint(slices.Grow(dst, len(s)+3), uint64(len(s)))
	return append(dst, s...)
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// millis is 0 for the zero time; no page was fetched then.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
