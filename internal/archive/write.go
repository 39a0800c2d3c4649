package archive

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/s2"
	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/disk"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/warc"
	"github.com/curtsy/curtsy/pkg/canon"
)

// writing is a batch that is being archived.
type writing struct {
	a     *Shard
	own   *bolt.Bucket
	next  state // after the commit
	ended []*os.File
	start int64 // position of a.buf in the open file
	lines []byte
}

// write appends the records of a batch and syncs them to disk, and puts the new state into the
// transaction.
func (w *writing) write(own *bolt.Bucket, counted []*pages.Page, captures []pages.Page) error {
	w.own = own
	w.a.buf.Reset()
	if o := w.next.Open; o != nil {
		w.start = o.Length
	}
	for i := range captures {
		if err := w.capture(&captures[i], nil); err != nil {
			return err
		}
	}
	for _, p := range counted {
		if err := w.capture(p, p); err != nil {
			return err
		}
	}
	if err := w.flush(); err != nil {
		return fmt.Errorf("%w: %w", ErrWrite, err)
	}
	return putState(own, w.next)
}

// capture appends the records of one capture. page is the page that it brought, if that is stored.
func (w *writing) capture(p, page *pages.Page) error {
	c := p.Capture
	if c == nil || page != nil && !keeps(page) {
		return nil
	}
	before, err := lastOf(w.own, p.URL)
	if err != nil {
		return err
	}
	if page == nil && before.has(p.Visit, c.Number) {
		return nil // it was archived before
	}
	g := &group{a: w.a, page: p, stored: page != nil, before: before}
	if before.Dir != w.a.dir {
		g.before = last{} // an archive does not refer to another
	}
	if err := g.read(); err != nil {
		w.a.o.Log.Error("a response is not archived", "url", p.URL, "err", err)
		return nil // a repetition would give the same result
	}
	if w.next.Open == nil {
		if err := w.rotate(p.FetchedAt); err != nil {
			return fmt.Errorf("%w: %w", ErrWrite, err)
		}
	}
	from := w.a.buf.Len()
	entry, err := g.append(&w.a.buf)
	if errors.Is(err, warc.ErrBlock) {
		w.a.buf.Truncate(from)
		w.a.o.Log.Error("a response is not archived", "url", p.URL, "err", err)
		return nil // a repetition would give the same result
	}
	if err != nil {
		return err
	}
	if w.start+int64(w.a.buf.Len()) > w.a.o.MaxFile && w.start+int64(from) > w.next.Open.Info {
		// It is moved to the next file, as its first records.
		rest := bytes.Clone(w.a.buf.Bytes()[from:])
		w.a.buf.Truncate(from)
		if err := w.rotate(p.FetchedAt); err != nil {
			return fmt.Errorf("%w: %w", ErrWrite, err)
		}
		from = w.a.buf.Len()
		w.a.buf.Write(rest)
	}
	entry.Offset, entry.Filename = w.start+int64(from), w.next.Open.Name
	w.lines = entry.Append(w.lines)
	return putLast(w.own, p.URL, g.after())
}

// keeps reports whether a page may be archived according to its current directives.
func keeps(p *pages.Page) bool {
	return p.Deleted == "" && p.Directives&(crawl.NoArchive|crawl.NoIndex) == 0 && p.UnavailableAfter.IsZero()
}

// rotate closes the open file, if there is one, and starts the next.
func (w *writing) rotate(now time.Time) error {
	if w.next.Open != nil {
		if err := w.flush(); err != nil {
			return err
		}
		w.next.Ended = append(w.next.Ended, *w.next.Open)
		if w.a.file != nil {
			w.ended = append(w.ended, w.a.file)
		}
		if w.a.lines != nil {
			w.ended = append(w.ended, w.a.lines)
		}
		w.a.file, w.a.lines, w.next.Open = nil, nil, nil
	}
	if err := os.MkdirAll(w.a.dir, disk.DirMode); err != nil {
		return err
	}
	if !slices.Contains(w.next.Dirs, w.a.dir) {
		w.next.Dirs = append(w.next.Dirs, w.a.dir)
	}
	o := &open{Dir: w.a.dir, Name: w.newName(now)}
	f, err := disk.OpenRegular(o.path()+openSuffix, os.O_CREATE|os.O_EXCL|os.O_RDWR)
	if err != nil {
		return err
	}
	w.next.Open, w.a.file, w.start = o, f, 0
	// The collected lines only save time: missing lines are read from the file.
	w.a.lines, _ = disk.OpenRegular(linesPath(o), os.O_CREATE|os.O_EXCL|os.O_RDWR)
	w.a.buf.Reset()
	if err := w.info(o, now); err != nil {
		return err
	}
	o.Info = int64(w.a.buf.Len())
	return syncDir(o.Dir)
}

