package catalog

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/catalog/written"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/lenientjson"
	"github.com/curtsy/curtsy/internal/rdf"
)

// Limits of one metadata document. Content beyond them is left out.
const (
	MaxDocument = 1 << 20  // bytes of a document; for a page, of all its JSON-LD together
	MaxClaims   = 10_000   // datasets in a document
	maxFiles    = 10_000   // files, columns, keywords or creators of a dataset
	maxText     = 64 << 10 // bytes of a text
	maxWalk     = 32       // depth of nesting that is read
)

// ErrNoDatasets means that a document describes no dataset.
var ErrNoDatasets = errors.New("it contains no dataset")

// Document describes where claims come from.
type Document struct {
	URL     string // of the document or the page, after redirects
	Page    bool   // the document is part of a page for people
	Header  bool   // it is the set of links in the page's header
	Fetched time.Time
	// how many bytes of claims may be read, as Budget counts them. The claim that exceeds this is
	// the last one that is read; 0 means no limit
	Capacity int
	// Type is the media type of the document. A form of RDF is read as that, everything else as
	// JSON.
	Type string
	// First is the number of the first claim. For a part of a document it is the number of claims
	// in the earlier parts.
	First int
}

// ReadJSON reads the datasets in a JSON document: schema.org or DCAT as JSON-LD, a portal's
// data.json, a list of CKAN packages, a Frictionless data package, a set of links; or
// in a document in RDF, see Document.Type. Text that is nearly JSON is read as Cut does. It returns
// ErrBroken, ErrNoDatasets or ErrTooMuch. With ErrCut it also returns the claims that it has read.
func ReadJSON(body []byte, d Document) ([]crawl.DatasetClaim, error) {
	claims, _, err := readJSON(body, d)
	return claims, err
}

// headerMark separates a page's JSON-LD from the links of its header. It cannot occur in JSON.
const headerMark = 0x1e

// PageText returns the part of a page that ReadPage reads: its JSON-LD as a list, and the set of
// links of its header (crawl.Page.Signposts). Either may be empty.
func PageText(linked, header []byte) []byte {
	if len(linked) == 0 {
		linked = []byte("[]")
	}
	if len(header) == 0 {
		return linked
	}
	return append(append(linked[:len(linked):len(linked)], headerMark), header...)
}

// ReadPage reads the datasets that a page describes from the result of PageText. It returns what
// ReadJSON does. Claims of the header have a kind of their own: see crawl.DatasetHeader.
func ReadPage(text []byte, d Document) ([]crawl.DatasetClaim, error) {
	linked, header, _ := bytes.Cut(text, []byte{headerMark})
	claims, err := ReadJSON(linked, d)
	if header, _, _ = bytes.Cut(header, []byte{headerMark}); len(header) == 0 {
		return claims, err
	}
	d.Header, d.First = true, d.First+MaxClaims
	if more, _ := ReadJSON(header, d); len(more) > 0 {
		if claims = append(claims, more...); errors.Is(err, ErrNoDatasets) {
			err = nil
		}
	}
	return claims, err
}

// readJSON also returns how much of the budget was spent.
func readJSON(body []byte, d Document) (claims []crawl.DatasetClaim, spent int, err error) {
	base, err := url.Parse(d.URL)
	if err != nil {
		return nil, 0, err
	}
	if format := rdf.FormatOf(d.Type); format != rdf.Unknown {
		return readRDF(body, format, d)
	}
	root, err := decodeDocument(body)
	if err != nil {
		return nil, 0, err
	}
	r := &jsonReader{d: d, base: base, byID: map[string]node{}, made: map[[32]byte]bool{}, left: maxWork, contexts: contextsOf(root)}
	r.datasets(root)
	switch {
	case r.left < 0:
		return r.claims, maxWork - r.left, ErrCut
	case len(r.claims) == 0:
		return nil, maxWork - r.left, ErrNoDatasets
	}
	return r.claims, maxWork - r.left, nil
}

// decodeDocument decodes a document. One that is only nearly JSON is repaired first.
func decodeDocument(body []byte) (root any, err error) {
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	if root, err = decodeStrict(body); err == nil || errors.Is(err, ErrTooMuch) {
		return root, err
	}
	fixed, report := lenientjson.Fix(body, isList)
	if fixed == nil {
		return nil, fmt.Errorf("%w: %s", ErrBroken, report.String())
	}
	return decodeStrict(fixed)
}

