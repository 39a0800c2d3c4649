package archive

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// last is what a store records about the captures of one URL.
type last struct {
	Visit  crawl.VisitID // the newest that was archived, and its number in that visit
	Number int
	Dir    string // its directory
	Full   *ref   // the newest with its payload; nil: none
}

// ref is a response, or a resource, that revisits may refer to.
type ref struct {
	ID      string
	Date    string
	Digest  string // of the payload
	Status  int    // 0: it is a resource
	Content string // of the page, decoded; empty: there was no page
}

// has reports whether this capture or a newer one is archived already.
func (l *last) has(v crawl.VisitID, number int) bool {
	order := v.Compare(l.Visit)
	return order < 0 || order == 0 && number <= l.Number
}

// urlPrefix begins the keys of URLs.
const urlPrefix = "u"

func lastOf(own *bolt.Bucket, u canon.URL) (l last, err error) {
	b := own.Get([]byte(urlPrefix + string(u)))
	if b == nil {
		return l, nil
	}
	if l, err = parseLast(b); err != nil {
		return l, fmt.Errorf("%w: the archive record of %s", err, u)
	}
	return l, nil
}

func putLast(own *bolt.Bucket, u canon.URL, l last) error {
	return own.Put([]byte(urlPrefix+string(u)), l.append(nil))
}

// A record begins with a letter: after F comes a ref, after N none. Numbers are varints, and texts
// are preceded by their length. The content of a page is stored only if it differs from the
// payload.
const (
	lastWithRef    = 'F'
	lastWithoutRef = 'N'
)

func (l *last) append(b []byte) []byte {
	kind := byte(lastWithoutRef)
	if l.Full != nil {
		kind = lastWithRef
	}
	number := func(n uint64) { b = binary.AppendUvarint(b, n) }
	text := func(s string) { number(uint64(len(s))); b = append(b, s...) }
	b = append(b, kind)
	number(l.Visit.Epoch)
	number(l.Visit.N)
	number(uint64(l.Number))
	text(l.Dir)
	if f := l.Full; f != nil {
		text(f.ID)
		text(f.Date)
		text(f.Digest)
		number(uint64(f.Status))
		switch f.Content {
		case f.Digest:
			b = append(b, 1)
		default:
			b = append(b, 0)
			text(f.Content)
		}
	}
	return b
}

// errLast means that a record cannot be read.
var errLast = errors.New("the store's record of an archive is damaged")

func parseLast(b []byte) (l last, err error) {
	number := func() uint64 {
		n, size := binary.Uvarint(b)
		if size <= 0 {
			err, b = errLast, nil
			return 0
		}
		b = b[size:]
		return n
	}
	text := func() string {
		n := number()
		if n > uint64(len(b)) {
			err, b = errLast, nil
			return ""
		}
		s := string(b[:n])
		b = b[n:]
		return s
	}
	kind := number()
	l.Visit.Epoch, l.Visit.N, l.Number, l.Dir = number(), number(), int(number()), text()
	switch kind {
	case lastWithRef:
		l.Full = &ref{ID: text(), Date: text(), Digest: text(), Status: int(number())}
		if l.Full.Content = l.Full.Digest; number() == 0 {
			l.Full.Content = text()
		}
	case lastWithoutRef:
	default:
		err = errLast
	}
	return l, err
}

// prefixes returns the prefixes of the keys of all URLs below an entry of crawl.Spec.Forgotten.
// Keys of other URLs may have them too.
func prefixes(entry string) []string {
	if strings.Contains(entry, "://") {
		return []string{urlPrefix + entry}
	}
	return []string{urlPrefix + "http://" + entry, urlPrefix + "https://" + entry}
}
