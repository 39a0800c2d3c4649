package catalog

import (
	"bufio"
	"crypto/sha1"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// dcatContext is part of the document, so that it expands without a network.
var dcatContext = object{
	"dcat": "http://www.w3.org/ns/dcat#", "dct": "http://purl.org/dc/terms/", "foaf": "http://xmlns.com/foaf/0.1/", "prov": "http://www.w3.org/ns/prov#",
	"rdfs": "http://www.w3.org/2000/01/rdf-schema#", "spdx": "http://spdx.org/rdf/terms#", "xsd": "http://www.w3.org/2001/XMLSchema#",
}

type object = map[string]any

// dcatWriter writes a catalogue of DCAT-AP 3. Every dataset has an IRI: the identifier that its
// site gives it, if that is an IRI and no other site gives the same; otherwise a UUID (RFC 9562,
// version 5) made of its ID, which stays the same as long as the ID does. A property that the site
// does not state is left out, even if the profile requires it, such as a description.
type dcatWriter struct {
	out  *bufio.Writer
	used map[string]bool // IRIs
	some bool
}

func (w *dcatWriter) export(x *Exporter) {
	x.head = func() error {
		context, err := json.Marshal(dcatContext)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w.out, `{"@context": %s, "@id": "urn:uuid:%s", "@type": "dcat:Catalog",
 "dct:title": "Datasets found by Curtsy", "dct:description": "Datasets that the sites of a crawl announce, merged from all sources.",
 "dct:publisher": {"@type": "foaf:Agent", "foaf:name": "Curtsy"}, "dcat:dataset": [`, context, nameUUID("catalogue"))
		return err
	}
	x.one = func(d *crawl.DatasetInfo) error {
		if w.some {
			w.out.WriteByte(',')
		}
		w.some = true
		w.out.WriteString("\n  ")
		enc := json.NewEncoder(w.out)
		enc.SetEscapeHTML(false)
		return enc.Encode(w.dataset(d))
	}
	x.tail = func() error {
		_, err := w.out.WriteString("]}\n")
		return err
	}
}

// iri returns the IRI of a dataset.
func (w *dcatWriter) iri(d *crawl.DatasetInfo) string {
	iri := d.Identifier
	if !isURL(iri) || w.used[iri] {
		iri = "urn:uuid:" + nameUUID(d.ID)
	}
	w.used[iri] = true
	return iri
}