// flush appends the buffer to the file and syncs it to disk.
func (w *writing) flush() error {
	o := w.next.Open
	if o == nil || w.a.buf.Len() == 0 {
		return nil
	}
	n, err := w.a.file.WriteAt(w.a.buf.Bytes(), w.start)
	if err == nil {
		err = w.a.file.Sync()
	}
	if err != nil {
		return err
	}
	w.start += int64(n)
	o.Length = w.start
	w.a.buf.Reset()
	if w.a.lines != nil {
		if _, err := w.a.lines.Write(w.lines); err != nil {
			w.dropLines(o)
		}
	}
	w.lines = w.lines[:0]
	return nil
}

// dropLines discards the collected lines, so that the index is read from the file.
func (w *writing) dropLines(o *open) {
	w.a.lines.Close()
	w.a.lines = nil
	os.Remove(linesPath(o))
}

// info writes the first record of a file.
func (w *writing) info(o *open, now time.Time) error {
	var text strings.Builder
	for _, f := range append([][2]string{{"format", "WARC File Format 1.1"},
		{"conformsTo", "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"}, {"isPartOf", w.a.o.Crawl}}, w.a.o.Info...) {
		text.WriteString(f[0] + ": " + oneLine(f[1]) + "\r\n")
	}
	return w.a.enc.Append(&w.a.buf, []warc.Field{
		{Name: "WARC-Type", Value: warc.Warcinfo}, {Name: "WARC-Record-ID", Value: warc.ID(w.a.o.Crawl, o.Name)},
		{Name: "WARC-Date", Value: warc.Time(now)}, {Name: "WARC-Filename", Value: o.Name}, {Name: "Content-Type", Value: warc.TypeFields},
	}, warc.Piece{Text: []byte(text.String())})
}

// oneLine returns a text without characters that end a line.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}

// group is the records of one capture.
type group struct {
	a      *Shard
	page   *pages.Page
	stored bool // there is a page
	before last // what is archived of the URL in this directory

	answer         warc.Message
	answerID, date string

	whole   []byte // the answer, or only its head if the page has the body
	packed  []byte // the body of the answer, or all of it, as an S2 block; nil: none
	size    int    // of the body of a page, if it is not unpacked
	payload string // digest
	revisit string // profile; "": not a revisit but a response
	refers  *ref
}

// read parses the capture, and decides which records it becomes.
func (g *group) read() error {
	p, c := g.page, g.page.Capture
	g.answerID, g.date = g.newID(g.kind()), warc.Time(p.FetchedAt)
	response, err := c.Response, error(nil)
	if !c.OfPage {
		if response, err = pages.Unpack(nil, c.Encoding, c.Response); err != nil {
			return err
		}
		if c.Encoding == crawl.EncodingS2 {
			g.packed = c.Response
		}
	}
	g.whole = response
	if g.a.links, err = pages.Unpack(g.a.links, crawl.EncodingS2, c.Links); err != nil {
		return err
	}
	m, ok := warc.Split(response)
	switch {
	case c.Type != "":
		m = warc.Message{Body: response} // a document without a response
	case !ok:
		return errors.New("it has no header")
	}
	g.answer = m
	empty := false
	if c.OfPage {
		// For an unchanged page, Encoding is that of the stored copy.
		g.answer.Body = nil
		if g.payload = warc.DigestOf(p.SHA256); c.Encoding == crawl.EncodingS2 {
			g.packed = p.Body
		}
		if c.CRC != 0 && len(g.packed) > 0 {
			g.size, err = s2.DecodedLen(g.packed)
		} else {
			err = g.unpack()
		}
		if err != nil {
			return err
		}
	} else {
		payload, _, _ := m.Payload()
		g.payload, empty = warc.Digest(payload), len(payload) == 0
	}
	old := g.before.Full
	switch status := m.Status(); {
	case old == nil || (old.Status == 0) != (c.Type != ""): // a response refers to responses only
	case status == 304:
		// The 304 confirms the content of the stored page. The archived content may be another.
		if !g.stored || old.Content == content(p) {
			g.revisit, g.refers = warc.ProfileNotModified, old
			g.payload = old.Digest
		}
	case !c.Cut && !empty && old.Digest == g.payload && old.Status == status:
		g.revisit, g.refers = warc.ProfileIdentical, old
	}
	return nil
}

