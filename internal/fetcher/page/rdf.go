package page

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/catalog"
	"github.com/curtsy/curtsy/internal/fetcher/answer"
	"github.com/curtsy/curtsy/internal/rdf"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Documents in RDF describe anything. Those about datasets are read as catalogues are; the others
// are refused as rdf.

// mayBeRDF reports whether the first bytes of an answer decide that it is RDF, because its media
// type does not say so: it is XML, or its type says nothing and its name does. unknown: the answer
// has no media type.
func mayBeRDF(u canon.URL, kind string, unknown bool) bool {
	switch {
	case slices.Contains(typesXML, kind):
		return true
	case !unknown && kind != answer.Text && kind != answer.HTML && kind != "application/octet-stream" && kind != "binary/octet-stream":
		return false
	}
	name := u.Path()
	return rdf.FormatOfName(name) != rdf.Unknown || strings.EqualFold(path.Base(name), "catalog.xml")
}

// shownRDF returns the media type of RDF that the first bytes of an answer show, "" if they do not.
// The name distinguishes forms that begin alike.
func shownRDF(u canon.URL, first []byte) string {
	format := rdf.Sniff(first)
	if named := rdf.FormatOfName(u.Path()); format == rdf.Turtle && named != rdf.Unknown && named != rdf.XML {
		format = named
	}
	return format.MediaType()
}

// aboutDatasets reports whether RDF may describe datasets or lead to other pages of a catalogue, by
// the first MiB of a long document. Others are not read to their end.
func aboutDatasets(first []byte) bool {
	wide := bytes.HasPrefix(first, []byte("\xff\xfe")) || bytes.HasPrefix(first, []byte("\xfe\xff"))
	return wide || bytes.Contains(first, []byte("Dataset")) || bytes.Contains(first, []byte("dcat#dataset")) || bytes.Contains(first, []byte("dcat:dataset")) ||
		bytes.Contains(first, []byte("adms#Asset")) || bytes.Contains(first, []byte("adms:Asset"))
}

// readRDF reads a short document, whose text is kept. It is c.err if it describes no datasets and
// names no other pages.
func (c *catalogue) readRDF() {
	u := string(c.u.URL)
	c.sum, c.err = catalog.CutRDF(bytes.NewReader(c.body), c.format, u, maxMeta, nil)
	if c.err != nil || len(c.sum.Pages.More(u, 1)) > 0 {
		return
	}
	if _, err := catalog.ReadJSON(c.body, catalog.Document{URL: u, Type: c.kind}); err != nil {
		c.err = err
	}
}
