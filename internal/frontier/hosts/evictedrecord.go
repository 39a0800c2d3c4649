package hosts

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// The record of an evicted host that was visited (evict.go) begins like that of a host that was
// never visited: with a byte of flags and its name. One list of fields follows, which is used for
// both writing and reading.

// The flags of an evicted host's record.
const (
	evictedClosed  = 1 << iota
	evictedVisited // it was visited, and recordCodec.host defines the rest of the record
)

// plain reports that the record of an evicted host (appendEvicted) can hold everything known of h.
// Some rare properties have no field in that record.
func (h *Host) plain() bool {
	for i := range h.Origins {
		o := &h.Origins[i]
		if o.PendingOn != "" || o.DataOn != "" || len(o.Rights) > 0 || !o.filesFit() || o.Mirror != nil || o.Dispatch != nil {
			return false
		}
	}
	return h.Visit == nil && len(h.Aux) == 0
}

// filesFit reports that the record of an evicted host can hold all that is known of o's files: the
// times of the oldest two kinds, and nothing else.
func (o *Origin) filesFit() bool {
	return o.OriginFiles == crawl.OriginFiles{} && o.OriginFilesDue == crawl.OriginFilesDue{SecurityTxtDue: o.SecurityTxtDue, LLMSTxtDue: o.LLMSTxtDue}
}

// appendEvicted encodes a plain host.
func appendEvicted(b []byte, h *Host) []byte {
	var flags byte = evictedVisited
	if h.Closed {
		flags |= evictedClosed
	}
	c := recordCodec{b: store.AppendText(append(b, flags), string(h.Name))}
	c.host(h)
	return c.b
}

// decodeEvicted reads the rest of such a record into h, whose ID and Name are set.
func decodeEvicted(h *Host, rest []byte) error {
	c := recordCodec{s: store.Scanner{B: rest}, reading: true}
	c.host(h)
	if c.s.Bad || len(c.s.B) > 0 {
		return fmt.Errorf("host %d: %w", h.ID, store.ErrRecord)
	}
	return nil
}

func (c *recordCodec) host(h *Host) {
	c.int(&h.until)
	c.uint(&h.paces)
	c.int(&h.Queued)
	c.int(&h.Later)
	c.int(&h.Stored)
	c.int(&h.Failed)
	c.int(&h.Fetched)
	c.time(&h.Due)
	c.text(&h.DueReason)
	c.duration(&h.Delay)
	number(c, &h.Backoff)
	c.bool(&h.Private)
	c.duration(&h.Response)
	c.visit(&h.Last)
	c.bool(&h.Reported.Open)
	number(c, &h.Reported.Requests)
	c.int(&h.Reported.Bytes)
	c.bool(&h.Reported.Trouble)
	c.int(&h.Refused)
	c.int(&h.LeftOut)
	number(c, &h.Sitemaps)
	number(c, &h.SitemapsDue)
	number(c, &h.SitemapsForeign)
	c.time(&h.ForeignRead)
	number(c, &h.ForeignEntries)
	number(c, &h.Timeline)
	c.bool(&h.Quota.aux)
	c.bool(&h.Quota.urgent)
	c.bool(&h.Quota.download)
	number(c, &h.Quota.passed)
	n := uint64(len(h.Origins))
	if c.uint(&n); c.reading {
		if n > MaxOrigins {
			c.s.Refuse()
			return
		}
		h.Origins = append(h.Origins[:0], make([]Origin, n)...)
	}
	for i := range h.Origins {
		c.origin(&h.Origins[i], h.Name)
	}
	if !c.reading && h.Block.IsValid() || c.reading && len(c.s.B) > 0 { // older records end here
		c.addr(&h.Block)
	}
}

func (c *recordCodec) addr(a *netip.Addr) {
	b := a.AsSlice()
	if c.bytes(&b); c.reading {
		var ok bool
		if *a, ok = netip.AddrFromSlice(b); !ok {
			c.s.Refuse()
		}
	}
}

