package pages

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// A record begins with its kind. Integers are varints; strings and the digest have no padding. A
// record has about 160 bytes and is read in one pass. The fields that format 2 added are at the
// end; a record without them is of format 1. After these come Since if it is known, MaxSnippet if
// there is one, Usage if there are statements, Changed if it is not Since, Vary, and Ruled. A
// version that does not know the last fields reads the record without them.
const (
	kindPage      = 'P'
	kindTombstone = 'T'
)

// Flags of a page, and of an alias.
const (
	flagTruncated = 1 << iota
	flagMeta      // crawl.KindMeta
	flagClaims

	renderingShift = 3 // two bits are crawl.Page.Rendering
	renderingBits  = 3

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
		bit(p.Truncated)*flagTruncated|bit(p.Kind == crawl.KindMeta)*flagMeta|bit(p.claimed)*flagClaims|byte(p.Rendering)&renderingBits<<renderingShift)
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
	changed := p.Vary != "" || p.Ruled != nil || !p.Changed.IsZero() && millis(p.Changed) != millis(p.Since)
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
	if p.Vary != "" || p.Ruled != nil {
		dst = appendString(dst, p.Vary)
	}
	if p.Ruled != nil {
		dst = appendRuled(dst, p.Ruled)
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
		p.Rendering = crawl.Rendering(flags >> renderingShift & renderingBits)
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
		if len(r.b) > 0 {
			p.Ruled = r.ruled()
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