// unpack unpacks the body of a page.
func (g *group) unpack() (err error) {
	g.a.body, err = pages.Unpack(g.a.body, g.page.Capture.Encoding, g.page.Body)
	g.answer.Body = g.a.body
	return err
}

// content identifies the content of a page.
func content(p *pages.Page) string { return warc.DigestOf(p.SHA256) }

// after is what is archived of the URL including this capture.
func (g *group) after() last {
	p, c := g.page, g.page.Capture
	l := last{Visit: p.Visit, Number: c.Number, Dir: g.a.dir, Full: g.before.Full}
	if p.Visit.Compare(g.before.Visit) < 0 {
		l.Visit, l.Number = g.before.Visit, g.before.Number
	}
	if l.Full != nil && g.stored && g.revisit == warc.ProfileIdentical {
		same := *l.Full
		same.Content, l.Full = content(p), &same
	}
	if g.revisit == "" && g.answer.Status() != 304 {
		l.Full = &ref{ID: g.answerID, Date: g.date, Digest: g.payload, Status: g.answer.Status()}
		if g.stored {
			l.Full.Content = content(p)
		}
		if c.Cut {
			l.Full = nil // nothing may refer to a truncated answer
		}
	}
	return l
}

// kind is the type of the record of the answer, if that is no revisit.
func (g *group) kind() string {
	if g.page.Capture.Type != "" {
		return warc.Resource
	}
	return warc.Response
}

// id is the identity of a record of this kind.
func (g *group) id(kind string) string {
	if kind == warc.Response || kind == warc.Resource || kind == warc.Revisit {
		return g.answerID
	}
	return g.newID(kind)
}

// newID is id before the identity of the answer is known.
func (g *group) newID(kind string) string {
	v := g.page.Visit
	return warc.ID(g.a.o.Crawl, string(g.page.URL), strconv.FormatUint(v.Epoch, 10), strconv.FormatUint(v.N, 10), strconv.Itoa(g.page.Capture.Number), kind)
}

// append appends the records. It returns the index line of the first one, without its position.
func (g *group) append(to *bytes.Buffer) (entry warc.Entry, err error) {
	p, c := g.page, g.page.Capture
	from := to.Len()
	kind, media := g.kind(), warc.TypeResponse
	if c.Type != "" {
		media = oneLine(c.Type)
	}
	if g.revisit != "" {
		kind = warc.Revisit
	}
	fields := g.fields(kind, media)
	block := g.block()
	if g.revisit != "" {
		fields = append(fields, warc.Field{Name: "WARC-Profile", Value: g.revisit}, warc.Field{Name: "WARC-Refers-To", Value: g.refers.ID},
			warc.Field{Name: "WARC-Refers-To-Target-URI", Value: string(p.URL)}, warc.Field{Name: "WARC-Refers-To-Date", Value: g.refers.Date})
	}
	switch {
	case c.Cut:
		fields = append(fields, warc.Field{Name: "WARC-Truncated", Value: c.CutBy.String()})
	case g.revisit == warc.ProfileIdentical:
		fields = append(fields, warc.Field{Name: "WARC-Truncated", Value: crawl.CutByLength.String()})
	}
	fields = append(fields, warc.Field{Name: "WARC-Payload-Digest", Value: g.payload})
	// The body of a page is its payload, whose digest was already computed.
	if kind == warc.Revisit || !c.OfPage {
		fields = append(fields, warc.Field{Name: "WARC-Block-Digest", Value: warc.Digest(texts(block)...)})
	}
	put := g.a.enc.Append
	if e := g.answer.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		put = g.a.enc.AppendStored // it is compressed already
	}
	err = put(to, fields, block...)
	if errors.Is(err, warc.ErrText) {
		if err = g.unpack(); err == nil {
			err = put(to, fields, g.block()...)
		}
	}
	if err != nil {
		return entry, err
	}
	entry = warc.Entry{Key: p.URL.SURT(), Time: warc.Stamp(p.FetchedAt), URL: string(p.URL), Digest: g.payload, Length: int64(to.Len() - from)}
	if kind == warc.Resource {
		entry.DescribeResource(media)
	} else {
		entry.Describe(g.answer.Head, g.revisit != "")
	}
	if err := g.request(to); err != nil || !g.stored {
		return entry, err
	}
	return entry, g.beside(to, g.a.enc.Append, warc.Metadata, warc.TypeFields, g.metadata()...)
}