// decodeStrict decodes JSON, if it does not have more values than one document may have.
func decodeStrict(body []byte) (root any, err error) {
	if values(body, maxValues) > maxValues {
		return nil, ErrTooMuch
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if err := dec.Decode(&root); err != nil {
		return nil, err
	}
	if len(bytes.Trim(body[dec.InputOffset():], " \t\r\n")) > 0 {
		return nil, ErrBroken // more than one document
	}
	return root, nil
}

// jsonReader reads one document.
type jsonReader struct {
	d      Document
	base   *url.URL
	byID   map[string]node // nodes of a @graph that others refer to
	claims []crawl.DatasetClaim
	made   map[[32]byte]bool // digests of the claims
	left   int               // remaining budget
	bytes  int               // cost of the claims

	contexts contexts

	kind, name string // of the datasets of a shape; empty: they have other names and kinds
}

// full reports whether no more claims may be read.
func (r *jsonReader) full() bool {
	return len(r.claims) >= MaxClaims || r.d.Capacity > 0 && r.bytes > r.d.Capacity
}

// node is a JSON-LD node whose keys are local names: "schema:name", "http://schema.org/name" and
// "name" all become name. Contexts are not loaded: a prefix has its usual meaning. jsoncontext.go
// handles definitions in the document itself.
type node struct {
	raw  map[string]any
	keys map[string]any
}

func (r *jsonReader) newNode(m map[string]any) node {
	plain := true
	for k := range m {
		plain = plain && local(k) == k
	}
	if plain || !r.spend(costKeys+costKey*len(m)) {
		return node{m, m}
	}
	n := node{m, make(map[string]any, len(m))}
	for _, k := range slices.Sorted(maps.Keys(m)) { // always the same of two keys with one name
		name := local(k)
		other, twice := n.keys[name]
		switch {
		case twice && name == "identifier": // of dct, and of adms
			n.keys[name] = slices.Concat(list(other), list(m[k]))
		case !twice || name == k:
			n.keys[name] = m[k]
		}
	}
	return n
}

func local(name string) string {
	if i := strings.LastIndexAny(name, ":/#"); i >= 0 && !strings.HasPrefix(name, "@") {
		return name[i+1:]
	}
	return name
}

// types returns the local names of a node's types, and whether one of them is DCAT's.
func (n node) types() (names []string, dcat bool) {
	for _, v := range list(n.raw["@type"]) {
		if s, ok := v.(string); ok {
			names = append(names, local(s))
			dcat = dcat || strings.HasPrefix(s, "dcat:") || strings.Contains(s, "/ns/dcat#")
		}
	}
	return names, dcat
}

func (n node) is(name string) bool {
	names, _ := n.types()
	for _, t := range names {
		if t == name {
			return true
		}
	}
	return false
}

func list(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v[:min(len(v), maxFiles)]
	}
	return []any{v}
}

// index records the nodes of a document that have an @id, so that references to them can be
// resolved.
func (r *jsonReader) index(v any, depth int) {
	if depth > maxWalk {
		return
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			r.index(e, depth+1)
		}
	case map[string]any:
		r.rename(v)
		if id, ok := v["@id"].(string); ok && len(v) > 1 {
			if _, twice := r.byID[id]; !twice {
				r.byID[id] = r.newNode(v)
			}
		}
		for _, e := range v {
			r.index(e, depth+1)
		}
	}
}

// named returns the node of the document whose @id is this string ("distribution": "ex:2").
func (r *jsonReader) named(id string) (n node, ok bool) {
	if !isName(id) {
		return n, false
	}
	n, ok = r.byID[id]
	return n, ok
}

// node returns the node that v is or refers to. ok is false if there is none.
func (r *jsonReader) node(v any) (n node, ok bool) {
	if id, is := v.(string); is {
		return r.named(id)
	}
	m, ok := v.(map[string]any)
	if !ok {
		return n, false
	}
	if id, is := m["@id"].(string); is && len(m) == 1 {
		n, ok = r.byID[id]
		return n, ok
	}
	return r.newNode(m), true
}

// leads are the properties in which a document's own datasets are searched for. Other properties
// (isPartOf, isBasedOn, citation) name datasets that others describe.
var leads = []string{"@graph", "dataset", "mainEntity", "hasPart", "itemListElement", "item", "subjectOf", "about"}

