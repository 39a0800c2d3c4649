package crawl

import (
	"fmt"
	"slices"
	"strings"
)

// Types are kinds of media that a crawl stores. They are combined with |.
type Types uint8

// The types.
const (
	TypeHTML     Types = 1 << iota // HTML and XHTML
	TypeText                       // plain text
	TypeMarkdown                   // Markdown, also without AcceptMarkdown
	TypeData                       // CSV, tab-separated values, JSON
	TypeFeed                       // RSS, Atom
	TypePDF
	TypeOffice // Office Open XML and OpenDocument: text, tables, slides; EPUB
)

// DefaultTypes are stored unless the spec has other types. They can be read directly. The others
// need a separate process and usually have many times the bytes of a page, and not everybody wants
// them.
const DefaultTypes = TypeHTML | TypeText

// typeNames are the words for the types, in order.
var typeNames = [...]string{"html", "text", "markdown", "data", "feed", "pdf", "office"}

// TypeNames are the words that ParseTypes knows.
func TypeNames() []string { return append([]string(nil), typeNames[:]...) }

// ParseTypes reads the words for types. There must be at least one. An element may have several
// words with commas between them.
func ParseTypes(lists []string) (set Types, err error) {
next:
	for n := range strings.SplitSeq(strings.Join(lists, ","), ",") {
		for i, word := range typeNames {
			if strings.EqualFold(strings.TrimSpace(n), word) {
				set |= 1 << i
				continue next
			}
		}
		return 0, fmt.Errorf("unknown type %q; use %s", n, strings.Join(typeNames[:], ", "))
	}
	return set, nil
}

// Names are the words for a set of types, in order.
func (t Types) Names() (names []string) {
	for i, word := range typeNames {
		if t&(1<<i) != 0 {
			names = append(names, word)
		}
	}
	return names
}

// mediaTypes are the media types that can be stored, with their Types.
var mediaTypes = map[string]Types{
	"text/html": TypeHTML, "application/xhtml+xml": TypeHTML,
	"text/plain": TypeText, "text/markdown": TypeMarkdown,
	"text/csv": TypeData, "text/tab-separated-values": TypeData, "application/json": TypeData,
	"application/rss+xml": TypeFeed, "application/atom+xml": TypeFeed,
	"application/pdf": TypePDF,
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document":   TypeOffice,
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":         TypeOffice,
	"application/vnd.openxmlformats-officedocument.presentationml.presentation": TypeOffice,
	"application/vnd.oasis.opendocument.text":                                   TypeOffice,
	"application/vnd.oasis.opendocument.spreadsheet":                            TypeOffice,
	"application/vnd.oasis.opendocument.presentation":                           TypeOffice,
	"application/epub+zip": TypeOffice,
}

// TypeOf is the type of a media type, which is in lower case without parameters. 0 means that it is
// never stored.
func TypeOf(mediaType string) Types { return mediaTypes[mediaType] }

// MediaTypes are the media types of a set of types, in the order of their names.
func (t Types) MediaTypes() (all []string) {
	for media, kind := range mediaTypes {
		if t&kind != 0 {
			all = append(all, media)
		}
	}
	slices.Sort(all)
	return all
}

// TypeSet are the types that the crawl stores. Words that this version does not know are ignored.
func (s *Spec) TypeSet() (set Types) {
	for _, n := range s.Types {
		if t, err := ParseTypes([]string{n}); err == nil {
			set |= t
		}
	}
	if set == 0 {
		return DefaultTypes
	}
	return set
}
