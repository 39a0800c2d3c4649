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
	Title string // <title>, otherwise the first h1; UTF-8, white space folded
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
	// Aliases are the addresses of this page on mirrors, at most maxAliases.
	Aliases []canon.URL

	claimed bool // it has Claims
	// The visit of the newest report whether this is an alias, if that is newer than Visit.
	aliasVisit crawl.VisitID
	// With AliasOf: the outcome of the main page is known, so this copy is not kept.
	mainKnown bool
}

// listed reports whether this is a page of its own: neither removed nor an alias.
func (p *Page) listed() bool { return p.ID != 0 && p.Deleted == "" && p.AliasOf == "" }

// SnippetAllowed reports whether an excerpt of the page may be shown.
func (p *Page) SnippetAllowed() bool { return p.Directives&crawl.NoSnippet == 0 }

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
		slices.Equal(p.Usage, q.Usage)
}

// A record begins with its kind. Integers are varints; strings and the digest have no padding. A
// record has about 160 bytes and is read in one pass. The fields that format 2 added are at the
// end; a record without them is of format 1. After these come Since if it is known, MaxSnippet if
// there is one, Usage if there are statements, Changed if it is not Since, and Vary. A version that
// does not know the last fields reads the record without them.
const (
	kindPage      = 'P'
	kindTombstone = 'T'
)

// Flags of a page, and of an alias.
const (
	flagTruncated = 1 << iota
	flagMeta      // crawl.KindMeta
	flagClaims

	flagAlias     = 1
	flagMainKnown = 2
)

// appendRecord encodes p. A tombstone contains the visit, the date and the reason, and nothing of
// the page.
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
	// The following fields end with the last one that has a value, as in records from before they
	// existed.
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

// appendAlias encodes the newest report whether a page is an alias.
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

// parseRecord reads what appendRecord wrote. It copies what it returns, so b may be in the mapped
// file.
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
			// It is not known which directives came from the header, so no later header removes
			// any.
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

// reader reads a record. After an error it returns zero values, and bad stays true.
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

// millis returns 0 for the zero time. No page was fetched in 1970.
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
