package search

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/pagetext"
	"github.com/curtsy/curtsy/internal/search/analysis"
	"github.com/curtsy/curtsy/internal/search/segment"
)

const (
	// headGap is the distance between the words of two headings, so that they do not count as
	// neighbours.
	headGap = 16
	// dirPlace is the position from which on the words of an address follow that are not in its
	// last part.
	dirPlace = 100
	// maxLangs is how many languages a segment that is being built can distinguish; the words of
	// pages in others have no stems. Two are for "none" and for words in links.
	maxLangs = 32
	// maxTokens limits the number of words of one page; 200,000 is a book.
	maxTokens = 200_000
	// maxLinkWords is how many words of the text of a link are indexed. All of them are in the
	// first batch of Terms.
	maxLinkWords = 32
)

// reader builds segments of pages. It must not be used concurrently.
type reader struct {
	extract pagetext.Extractor
	tokens  analysis.Tokenizer
	keys    *analysis.Keyer
	build   segment.Builder
	langs   []string // by number; the first is none
	buf     []byte
	hashes  []uint32      // of some words
	content pages.Content // nil: pages are read as they are
}

func newReader(content pages.Content) *reader {
	return &reader{keys: analysis.NewKeyer(), langs: []string{""}, content: content}
}

// Readers are the buffers with which pages are read into segments: some ten MiB for each index that
// reads at the same time. Indexes of one process should share them, because Options.Turn lets few
// of them read at a time. The zero value is ready to use, by many goroutines.
type Readers struct {
	mu   sync.Mutex
	free []*reader // guarded by mu
}

// take returns a reader without pages.
func (s *Readers) take(content pages.Content) *reader {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.free)
	if n == 0 {
		return newReader(content)
	}
	r := s.free[n-1]
	s.free = s.free[:n-1]
	r.content = content
	return r
}

// give takes a reader back, and drops the pages that it has read.
func (s *Readers) give(r *reader) {
	r.build.Reset()
	r.content = nil // it belongs to the index
	r.langs = r.langs[:1]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, r)
}

// keepBuffer is the size up to which a buffer is reused for the next page.
const keepBuffer = 1 << 20

// read adds the words of a page to the segment that is being built.
func (r *reader) read(p *pages.Page) {
	read, err := p.Readable(r.buf, r.content)
	if err == nil && p.Encoding != crawl.EncodingNone && cap(read.Body) <= keepBuffer {
		r.buf = read.Body
	}
	t := r.extract.Read(p.URL, read.ContentType, read.Charset, read.Body)
	r.take(p, &t, analysis.Language(cmp.Or(p.Lang, t.Lang), t.Body))
}

func (r *reader) langNumber(lang string) uint8 {
	if !analysis.HasStemmer(lang) {
		return 0
	}
	for i, l := range r.langs {
		if l == lang {
			return uint8(i)
		}
	}
	if len(r.langs) == maxLangs {
		return 0
	}
	r.langs = append(r.langs, lang)
	return uint8(len(r.langs) - 1)
}

func (r *reader) take(p *pages.Page, t *pagetext.Reading, lang string) {
	f := segment.Facts{
		Page: p.ID, URL: string(p.URL),
		Listing: uint8(t.LinkShare * 255), Digest: binary.BigEndian.Uint64(p.SHA256[:]),
		Narrow:     [segment.Narrows]string{string(p.URL.Host()), lang, p.ContentType},
		Properties: propertiesOf(p),
	}
	if !p.UnavailableAfter.IsZero() {
		f.Expires = p.UnavailableAfter.UnixMilli()
	}
	if d := dateOf(p, t); !d.IsZero() {
		f.Date = int32(d.Unix() / (24 * 3600))
	}
	r.build.Page(f, r.langNumber(lang))
	w := pageWords{r: r}
	title, rest := titleOf(p, t)
	w.begin(segment.Title)
	w.add(title)
	f.Words[segment.Title] = w.count()
	w.begin(segment.URL)
	file, dir := pathWords(string(p.URL))
	w.add([]byte(file))
	f.Words[segment.URL] = w.count()
	w.pos = max(w.pos, segment.URL.Start()+dirPlace)
	w.add([]byte(dir))
	w.begin(segment.Heads)
	for _, s := range t.Spans {
		if s.Kind == pagetext.Heading {
			w.add(t.Body[s.From:s.To])
			w.pos += headGap
		}
	}
	for _, text := range fieldTexts(p) {
		w.add(text)
		w.pos += headGap
	}
	f.Words[segment.Heads] = w.count()
	w.begin(segment.Body)
	w.body(t)
	f.Words[segment.Body] = w.count()
	w.begin(segment.Around)
	w.add(rest)
	eachPart(t, true, func(from, to int) { w.add(t.Body[from:to]) })
	f.Words[segment.Around] = w.count()
	r.build.SetWords(f.Words, w.sum(), w.sim.hash())
	for _, l := range t.Links {
		if l.Href.Host() != p.URL.Host() || l.Href == p.URL || l.NoFollow {
			continue // anybody can write links on other sites
		}
		r.build.Link(segment.Hash(string(l.Href)))
		r.tokens.Terms(l.Text, func(terms []segment.Term, long []byte) bool {
			r.build.AddToLink(terms[:min(len(terms), maxLinkWords)], long)
			return false
		})
	}
}