// request appends the request, if there was one.
func (g *group) request(to *bytes.Buffer) error {
	c := g.page.Capture
	if c.Type != "" {
		return nil
	}
	put := g.a.enc.Append
	if len(c.Request) < shortRequest {
		put = g.a.enc.AppendStored
	}
	return g.beside(to, put, warc.Request, warc.TypeRequest, warc.Piece{Text: c.Request})
}

// block is the block of the answer.
func (g *group) block() []warc.Piece {
	switch {
	case g.revisit != "":
		return warc.Pieces(g.answer.Head)
	case g.packed == nil:
		return warc.Pieces(g.answer.Head, g.answer.Body)
	case g.page.Capture.OfPage && g.answer.Body == nil:
		return []warc.Piece{{Text: g.answer.Head}, {S2: g.packed, Size: g.size, CRC: g.page.Capture.CRC}}
	case g.page.Capture.OfPage:
		return []warc.Piece{{Text: g.answer.Head}, {Text: g.answer.Body, S2: g.packed}}
	}
	return []warc.Piece{{Text: g.whole, S2: g.packed}}
}

// shortRequest is the size below which a request is not compressed for its record: for a usual
// request that would save 136 bytes of 717, for two thirds of the cost of the record.
const shortRequest = 1 << 10

// appender appends one record, compressed or not.
type appender = func(to *bytes.Buffer, fields []warc.Field, pieces ...warc.Piece) error

// beside appends another record of the same capture.
func (g *group) beside(to *bytes.Buffer, put appender, kind, media string, block ...warc.Piece) error {
	fields := append(g.fields(kind, media), warc.Field{Name: "WARC-Concurrent-To", Value: g.answerID},
		warc.Field{Name: "WARC-Block-Digest", Value: warc.Digest(texts(block)...)})
	return put(to, fields, block...)
}

// texts returns the texts of pieces.
func texts(pieces []warc.Piece) (all [][]byte) {
	for _, p := range pieces {
		all = append(all, p.Text)
	}
	return all
}

// fields returns the fields that all records of the capture have.
func (g *group) fields(kind, media string) []warc.Field {
	all := append(g.a.fields[:0],
		warc.Field{Name: "WARC-Type", Value: kind}, warc.Field{Name: "WARC-Record-ID", Value: g.id(kind)},
		warc.Field{Name: "WARC-Date", Value: g.date}, warc.Field{Name: "WARC-Target-URI", Value: string(g.page.URL)})
	if ip := g.page.Capture.IP; ip != "" { // otherwise only a proxy knows it
		all = append(all, warc.Field{Name: "WARC-IP-Address", Value: ip})
	}
	return append(all, warc.Field{Name: "Content-Type", Value: media})
}

// metadata states where a page was found, how long fetching it took, the site's statements about
// its use, and its outlinks.
func (g *group) metadata() []warc.Piece {
	b := g.a.text[:0]
	defer func() { g.a.text = b }()
	line := func(name, value string) {
		b = append(append(append(append(b, name...), ": "...), oneLine(value)...), "\r\n"...)
	}
	var hides func(canon.URL) bool
	if g.a.o.Forgotten != nil {
		hides = g.a.o.Forgotten()
	}
	if via := g.page.FoundOn; via != "" && (hides == nil || !hides(via)) {
		line("via", string(via))
	}
	line("hopsFromSeed", strings.Repeat("L", min(g.page.Depth, 50)))
	if g.page.Capture.Type == "" {
		line("fetchTimeMs", strconv.FormatInt(g.page.Capture.Took.Milliseconds(), 10))
	}
	if len(g.page.Usage) > 0 {
		if text, err := json.Marshal(crawl.UsageOf(g.page.Usage)); err == nil {
			line("usage", string(text))
		}
	}
	links := warc.Piece{Text: g.a.links, S2: g.page.Capture.Links}
	if hides != nil {
		if kept, gone := unnamed(g.a.links, hides); gone > 0 {
			links = warc.Piece{Text: kept}
		}
	}
	return []warc.Piece{{Text: b}, links}
}

// linesPath is the file that collects the index lines of a file while that is open.
func linesPath(o *open) string { return filepath.Join(o.Dir, o.Name+".cdxj"+openSuffix) }
