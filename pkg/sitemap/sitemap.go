package sitemap

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"hash/maphash"
	"io"
	"regexp"
	"time"
)

// The limits of the protocol, which apply here as well.
const (
	MaxBytes   = 50 << 20 // of a file, uncompressed
	MaxEntries = 50_000   // of a file
	MaxLoc     = 2048     // bytes of an entry's URL; a longer one is skipped
	MaxHubs    = 8        // of a feed
)

// ErrNotSitemap means that the data has none of the forms. Most often it is an HTML page that was
// sent instead of an error.
var ErrNotSitemap = errors.New("not a sitemap")

// Kind is the form a file has.
type Kind uint8

// The forms.
const (
	Unknown Kind = iota
	URLSet       // <urlset>: pages
	Index        // <sitemapindex>: more sitemaps
	Text         // one URL per line
	Feed         // RSS or Atom: pages that changed recently
)

// String is the form's name.
func (k Kind) String() string {
	switch k {
	case URLSet:
		return "urlset"
	case Index:
		return "index"
	case Text:
		return "text"
	case Feed:
		return "feed"
	}
	return "unknown"
}

// Entry is one page, or one sitemap of an index.
type Entry struct {
	Loc        string    // as written, trimmed, character references decoded; not resolved
	LastMod    time.Time // zero: none, or unreadable
	ChangeFreq string    // always, hourly, daily, weekly, monthly, yearly, never; else empty
	Priority   float64   // 0 to 1; 0.5 if missing or unreadable, as in the protocol
	Sitemap    bool      // in an index: Loc is a sitemap
}

// Options limit what is read. The zero value means the protocol's limits.
type Options struct {
	MaxBytes   int64 // uncompressed; 0: MaxBytes
	MaxEntries int   // 0: MaxEntries
}

// Summary describes a file.
type Summary struct {
	Kind    Kind
	Entries int   // passed to each
	Skipped int   // without a usable URL
	Bytes   int64 // read, uncompressed
	// TTL is the <ttl> of a feed, the time for which it should not be read again; 0 means none.
	TTL time.Duration
	// Self is the address that a feed states for itself. Hubs are the addresses of hubs that
	// announce its changes (WebSub), at most MaxHubs. All are as written.
	Self string
	Hubs []string
	// reading ended at a limit, or the data ended too early; the entries before that count
	Truncated bool
}

// ReadFeed is Read for RSS and Atom only: anything else is ErrNotSitemap.
func ReadFeed(r io.Reader, o Options, each func(Entry) error) (Summary, error) {
	return read(r, o, each, true)
}

// Read reads a sitemap and calls each for every entry, in order. An error of each ends it and is
// returned unchanged. ErrNotSitemap is returned before the first entry. A file that is truncated or
// exceeds a limit is not an error: see Summary.Truncated.
func Read(r io.Reader, o Options, each func(Entry) error) (Summary, error) {
	return read(r, o, each, false)
}

func read(r io.Reader, o Options, each func(Entry) error, feed bool) (Summary, error) {
	if o.MaxBytes == 0 {
		o.MaxBytes = MaxBytes
	}
	if o.MaxEntries == 0 {
		o.MaxEntries = MaxEntries
	}
	s := &reader{o: o, each: each, feed: feed}
	in := bufio.NewReaderSize(r, bufferSize)
	if head, _ := in.Peek(2); bytes.Equal(head, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return s.sum, ErrNotSitemap
		}
		in = bufio.NewReaderSize(z, bufferSize)
	}
	s.in = &meter{r: in, left: o.MaxBytes}
	err := s.read(bufio.NewReaderSize(s.in, bufferSize))
	s.sum.Bytes = o.MaxBytes - s.in.left
	switch {
	case s.failed != nil:
		return s.sum, s.failed
	case s.sum.Kind == Unknown:
		return s.sum, ErrNotSitemap
	case errors.Is(err, errEnough):
		s.sum.Truncated = true
	case err != nil:
		s.sum.Truncated = true
	}
	return s.sum, nil
}

