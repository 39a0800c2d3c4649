package warc

import (
	"bytes"
	"time"
)

// Oddity is something in a file that is not as the standard has it. A [Scanner] reports each.
type Oddity struct {
	Offset int64  // where it, or the gzip member with it, is in the file
	What   string // a sentence of the list below, the same for the same kind
	Damage bool   // something cannot be read, or belongs to no record; otherwise all was read
	Mends  bool   // it is gone from a copy in which each record is written as it should be
}

// What can be odd. Each sentence says how to mend it, unless a copy mends it (Oddity.Mends).
const (
	oddMember    = "several records are in one gzip member, where each should have a member of its own"
	oddPlain     = "records are not compressed, although others are, or the name ends in .gz"
	oddPacked    = "records are compressed, although the first one is not"
	oddEmpty     = "a gzip member is empty"
	oddLF        = "lines of a header end in LF, not in CRLF"
	oddEnd       = "a record does not end with two CRLF"
	oddBetween   = "line ends are between records"
	oddZeros     = "zero bytes are between records, or at the end"
	oddVersion   = "spaces follow the version of a record"
	oddLine      = "a line of a header is not a named field; it is ignored"
	oddLength    = "a Content-Length is not the length of its block, which ends where the next record begins"
	oddNoLength  = "a record has no Content-Length that is a number; its block ends where the next record begins"
	oddDate      = "a WARC-Date is not written as 2006-01-02T15:04:05Z"
	oddNoDate    = "a WARC-Date is missing or is not a date; the record is listed with 00000000000000"
	oddNoID      = "a record has no WARC-Record-ID"
	oddNoType    = "a record has no WARC-Type; it is not listed"
	damGarbage   = "there are bytes that belong to no record"
	damHeader    = "the header of a record breaks off"
	damLong      = "the header of a record is too long"
	damCut       = "a record is cut off"
	damShort     = "a block is shorter than its Content-Length; it is read as far as it goes"
	damBeyond    = "a Content-Length reaches beyond the end of the file"
	damMember    = "a gzip member is damaged"
	damChecksum  = "the checksum of a gzip member does not match its records"
	damNoSum     = "the checksum of a gzip member is cut off; its last record is complete"
	damSearched  = "too much looks like the beginning of a record; the rest is not read"
	damZstd      = "it is compressed with zstd, which is not read; unpack it first: zstd -d FILE"
	damARC       = "it is an ARC file, which is not read; convert it first, for example with: warcio recompress"
	maxVersion   = 64 // bytes of a version line with its spaces
	headerWindow = 160
)

// startsRecord reports whether a text begins with the version line of a record and the name of a
// field. For at most headerWindow bytes of text the answer does not change with more.
func startsRecord(b []byte) bool {
	rest, ok := bytes.CutPrefix(b, []byte("WARC/"))
	if !ok || len(rest) < 4 || rest[0] != '0' && rest[0] != '1' || rest[1] != '.' || !digit(rest[2]) {
		return false
	}
	line, rest, ok := bytes.Cut(rest[:min(len(rest), headerWindow-5)], []byte("\n"))
	if !ok || len(line) > maxVersion {
		return false
	}
	if number := bytes.TrimRight(line[2:], " \t\r"); len(number) > 2 || !digit(number[len(number)-1]) {
		return false
	}
	for i, c := range rest {
		if !tokenBytes[c] {
			return i > 0 && (c == ':' || c == ' ')
		}
	}
	return false
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// startsMember reports whether a text begins with the header of a gzip member.
func startsMember(b []byte) bool {
	return len(b) > 3 && b[0] == 0x1f && b[1] == 0x8b && b[2] == 8 && b[3]&0xe0 == 0
}

// nextRecord returns where the next record begins in a text, at a place that begin accepts, or -1.
func nextRecord(b []byte, from int, begin func(at int) bool) int {
	for at := from; ; at++ {
		i := bytes.Index(b[at:], []byte("WARC/"))
		if i < 0 {
			return -1
		}
		if at += i; begin(at) && startsRecord(b[at:]) {
			return at
		}
	}
}

// looseDates are forms of a WARC-Date that others write, in addition to those of ParseTime.
var looseDates = []string{
	"20060102150405", "20060102150405.999", "2006-01-02T15:04:05", "2006-01-02T15:04Z", "2006-01-02T15:04", "2006-01-02T15:04:05-0700", "2006-01-02T15:04:05 MST",
	"2006-01-02 15:04:05", "2006-01-02 15:04:05Z", "2006-01-02 15:04:05 MST", "2006-01-02 15:04:05Z07:00", "2006-01-02T15Z", "2006-01-02", "2006-01-02Z", "20060102T150405Z", "20060102",
	"2006-01", "2006", time.RFC1123, time.RFC1123Z, time.ANSIC, "200601021504",
}

// date reads a WARC-Date as generously as it can. strict reports whether the standard's form was
// used, ok whether it is a date at all.
func date(s string) (at time.Time, strict, ok bool) {
	at, err := ParseTime(s)
	if strict = err == nil; err != nil && len(s) <= maxVersion {
		if len(s) == 17 && len(bytes.Trim([]byte(s), "0123456789")) == 0 {
			s = s[:14] + "." + s[14:]
		}
		for _, form := range looseDates {
			if at, err = time.Parse(form, s); err == nil {
				break
			}
		}
	}
	if y := at.UTC().Year(); err != nil || y < 1 || y > 9999 {
		return time.Time{}, false, false
	}
	return at, strict, true
}
