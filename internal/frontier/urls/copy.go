package urls

import (
	"encoding/binary"
	"net/http"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/store"
)

// StoredCopy is what is known of the copy of a page that was fetched last: enough for a conditional
// request, and to recognise whether a response has the same page. The record's Class says whether
// the copy is still stored.
type StoredCopy struct {
	Digest       uint64 // as in crawl.Result; 0: not known
	Likeness     uint64 // as in crawl.Result
	ETag         string
	Modified     int64  // Last-Modified in Unix s, if it has the format that HTTP requires
	ModifiedText string // Last-Modified if it has another format
	Rendering    crawl.Rendering
	RenderNote   string // what rendering it left out, or why it failed
}

// Again says when a URL is fetched again, and what earlier repetitions have found. See again.go and
// freshness.go.
type Again struct {
	Next int64 // Unix s; 0: it is not fetched again
	Pace Pace  // the interval for which Next was set
	// With PaceHint: the source of the report that the page has changed; 0: unknown.
	Hint    crawl.Source
	Usual   Pace   // the interval that suits the page; 0: FirstInterval
	Gone    bool   // the last response was a 4xx: the copy is removed if the next one is too
	Asked   uint64 // number of repeated requests that were answered
	Changed uint64 // number of those in which the page had changed
	Noise   noise  // whether the page differs only in parts that change each time
}

// The optional fields after a record's texts. A record without any of them ends with its texts, as
// all records did before re-crawl existed.
const (
	moreDigest = 1 << iota
	moreETag
	moreModified
	moreModifiedText
	moreNext
	moreHistory
	moreGone
	moreRank
)

// Rendering and RenderNote follow the fields of these bits if there is one of the two. The byte of
// the bits is 0 if the record has nothing else.

// historyNoise is a flag in the byte of Usual: Likeness and Noise follow.
const historyNoise = 0x80

// paceSource is a flag in the byte of Pace: Hint follows.
const paceSource = 0x80

func (r *Record) appendMore(b []byte) []byte {
	var more byte
	if r.Digest != 0 {
		more |= moreDigest
	}
	if r.ETag != "" {
		more |= moreETag
	}
	if r.Modified > 0 {
		more |= moreModified
	}
	if r.ModifiedText != "" {
		more |= moreModifiedText
	}
	if r.Next > 0 {
		more |= moreNext
	}
	noise := r.Likeness != 0 || r.Noise != 0
	if r.Asked > 0 || noise {
		more |= moreHistory
	}
	if r.Gone {
		more |= moreGone
	}
	if r.Rank > 0 {
		more |= moreRank
	}
	rendered := r.Rendering != 0 || r.RenderNote != ""
	if more == 0 && !rendered {
		return b
	}
	b = append(b, more)
	if more&moreDigest != 0 {
		b = binary.BigEndian.AppendUint64(b, r.Digest)
	}
	if more&moreETag != 0 {
		b = store.AppendText(b, r.ETag)
	}
	if more&moreModified != 0 {
		b = binary.AppendUvarint(b, uint64(r.Modified))
	}
	if more&moreModifiedText != 0 {
		b = store.AppendText(b, r.ModifiedText)
	}
	if more&moreNext != 0 {
		b = binary.AppendUvarint(b, uint64(r.Next))
		if r.Hint != 0 {
			b = append(b, byte(r.Pace)|paceSource, byte(r.Hint))
		} else {
			b = append(b, byte(r.Pace))
		}
	}
	if more&moreHistory != 0 {
		b = binary.AppendUvarint(b, r.Asked)
		b = binary.AppendUvarint(b, r.Changed)
		if noise {
			b = append(b, byte(r.Usual)|historyNoise)
			b = append(binary.BigEndian.AppendUint64(b, r.Likeness), byte(r.Noise))
		} else {
			b = append(b, byte(r.Usual))
		}
	}
	if more&moreRank != 0 {
		b = binary.BigEndian.AppendUint16(b, r.Rank)
	}
	if rendered {
		b = store.AppendText(append(b, byte(r.Rendering)), r.RenderNote)
	}
	return b
}

func (r *Record) decodeMore(s *store.Scanner) {
	if len(s.B) == 0 {
		return
	}
	more := s.Byte()
	if more&moreDigest != 0 {
		r.Digest = s.Fixed64()
	}
	if more&moreETag != 0 {
		r.ETag = string(s.Text())
	}
	if more&moreModified != 0 {
		r.Modified = int64(s.Uint())
	}
	if more&moreModifiedText != 0 {
		r.ModifiedText = string(s.Text())
	}
	if more&moreNext != 0 {
		r.Next = int64(s.Uint())
		pace := s.Byte()
		if r.Pace = Pace(pace &^ paceSource); pace&paceSource != 0 {
			r.Hint = crawl.Source(s.Byte())
		}
	}
	if more&moreHistory != 0 {
		r.Asked, r.Changed = s.Uint(), s.Uint()
		usual := s.Byte()
		r.Usual = Pace(usual &^ historyNoise)
		if usual&historyNoise != 0 {
			r.Likeness, r.Noise = s.Fixed64(), noise(s.Byte())
		}
	}
	r.Gone = more&moreGone != 0
	if more&moreRank != 0 {
		r.Rank = uint16(s.Byte())<<8 | uint16(s.Byte())
	}
	if len(s.B) > 0 {
		r.Rendering, r.RenderNote = crawl.Rendering(s.Byte()), string(s.Text())
	}
}

// Update sets c to what a response says of the copy that is stored from now on. A 304 response
// changes only the fields that it contains.
func (c *StoredCopy) Update(res *crawl.Result) {
	if !res.NotModified {
		*c = StoredCopy{Digest: res.Digest, Likeness: res.Likeness, Rendering: res.Rendering}
		if res.Rendering == crawl.RenderingDone || res.Rendering == crawl.RenderingFailed {
			c.RenderNote = strings.Clone(crawl.ShortDetail(res.Rule))
		}
	}
	if res.ETag != "" {
		c.ETag = strings.Clone(res.ETag)
	}
	if res.LastModified == "" {
		return
	}
	c.Modified, c.ModifiedText = 0, ""
	if t, err := time.Parse(http.TimeFormat, res.LastModified); err == nil && t.Unix() > 0 && t.Format(http.TimeFormat) == res.LastModified {
		c.Modified = t.Unix() // this takes a sixth of the text's size
	} else {
		c.ModifiedText = strings.Clone(res.LastModified)
	}
}

// LastModified is the text of the header.
func (c *StoredCopy) LastModified() string {
	if c.Modified > 0 {
		return time.Unix(c.Modified, 0).UTC().Format(http.TimeFormat)
	}
	return c.ModifiedText
}