// errEnough stops reading at a limit.
var errEnough = errors.New("limit reached")

// reader is the state of one Read.
type reader struct {
	o      Options
	in     *meter
	each   func(Entry) error
	sum    Summary
	failed error // of each
	feed   bool  // other forms are not read
	// hashes of the addresses in other languages that were reported
	alternates map[uint64]struct{}
}

// entry passes an entry to each, unless it is empty.
func (s *reader) entry(e Entry) error {
	if e.Loc == "" || len(e.Loc) > MaxLoc {
		s.sum.Skipped++
		return nil
	}
	if s.sum.Entries >= s.o.MaxEntries {
		return errEnough
	}
	s.sum.Entries++
	s.failed = s.each(e)
	return s.failed
}

// alternate reports the address of an entry's page in another language, once. Such addresses are
// not entries, so they do not count towards the limit of entries; they have a limit of the same
// size. A file in many languages repeats the address of a page in the entry of each language.
func (s *reader) alternate(loc string, e *Entry) error {
	if loc == "" || len(loc) > MaxLoc || len(s.alternates) >= s.o.MaxEntries {
		return nil
	}
	h := maphash.String(alternateSeed, loc)
	if _, again := s.alternates[h]; again || loc == e.Loc {
		return nil
	}
	if s.alternates == nil {
		s.alternates = make(map[uint64]struct{})
	}
	s.alternates[h] = struct{}{}
	s.failed = s.each(Entry{Loc: loc, LastMod: e.LastMod, ChangeFreq: e.ChangeFreq, Priority: e.Priority})
	return s.failed
}

var alternateSeed = maphash.MakeSeed()

// bufferSize is the size of each reader's buffer. It is larger than maxPreamble, which is looked at
// before anything is read.
const bufferSize = 32 << 10

// maxPreamble limits the text before the beginning of a file, which is usually a program's
// warnings.
const maxPreamble = 16 << 10

// beginning matches the beginning of an XML file of one of the forms, or a comment, which may
// contain what looks like one.
var beginning = regexp.MustCompile(`(?is)<!--.*?(?:-->|$)|<\?xml\s|<(?:[\w.-]+:)?(?:urlset|sitemapindex|rss|feed|rdf)[\s>]`)

// skipPreamble discards the text before the beginning of the file, if it is found.
func skipPreamble(in *bufio.Reader) {
	first, _ := in.Peek(maxPreamble)
	for at := 0; ; {
		match := beginning.FindIndex(first[at:])
		if match == nil {
			return
		}
		if !bytes.HasPrefix(first[at+match[0]:], []byte("<!--")) {
			in.Discard(at + match[0])
			return
		}
		at += match[1]
	}
}

// meter reads a limited number of bytes, and returns errEnough at the next one.
type meter struct {
	r    io.Reader
	left int64
}

func (m *meter) Read(p []byte) (int, error) {
	if m.left == 0 {
		var one [1]byte
		if n, err := m.r.Read(one[:]); n == 0 && err != nil {
			return 0, err // it ends here without the limit
		}
		return 0, errEnough
	}
	n, err := m.r.Read(p[:min(int64(len(p)), m.left)])
	m.left -= int64(n)
	return n, err
}

// read examines the first byte that is not blank and reads the rest accordingly.
func (s *reader) read(in *bufio.Reader) error {
	if bom, _ := in.Peek(3); bytes.Equal(bom, []byte("\xef\xbb\xbf")) {
		in.Discard(3)
	}
	if bom, _ := in.Peek(2); bytes.Equal(bom, []byte{0xff, 0xfe}) || bytes.Equal(bom, []byte{0xfe, 0xff}) {
		in = bufio.NewReaderSize(&utf16Reader{r: in}, bufferSize)
	}
	skipPreamble(in)
	for {
		c, err := in.ReadByte()
		switch {
		case err != nil:
			return err
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			continue
		}
		in.UnreadByte()
		if c == '<' {
			return s.readXML(in)
		}
		if s.feed {
			return nil
		}
		return s.readText(in)
	}
}
