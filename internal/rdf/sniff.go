package rdf

import (
	"bytes"
	"path"
	"strings"
)

// FormatOf returns the format that a media type names, Unknown for all others. Media types of XML
// in general are among those.
func FormatOf(mediaType string) Format {
	switch mediaType {
	case "text/turtle", "application/x-turtle", "application/turtle":
		return Turtle
	case "application/trig", "application/x-trig":
		return TriG
	case "application/n-triples", "text/n-triples", "text/ntriples":
		return NTriples
	case "application/n-quads", "text/x-nquads", "text/nquads":
		return NQuads
	case "application/rdf+xml":
		return XML
	}
	return Unknown
}

// MediaType returns the registered media type of a format, "" for Unknown.
func (f Format) MediaType() string {
	return [...]string{"", "text/turtle", "application/trig", "application/n-triples", "application/n-quads", "application/rdf+xml"}[f]
}

// FormatOfName returns the format for which a path ends as its files usually do, Unknown for all
// others.
func FormatOfName(name string) Format {
	switch strings.ToLower(path.Ext(name)) {
	case ".ttl":
		return Turtle
	case ".trig":
		return TriG
	case ".nt":
		return NTriples
	case ".nq":
		return NQuads
	case ".rdf", ".owl":
		return XML
	}
	return Unknown
}

// sniffed is how many of the first bytes of a document Sniff looks at.
const sniffed = 4 << 10

// Sniff returns the format of a document by its first bytes, 4 KiB at most. It returns Unknown if
// they could be something else, and for a feed (RSS 1.0 is RDF). It does not distinguish between
// Turtle and its subsets and supersets.
func Sniff(first []byte) Format {
	first = first[:min(len(first), sniffed)]
	if bytes.HasPrefix(first, []byte("\xff\xfe")) || bytes.HasPrefix(first, []byte("\xfe\xff")) {
		first = bytes.ReplaceAll(first, []byte{0}, nil) // UTF-16, as far as it is ASCII
		first = first[2:]
	}
	first = bytes.TrimPrefix(first, []byte("\xef\xbb\xbf"))
	if rest := bytes.TrimLeft(first, " \t\r\n"); len(rest) > 1 && rest[0] == '<' && (rest[1] == '?' || rest[1] == '!' || isNameStart(rest[1])) && !isIRI(rest) {
		isRDF := bytes.Contains(rest, []byte(nsRDF)) || bytes.Contains(rest, []byte("rdf:RDF"))
		isFeed := bytes.Contains(rest, []byte("http://purl.org/rss/1.0/")) || bytes.Contains(rest, []byte("http://my.netscape.com/rdf/simple/0.9/"))
		isHTML := bytes.Contains(bytes.ToLower(rest[:min(len(rest), 1024)]), []byte("<html"))
		if isRDF && !isFeed && !isHTML {
			return XML
		}
		return Unknown
	}
	for line := range bytes.Lines(first) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		switch word, rest, _ := bytes.Cut(line, []byte(" ")); strings.ToLower(string(word)) {
		case "@prefix", "prefix":
			name, iri, ok := bytes.Cut(rest, []byte(":"))
			if ok && !bytes.ContainsAny(bytes.TrimSpace(name), " <>;{") && bytes.HasPrefix(bytes.TrimSpace(iri), []byte("<")) {
				return Turtle
			}
		case "@base", "base":
			if bytes.HasPrefix(bytes.TrimSpace(rest), []byte("<")) {
				return Turtle
			}
		}
		if line[0] == '<' && isIRI(line) {
			return Turtle
		}
		if label, ok := bytes.CutPrefix(line, []byte("_:")); ok {
			if _, rest, _ := bytes.Cut(label, []byte(" ")); isIRI(bytes.TrimSpace(rest)) {
				return Turtle
			}
		}
		return Unknown
	}
	return Unknown
}

// isIRI reports whether a line begins with an IRI in angle brackets that has a scheme, and not with
// a tag.
func isIRI(line []byte) bool {
	if len(line) == 0 || line[0] != '<' {
		return false
	}
	iri, _, ok := bytes.Cut(line[1:], []byte(">"))
	return ok && schemeEnd(string(iri)) > 0 && !bytes.ContainsAny(iri, " \t\n\"'=") && (bytes.Contains(iri, []byte("://")) || bytes.HasPrefix(iri, []byte("urn:")))
}