func (c *recordCodec) origin(o *Origin, host canon.Host) {
	if c.reading {
		o.Origin.Host = host
	}
	c.place(&o.Origin)
	c.int(&o.Ready)
	c.int(&o.Again)
	c.int(&o.AgainDue)
	var past int64
	for range 4 { // hints were stored here in older versions: see urls.Recrawl
		c.int(&past)
	}
	c.time(&o.History.Fetched)
	c.duration(&o.History.Fresh)
	c.time(&o.History.Since)
	c.bool(&o.History.Answered)
	number(c, &o.History.Failures)
	c.time(&o.History.RetryAt)
	number(c, &o.Copy)
	c.bytes(&o.Digest)
	number(c, &o.Status)
	c.text(&o.Reason)
	c.duration(&o.CrawlDelay)
	c.bool(&o.HasDelay)
	c.text(&o.ETag)
	c.text(&o.LastMod)
	c.time(&o.PendingAt)
	number(c, &o.Redirects)
	c.visit(&o.Visit)
	c.time(&o.SitemapsAsked)
	c.bytes(&o.SitemapsOf)
	c.bool(&o.Cleans)
	c.bool(&o.Agents)
	c.bool(&o.Uses)
	number(c, &o.Data)
	c.time(&o.DataDue)
	c.text(&o.DataReason)
	c.time(&o.RUPDue)
	c.time(&o.SecurityTxtDue)
	c.time(&o.LLMSTxtDue)
	moved := o.MovedTo != canon.Origin{}
	if c.bool(&moved); moved {
		c.text((*string)(&o.MovedTo.Host))
		c.place(&o.MovedTo)
	}
	number(c, &o.Moved)
	c.int(&o.Led)
	c.bool(&o.Twin)
}

// recordCodec writes the fields that it is given, or reads them.
type recordCodec struct {
	reading bool
	b       []byte        // written so far
	s       store.Scanner // still to be read
}

func (c *recordCodec) uint(v *uint64) {
	if c.reading {
		*v = c.s.Uint()
	} else {
		c.b = binary.AppendUvarint(c.b, *v)
	}
}

func (c *recordCodec) int(v *int64) {
	n := uint64(*v)<<1 ^ uint64(*v>>63)
	if c.uint(&n); c.reading {
		*v = int64(n>>1) ^ -int64(n&1)
	}
}

// number is int for other kinds of integers.
func number[N ~int | ~uint8 | ~uint32](c *recordCodec, v *N) {
	n := int64(*v)
	if c.int(&n); c.reading {
		if *v = N(n); int64(*v) != n {
			c.s.Refuse()
		}
	}
}

func (c *recordCodec) bool(v *bool) {
	var n uint64
	if *v {
		n = 1
	}
	if c.uint(&n); c.reading {
		*v = n != 0
	}
}

func (c *recordCodec) text(v *string) {
	if c.reading {
		*v = string(c.s.Text())
	} else {
		c.b = store.AppendText(c.b, *v)
	}
}

// bytes does not distinguish nil from empty.
func (c *recordCodec) bytes(v *[]byte) {
	s := string(*v)
	if c.text(&s); c.reading && s != "" {
		*v = []byte(s)
	}
}

func (c *recordCodec) duration(v *time.Duration) { c.int((*int64)(v)) }

// time keeps the same precision as JSON: the moment, to the nanosecond. A time outside the range of
// int64 nanoseconds becomes the earliest or the latest time.
func (c *recordCodec) time(v *time.Time) {
	var n int64
	if !c.reading && !v.IsZero() {
		if n = v.UnixNano(); n == 0 || !time.Unix(0, n).Equal(*v) {
			n = 1
			if v.Unix() > 0 {
				n = math.MaxInt64
			}
		}
	}
	if c.int(&n); c.reading && n != 0 {
		*v = time.Unix(0, n)
	}
}