// walk collects datasets. listed means that v is a member of a catalogue's list, where a type may
// be missing.
func (r *jsonReader) walk(v any, listed bool, depth int) {
	if depth > maxWalk || r.full() || r.left < 0 {
		return
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			r.walk(e, listed, depth+1)
		}
	case string:
		// It is listed by its name and has no type, so only the list leads to it.
		if n, ok := r.named(v); ok && listed && n.raw["@type"] == nil {
			r.dataset(n)
		}
	case map[string]any:
		n := r.newNode(v)
		if n.is("Dataset") || listed && v["@type"] == nil && len(n.keys) > 1 {
			r.dataset(n)
		}
		for _, name := range leads {
			if e, ok := n.keys[name]; ok {
				r.walk(e, name == "dataset", depth+1)
			}
		}
	}
}

// dataset adds a claim for a node that is a dataset. A node with neither a name nor an
// address is skipped.
func (r *jsonReader) dataset(n node) {
	_, dcat := n.types()
	c := r.claim(crawl.DatasetJSONLD)
	switch {
	case dcat || n.has("landingPage", "downloadURL") || n.raw["dct:title"] != nil || n.raw["conformsTo"] == nil && n.has("accessLevel"):
		c.Kind = crawl.DatasetDCAT
	case n.has("recordSet") || strings.Contains(r.text(n.keys["conformsTo"]), "mlcommons.org/croissant"):
		c.Kind = crawl.DatasetCroissant
	}
	c.ID = r.identifier(n)
	c.Page = pageOf(r, n)
	c.Title = r.textOf(n, "title", "name")
	c.Description = r.text(n.keys["description"])
	c.License = r.license(n.keys["license"])
	if all := r.people(n, "publisher", "provider"); len(all) > 0 {
		c.Publisher = all[0]
	}
	c.Creators = r.people(n, "creator", "author")
	c.Keywords = r.words(first(n, "keywords", "keyword"))
	c.Issued = r.textOf(n, "issued", "datePublished")
	c.Modified = r.textOf(n, "modified", "dateModified")
	if c.Version = r.text(n.keys["version"]); c.Version == "" {
		// In DCAT 3 this property leads to another dataset.
		if v, ok := n.keys["hasVersion"].(string); ok && !isURL(v) && !strings.Contains(v, ":") {
			c.Version = r.text(v)
		}
	}
	var licenses []string
	for _, v := range r.list(n.keys["distribution"]) {
		if license := r.distribution(&c, v); license != "" {
			licenses = append(licenses, license)
		}
	}
	for _, v := range r.list(n.keys["dataDump"]) { // VoID
		if u := r.link(v); u != "" && len(c.Files) < maxFiles && r.spend(costFile) {
			c.Files = append(c.Files, crawl.DatasetFile{URL: u})
		}
	}
	if c.License == "" {
		c.License = r.oneLicense(licenses) // DCAT states it for each distribution
	}
	readColumns(r, &c, n)
	if c.Title == "" && len(c.Files) == 0 && r.name == "" {
		return
	}
	c.Kind, c.Name = cmp.Or(r.kind, c.Kind), r.name
	if c.Page == "" && r.d.Page {
		c.Page = r.d.URL
	}
	r.add(c)
}

// add adds a claim, unless the document has already made exactly the same one: many pages contain
// their JSON-LD twice. A claim during which the budget was exhausted is dropped, because for
// example its licence may be missing.
func (r *jsonReader) add(c crawl.DatasetClaim) {
	if !r.spend(costClaim) {
		return
	}
	n := c.N
	c.N = 0
	sum := sha256.New()
	if err := json.NewEncoder(sum).Encode(&c); err != nil {
		return // it has only texts and numbers
	}
	key := [32]byte(sum.Sum(nil))
	if r.made[key] {
		return
	}
	r.made[key] = true
	c.N = n
	r.claims = append(r.claims, c)
	r.bytes += claimCost(&c)
}

func (r *jsonReader) claim(kind string) crawl.DatasetClaim {
	return crawl.DatasetClaim{
		Kind: kind, Document: r.d.URL, N: r.d.First + len(r.claims), Origin: r.base.Scheme + "://" + r.base.Host, Allowed: true, FetchedAt: r.d.Fetched,
	}
}

func (n node) has(names ...string) bool {
	for _, name := range names {
		if _, ok := n.keys[name]; ok {
			return true
		}
	}
	return false
}

