package rdf

import (
	"strings"
	"testing"
)

func TestSniff(t *testing.T) {
	for _, c := range []struct {
		text string
		want Format
	}{
		{"@prefix dcat: <http://www.w3.org/ns/dcat#> .\n", Turtle}, {"\ufeff# a comment\n\n@prefix : <x>.", Turtle}, {"PREFIX dcat: <http://x/>", Turtle},
		{"@base <http://x/> .", Turtle}, {"BASE <http://x/>", Turtle}, {"<http://h.example/s> a <http://x/y> .", Turtle}, {"<urn:x:y> <p> <o> .", Turtle},
		{"<http://h.example/s> <" + rdfType + "> <http://x/y> .", Turtle}, {"_:b0 <http://x/p> \"x\" .", Turtle},
		{`<?xml version="1.0"?><rdf:RDF>`, XML}, {` <rdf:RDF xmlns:rdf="x">`, XML}, {`<!DOCTYPE rdf:RDF [`, XML}, {`<RDF xmlns="http://www.w3.org/1999/02/22-rdf-syntax-ns#">`, XML},
		{utf16le("\ufeff<?xml version=\"1.0\"?><rdf:RDF>"), XML}, {`<!-- x --><rdf:RDF>`, XML},
		{`<Dataset xmlns="x" xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#">`, XML},
		{`<rdf:RDF xmlns="http://purl.org/rss/1.0/">`, Unknown}, {`<?xml version="1.0"?><rss>`, Unknown}, {`<html xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">`, Unknown},
		{`<!DOCTYPE html><HTML><p>rdf:RDF`, Unknown}, {`{"@context": {}}`, Unknown}, {`[]`, Unknown}, {"a,b\n1,2\n", Unknown}, {"", Unknown}, {"# only a comment", Unknown},
		{"prefix of a text: <b>", Unknown}, {"base of a text", Unknown}, {"<a href=http://x/>", Unknown}, {"<b>http://x</b>", Unknown}, {"_:x", Unknown},
		{strings.Repeat("#\n", sniffed) + "@prefix : <x> .", Unknown},
	} {
		if got := Sniff([]byte(c.text)); got != c.want {
			t.Errorf("%.60q: %d, want %d", c.text, got, c.want)
		}
	}
	for _, f := range []Format{Turtle, TriG, NTriples, NQuads, XML} {
		if FormatOf(f.MediaType()) != f {
			t.Errorf("format %d has the type %s", f, f.MediaType())
		}
	}
	for name, want := range map[string]Format{"/catalog.ttl": Turtle, "/x/DUMP.NT": NTriples, "/a.nq": NQuads, "/a.trig": TriG, "/c.rdf": XML, "/catalog.xml": Unknown, "/ttl": Unknown} {
		if got := FormatOfName(name); got != want {
			t.Errorf("%s: %d", name, got)
		}
	}
}