func (c *recordCodec) visit(v *crawl.VisitID) {
	c.uint(&v.Epoch)
	c.uint(&v.N)
}

// place writes or reads the scheme and port of an origin.
func (c *recordCodec) place(o *canon.Origin) {
	https := o.Scheme == "https"
	if c.bool(&https); c.reading {
		if o.Scheme = "http"; https {
			o.Scheme = "https"
		}
	}
	number(c, &o.Port)
}

// Untouched reports that appendNew can hold everything known of h: no request was ever sent to
// it, and none is wanted.
func (h *Host) Untouched() bool {
	if h.Visit != nil || len(h.Aux) > 0 || !h.Due.IsZero() || h.DueReason != "" || h.Delay != 0 || h.Backoff != 0 || h.Private || h.Block.IsValid() ||
		h.Response != 0 || !h.Last.IsZero() || h.Fetched != 0 || h.Stored != 0 || h.Failed != 0 || h.Later != 0 || h.Sitemaps != 0 || h.SitemapsDue != 0 ||
		h.LeftOut != 0 || h.Timeline != 0 {
		return false
	}
	for i := range h.Origins {
		o := &h.Origins[i]
		if o.Again != 0 || o.History != (robots.History{}) || o.Copy != 0 ||
			o.Digest != nil || o.Status != 0 || o.Reason != "" || o.PendingOn != "" || !o.Visit.IsZero() || !o.SitemapsAsked.IsZero() ||
			o.Data != 0 || !o.DataDue.IsZero() || !o.RUPDue.IsZero() || o.Mirror != nil || o.Moved != 0 || o.Twin {
			return false
		}
	}
	return true
}

// appendNew encodes an untouched host: flags, name, counts and origins.
func appendNew(b []byte, h *Host) []byte {
	var flags byte
	if h.Closed {
		flags = evictedClosed
	}
	b = store.AppendText(append(b, flags), string(h.Name))
	b = binary.AppendUvarint(b, uint64(h.Queued))
	b = binary.AppendUvarint(b, uint64(max(h.Refused, 0)))
	for i := range h.Origins {
		o := &h.Origins[i]
		b = store.AppendText(b, o.Origin.Scheme)
		b = binary.AppendUvarint(b, uint64(o.Origin.Port))
		b = binary.AppendUvarint(b, uint64(o.Ready))
		b = binary.AppendUvarint(b, uint64(o.Led))
	}
	return b
}

// decodeRecord reads the record of an evicted host.
func decodeRecord(id store.HostID, v []byte) (*Host, error) {
	h := &Host{}
	return h, decodeInto(h, id, v)
}

// decodeInto reads an evicted host's record into h, which need not be empty.
func decodeInto(h *Host, id store.HostID, v []byte) error {
	if len(v) < 2 {
		return fmt.Errorf("host %d: %w", id, store.ErrRecord)
	}
	s := store.Scanner{B: v[1:]}
	*h = Host{ID: id, Closed: v[0]&evictedClosed != 0, Name: canon.Host(s.Text()), At: -1, Evicted: true, Origins: h.Origins[:0]}
	if v[0]&evictedVisited != 0 && !s.Bad {
		return decodeEvicted(h, s.B)
	}
	h.Queued, h.Refused = int64(s.Uint()), int64(s.Uint())
	for len(s.B) > 0 && !s.Bad {
		o := canon.Origin{Scheme: "http", Host: h.Name}
		if string(s.Text()) == "https" {
			o.Scheme = "https"
		}
		o.Port = int(s.Uint())
		h.Origins = append(h.Origins, Origin{Origin: o, Ready: int64(s.Uint()), Moves: Moves{Led: int64(s.Uint())}})
	}
	if s.Bad {
		return fmt.Errorf("host %d: %w", id, store.ErrRecord)
	}
	return nil
}