// nameUUID is the UUID of a name in our own namespace.
func nameUUID(name string) string {
	sum := sha1.Sum([]byte("\x6b\xa7\xb8\x11\x9d\xad\x11\xd1\x80\xb4\x00\xc0\x4f\xd4\x30\xc8" + "https://github.com/curtsy/curtsy#" + name))
	u := sum[:16]
	u[6], u[8] = u[6]&0x0f|0x50, u[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

func (w *dcatWriter) dataset(d *crawl.DatasetInfo) object {
	o := object{"@id": w.iri(d), "@type": "dcat:Dataset"}
	identifiers := []any{d.ID}
	if d.Identifier != "" {
		identifiers = append(identifiers, d.Identifier)
	}
	o["dct:identifier"] = identifiers
	text := func(key, v string) {
		if v != "" {
			o[key] = v
		}
	}
	title := d.Title
	if title == "" {
		title = d.Name
	}
	text("dct:title", title)
	text("dct:description", d.Description)
	text("dcat:version", d.Version)
	setAny(o, "dct:issued", dcatDate(d.Issued))
	setAny(o, "dct:modified", dcatDate(d.Modified))
	if isURL(d.Source) {
		o["dct:source"] = object{"@id": d.Source}
	} else if d.Source != "" {
		o["dct:provenance"] = object{"@type": "dct:ProvenanceStatement", "rdfs:label": d.Source}
	}
	if isURL(d.Page) {
		o["dcat:landingPage"] = object{"@id": d.Page}
	}
	license, rights := dcatLicense(d)
	setAny(o, "dct:license", license)
	setAny(o, "dct:rights", rights)
	if directives := d.Usage.Directives(); len(directives) > 0 {
		o["dct:accessRights"] = object{"@type": "dct:RightsStatement", "rdfs:label": "allowed uses according to its site: " + strings.Join(directives, ", ")}
	}
	if d.Publisher != "" {
		o["dct:publisher"] = object{"@type": "foaf:Agent", "foaf:name": d.Publisher}
	}
	var people, files, documents, also []any
	for _, name := range d.Creators {
		people = append(people, object{"@type": "foaf:Agent", "foaf:name": name})
	}
	for i := range d.Files {
		files = append(files, dcatFile(&d.Files[i], license))
	}
	for _, s := range d.Sources {
		documents = append(documents, object{"@id": s.Document})
	}
	for _, s := range d.AlsoDescribedAt {
		also = append(also, object{"@id": s.Document})
	}
	for key, list := range map[string][]any{"dct:creator": people, "dcat:distribution": files, "prov:wasDerivedFrom": documents, "rdfs:seeAlso": also} {
		if list != nil {
			o[key] = list
		}
	}
	if len(d.Keywords) > 0 {
		o["dcat:keyword"] = d.Keywords
	}
	return o
}

func setAny(o object, key string, v any) {
	if v != nil {
		o[key] = v
	}
}

// dcatLicense returns the address of a licence, or the text of the site that is not a known
// licence.
func dcatLicense(d *crawl.DatasetInfo) (license, rights any) {
	switch {
	case d.SPDX != nil:
		license = object{"@id": "http://spdx.org/licenses/" + *d.SPDX}
	case isURL(d.License):
		return object{"@id": d.License}, nil
	}
	if d.License != "" {
		rights = object{"@type": "dct:RightsStatement", "rdfs:label": d.License}
	}
	return license, rights
}

// dcatDate returns a date with its type if it has a form of XML Schema, otherwise as it is.
func dcatDate(s string) any {
	for _, form := range []struct{ layout, name string }{
		{time.DateOnly, "xsd:date"}, {time.RFC3339, "xsd:dateTime"}, {"2006-01-02T15:04:05", "xsd:dateTime"}, {"2006-01", "xsd:gYearMonth"}, {"2006", "xsd:gYear"},
	} {
		if _, err := time.Parse(form.layout, s); err == nil {
			return object{"@type": form.name, "@value": s}
		}
	}
	if s == "" {
		return nil
	}
	return s
}

// dcatFile writes a distribution. The profile requires an accessURL for each, which is the
// downloadURL if there is no other.
func dcatFile(f *crawl.DatasetFile, license any) object {
	x := object{"@type": "dcat:Distribution", "dcat:accessURL": object{"@id": f.URL}}
	if !f.Directory {
		x["dcat:downloadURL"] = object{"@id": f.URL}
	}
	if f.Name != "" {
		x["dct:title"] = f.Name
	}
	switch {
	case isMediaType(f.MediaType):
		x["dcat:mediaType"] = object{"@id": "https://www.iana.org/assignments/media-types/" + f.MediaType}
	case f.MediaType != "":
		x["dct:format"] = object{"@type": "dct:MediaTypeOrExtent", "rdfs:label": f.MediaType}
	}
	if f.Bytes != nil {
		x["dcat:byteSize"] = object{"@type": "xsd:nonNegativeInteger", "@value": strconv.FormatInt(*f.Bytes, 10)}
	}
	setAny(x, "dct:license", license)
	var sums []any
	for _, sum := range []struct{ algorithm, value string }{{"sha256", f.SHA256}, {"sha512", f.SHA512}, {"sha1", f.SHA1}, {"md5", f.MD5}} {
		if sum.value != "" {
			sums = append(sums, object{
				"@type": "spdx:Checksum", "spdx:algorithm": object{"@id": "spdx:checksumAlgorithm_" + sum.algorithm},
				"spdx:checksumValue": object{"@type": "xsd:hexBinary", "@value": sum.value},
			})
		}
	}
	if sums != nil {
		x["spdx:checksum"] = sums
	}
	return x
}

// isMediaType reports whether s is exactly a type and a subtype (RFC 6838 §4.2).
func isMediaType(s string) bool {
	kind, sub, ok := strings.Cut(s, "/")
	return ok && kind != "" && sub != "" && strings.Trim(kind+sub, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$&-^_.+") == ""
}