// first returns the first of a node's properties that has a value.
func first(n node, names ...string) any {
	for _, name := range names {
		if v := n.keys[name]; v != nil && v != "" {
			return v
		}
	}
	return nil
}

// pageOf returns the page for people of a dataset. The address of a DOI is an identifier; the page
// that contains the description is a better one.
func pageOf(r *jsonReader, n node) string {
	for _, name := range []string{"landingPage", "url"} {
		if u := r.link(n.keys[name]); u != "" && (!r.d.Page || DOI(u) == "") {
			return u
		}
	}
	return ""
}

// noFile reports whether a distribution is no file to fetch: in Croissant, a repository, a set of
// files, or a file that is contained in another one. format is its encodingFormat.
func noFile(n node, format string) bool {
	return n.has("containedIn") || n.is("FileSet") || written.HasPrefixFold(format, "git+")
}

// distribution adds the files of one distribution, and returns the licence that it names. Without a
// download address there is no file. A size and digests count only if there is exactly one address.
func (r *jsonReader) distribution(c *crawl.DatasetClaim, v any) (license string) {
	n, ok := r.node(v)
	if !ok {
		r.addFiles(c, crawl.DatasetFile{Directory: c.Kind == crawl.DatasetDCAT}, addressesIn(r, v))
		return ""
	}
	if noFile(n, r.text(n.keys["encodingFormat"])) {
		return ""
	}
	f := crawl.DatasetFile{Name: r.textOf(n, "name", "title"), MediaType: mediaType(r.textOf(n, "encodingFormat", "mediaType", "format"))}
	urls := r.linksUpTo(n.keys["contentUrl"], maxFiles)
	if len(urls) == 0 {
		urls = r.linksUpTo(n.keys["downloadURL"], maxFiles)
	}
	if len(urls) == 0 {
		urls = r.linksUpTo(n.keys["accessURL"], maxFiles)
		f.Directory = len(urls) > 0
	}
	if _, dcat := n.types(); len(urls) == 0 && !dcat && !n.has("contentUrl", "downloadURL", "accessURL") {
		urls = r.linksUpTo(n.keys["url"], maxFiles) // as CKAN writes it
	}
	if len(urls) == 1 {
		r.takeSize(&f, n.keys["byteSize"], n.keys["contentSize"], n.keys["size"])
		takeDigests(r, &f, n)
	}
	if !r.addFiles(c, f, urls) {
		return ""
	}
	return r.license(n.keys["license"])
}

// addressesIn returns the address that is given instead of the description of a file. It has to
// look like an address, because it may be a word or the name of a node that is not in the document.
// In DCAT, an address may be such a name as well, so there it is only a way to the data.
func addressesIn(r *jsonReader, v any) []string {
	s, ok := v.(string)
	if !ok {
		return nil
	}
	for _, begin := range []string{"http://", "https://", "/", "./", "../"} {
		if strings.HasPrefix(strings.TrimSpace(s), begin) {
			return r.linksUpTo(s, 1)
		}
	}
	return nil
}

// addFiles adds a file under each of its addresses. It reports whether there is one.
func (r *jsonReader) addFiles(c *crawl.DatasetClaim, f crawl.DatasetFile, urls []string) bool {
	for _, u := range urls {
		if len(c.Files) >= maxFiles || !r.spend(costFile+len(f.Name)+len(f.MediaType)) {
			break
		}
		f.URL = u
		c.Files = append(c.Files, f)
	}
	return len(urls) > 0
}

// readColumns reads the variables of a dataset: schema.org's variableMeasured, Croissant's fields.
func readColumns(r *jsonReader, c *crawl.DatasetClaim, n node) {
	add := func(v any) {
		if len(c.Columns) >= maxFiles || !r.spend(costColumn) {
			return
		}
		if s, ok := v.(string); ok {
			c.Columns = append(c.Columns, crawl.DatasetColumn{Name: cut(s)})
		} else if f, ok := r.node(v); ok {
			if name := r.text(f.keys["name"]); name != "" {
				c.Columns = append(c.Columns, crawl.DatasetColumn{Name: name, Type: local(r.text(f.keys["dataType"])), Description: r.text(f.keys["description"])})
			}
		}
	}
	for _, v := range r.list(n.keys["variableMeasured"]) {
		add(v)
	}
	for _, v := range r.list(n.keys["recordSet"]) {
		if set, ok := r.node(v); ok {
			for _, f := range r.list(set.keys["field"]) {
				add(f)
			}
		}
	}
}