// eachPart calls do for the parts of the main text of a page, or of the text around it, by where in
// the body they are.
func eachPart(t *pagetext.Reading, around bool, do func(from, to int)) {
	at := 0
	for _, s := range t.Spans {
		if s.Kind != pagetext.Boilerplate {
			continue
		}
		if !around && s.From > at {
			do(at, s.From)
		}
		if around {
			do(s.From, s.To)
		}
		at = max(at, s.To)
	}
	if !around && at < len(t.Body) {
		do(at, len(t.Body))
	}
}

// body adds the main text, and tells the segment where its sections begin. Headings begin and end
// lines, so that the words are the same as those of the text as a whole.
func (w *pageWords) body(t *pagetext.Reading) {
	heads, nth := t.Spans, uint32(0)
	eachPart(t, false, func(from, to int) {
		for ; len(heads) > 0 && heads[0].From < to; heads = heads[1:] {
			h := heads[0]
			if h.Kind != pagetext.Heading {
				continue
			}
			if h.From >= from && h.To <= to {
				w.add(t.Body[from:h.From])
				s := segment.Section{Nth: nth, At: w.pos - segment.Body.Start()}
				n := w.n
				w.add(t.Body[h.From:h.To])
				s.Words = w.n - n
				w.r.build.Section(s)
				from = h.To
			}
			nth++
		}
		w.add(t.Body[from:to])
	})
}

// pageWords assigns positions to the words of a page's parts.
type pageWords struct {
	r    *reader
	part segment.Field
	pos  uint32
	end  uint32
	n    uint32 // number of words of the part, without wholes
	all  int
	text uint64 // a hash of the words of the body and around it, in their order
	sim  simHash
}

// leastSum is the minimum number of words that identify a page.
const leastSum = 12

// sum is 0 for a page with too few words.
func (w *pageWords) sum() uint64 {
	if w.all < leastSum {
		return 0
	}
	return w.text
}

func (w *pageWords) begin(f segment.Field) {
	w.part, w.pos, w.end, w.n = f, f.Start(), (f + 1).Start(), 0
}

func (w *pageWords) count() uint32 { return w.n }

func (w *pageWords) add(text []byte) { w.r.tokens.Terms(text, w.addSome) }

// addSome adds words, and reports whether there is space for more.
func (w *pageWords) addSome(terms []segment.Term, long []byte) bool {
	n := w.fitting(terms)
	hashes := w.r.hashes[:0]
	w.pos, hashes = w.r.build.Add(terms[:n], long, w.pos, hashes)
	w.r.hashes = hashes
	w.all += n
	w.n += uint32(len(hashes))
	switch w.part {
	case segment.Body:
		w.text = w.sim.add(hashes, w.text)
	case segment.Around:
		for _, h := range hashes {
			w.text = addHash(w.text, h)
		}
	}
	return n == len(terms)
}

// addHash is a hash of a text with one more word, by the word's hash.
func addHash(text uint64, word uint32) uint64 { return (text ^ uint64(word)) * 1099511628211 }

// fitting is how many words may be added: the part has a limit, and the page has.
func (w *pageWords) fitting(terms []segment.Term) int {
	n, left := min(len(terms), maxTokens-w.all), int(w.end)-int(w.pos)
	if n <= left { // nearly always
		return n
	}
	for i := range terms[:n] {
		if left <= 0 { // the gap after a heading may reach beyond the part
			return i
		}
		if !terms[i].Whole {
			left--
		}
	}
	return n
}

// pathWords returns the last part of a URL's path without its extension, and the parts before it.
// If the path ends with a slash, the last part is the directory's.
func pathWords(u string) (file, dir string) {
	p, err := url.Parse(u)
	if err != nil {
		return "", u
	}
	whole := strings.TrimSuffix(p.Path, "/")
	dir, file = path.Split(whole)
	if ext := path.Ext(file); ext != "" && len(ext) <= 6 {
		file = strings.TrimSuffix(file, ext)
	}
	return file, dir
}

// titleOf returns the part of a page's title that is specific to it, and the rest: the name of the
// site.
func titleOf(p *pages.Page, t *pagetext.Reading) (own, rest []byte) {
	if len(t.Title) == 0 || p.Ruled != nil && p.Ruled.Title != "" {
		return []byte(p.Title), nil // site rules say what the title is
	}
	own = t.Topic()
	before, after, _ := bytes.Cut(t.Title, own)
	return own, append(append(slices.Clone(before), ' '), after...)
}

// dateOf is the date in the page, otherwise the one that its server sent.
func dateOf(p *pages.Page, t *pagetext.Reading) time.Time {
	if !t.Date.IsZero() {
		return t.Date
	}
	d, err := time.Parse(time.RFC1123, p.LastModified)
	if err != nil {
		return time.Time{}
	}
	return d
}

// finish returns the segment of the pages that were read, nil when there are none.
func (r *reader) finish() []byte {
	if r.build.Len() == 0 {
		return nil
	}
	var key []byte
	raw := r.build.Finish(func(word []byte, langs uint32, emit func([]byte)) {
		if !ascii(word) {
			if key = r.keys.Accents(key[:0], string(word)); string(key[1:]) != string(word) {
				emit(key)
			}
		}
		for i, lang := range r.langs {
			if langs>>i&1 != 0 && lang != "" {
				if key = r.keys.Stem(key[:0], lang, string(word)); len(key) > 0 {
					emit(key)
				}
			}
		}
	})
	r.langs = r.langs[:1]
	return raw
}

func ascii(word []byte) bool {
	for _, c := range word {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
