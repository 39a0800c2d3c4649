package catalog

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Limits of one metadata document. What is past them is left out.
const (
	MaxDocument = 1 << 20  // bytes a document, of a page all its JSON-LD together
	MaxClaims   = 10_000   // datasets a document
	maxFiles    = 10_000   // files, columns, keywords or creators a dataset
	maxText     = 64 << 10 // bytes a text
	maxWalk     = 32       // nesting that is looked into
)

// ErrNoDatasets says that a document tells of no dataset.
var ErrNoDatasets = errors.New("no dataset in it")

// Document says where claims come from.
type Document struct {
	URL     string // of the document or the page, after redirects
	Page    bool   // the document is part of a page for people
	Fetched time.Time
}

// ReadJSON reads the datasets that a JSON document tells of: schema.org or DCAT as JSON-LD, a portal's data.json, a Frictionless
// data package. The error is that of the JSON, or ErrNoDatasets.
func ReadJSON(body []byte, d Document) ([]crawl.DatasetClaim, error) {
	base, err := url.Parse(d.URL)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))))
	dec.UseNumber()
	var root any
	if err := dec.Decode(&root); err != nil {
		return nil, err
	}
	r := &jsonReader{d: d, base: base, byID: map[string]node{}, made: map[[32]byte]bool{}}
	if m, ok := root.(map[string]any); ok && isPackage(m) {
		r.dataPackage(m)
	} else {
		r.index(root, 0)
		r.walk(root, false, 0)
	}
	if len(r.claims) == 0 {
		return nil, ErrNoDatasets
	}
	return r.claims, nil
}

// jsonReader reads one document.
type jsonReader struct {
	d      Document
	base   *url.URL
	byID   map[string]node // nodes of a @graph that others refer to
	claims []crawl.DatasetClaim
	made   map[[32]byte]bool // digests of the claims
}

// node is a JSON-LD node by local names: "schema:name", "http://schema.org/name" and "name" are all name. Contexts are not
// loaded: what stands behind a prefix is what everybody uses it for.
type node struct {
	raw  map[string]any
	keys map[string]any
}

func newNode(m map[string]any) node {
	n := node{m, make(map[string]any, len(m))}
	for k, v := range m {
		name := local(k)
		if _, twice := n.keys[name]; !twice || name == k {
			n.keys[name] = v
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

// types are the local names of a node's types, and whether one of them is DCAT's.
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

// index notes the nodes of a document that have an @id, so that references to them can be followed.
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
		if id, ok := v["@id"].(string); ok && len(v) > 1 {
			if _, twice := r.byID[id]; !twice {
				r.byID[id] = newNode(v)
			}
		}
		for _, e := range v {
			r.index(e, depth+1)
		}
	}
}

// node is what v is or refers to; ok is false when that is no node.
func (r *jsonReader) node(v any) (n node, ok bool) {
	m, ok := v.(map[string]any)
	if !ok {
		return n, false
	}
	if id, is := m["@id"].(string); is && len(m) == 1 {
		n, ok = r.byID[id]
		return n, ok
	}
	return newNode(m), true
}

// leads are the properties under which a document's own datasets are looked for. Others (isPartOf, isBasedOn, citation) name
// datasets that are somebody else's to describe.
var leads = []string{"@graph", "dataset", "mainEntity", "hasPart", "itemListElement", "item", "subjectOf", "about"}

// walk collects datasets; listed says that v stands in a catalogue's list, where a type may be missing.
func (r *jsonReader) walk(v any, listed bool, depth int) {
	if depth > maxWalk || len(r.claims) >= MaxClaims {
		return
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			r.walk(e, listed, depth+1)
		}
	case map[string]any:
		n := newNode(v)
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

// dataset adds a claim for a node that is a dataset; one that says neither what it is called nor where it is tells nothing.
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
	c.Page = r.link(first(n, "landingPage", "url"))
	c.Title = r.text(first(n, "title", "name"))
	c.Description = r.text(n.keys["description"])
	c.License = r.license(n.keys["license"])
	c.Publisher = r.text(first(n, "publisher", "provider"))
	c.Creators = r.texts(first(n, "creator", "author"))
	c.Keywords = r.words(first(n, "keywords", "keyword"))
	c.Issued = r.text(first(n, "issued", "datePublished"))
	c.Modified = r.text(first(n, "modified", "dateModified"))
	c.Version = r.text(first(n, "version", "hasVersion"))
	var licenses []string
	for _, v := range list(n.keys["distribution"]) {
		if f, license, ok := r.file(v); ok && len(c.Files) < maxFiles {
			c.Files, licenses = append(c.Files, f), append(licenses, license)
		}
	}
	if c.License == "" {
		c.License = oneLicense(licenses) // DCAT says it of each distribution
	}
	r.columns(&c, n)
	if c.Title == "" && len(c.Files) == 0 {
		return
	}
	if c.Page == "" && r.d.Page {
		c.Page = r.d.URL
	}
	r.add(c)
}

// add takes a claim, unless the document made the very same before: many a page has its JSON-LD twice.
func (r *jsonReader) add(c crawl.DatasetClaim) {
	n := c.N
	c.N = 0
	text, err := json.Marshal(&c)
	if err != nil {
		return // it holds nothing but text and numbers
	}
	key := sha256.Sum256(text)
	if r.made[key] {
		return
	}
	r.made[key] = true
	c.N = n
	r.claims = append(r.claims, c)
}

func (r *jsonReader) claim(kind string) crawl.DatasetClaim {
	return crawl.DatasetClaim{
		Kind: kind, Document: r.d.URL, N: len(r.claims), Origin: r.base.Scheme + "://" + r.base.Host, Allowed: true, FetchedAt: r.d.Fetched,
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

func first(n node, names ...string) any {
	for _, name := range names {
		if v, ok := n.keys[name]; ok {
			return v
		}
	}
	return nil
}

// file is one distribution, and the licence it names. Without an address to download from there is nothing to have; what
// Croissant says is contained in another file has none of its own.
func (r *jsonReader) file(v any) (f crawl.DatasetFile, license string, ok bool) {
	n, ok := r.node(v)
	if !ok || n.has("containedIn") {
		return f, "", false
	}
	f.URL = r.link(first(n, "contentUrl", "downloadURL"))
	f.Name = r.text(first(n, "name", "title"))
	f.MediaType = mediaType(r.text(first(n, "encodingFormat", "mediaType", "format")))
	f.Bytes = count(first(n, "byteSize", "contentSize"))
	f.SHA256 = digest(r.text(n.keys["sha256"]), 64)
	f.MD5 = digest(r.text(n.keys["md5"]), 32)
	for _, v := range list(n.keys["checksum"]) {
		sum, ok := r.node(v)
		if !ok {
			continue
		}
		value := r.text(sum.keys["checksumValue"])
		switch algorithm := strings.ToLower(r.text(sum.keys["algorithm"])); {
		case strings.HasSuffix(algorithm, "sha256"):
			f.SHA256 = digest(value, 64)
		case strings.HasSuffix(algorithm, "md5"):
			f.MD5 = digest(value, 32)
		}
	}
	return f, r.license(n.keys["license"]), f.URL != ""
}

// columns reads what a dataset says of its variables: schema.org's variableMeasured, Croissant's fields.
func (r *jsonReader) columns(c *crawl.DatasetClaim, n node) {
	add := func(v any) {
		if len(c.Columns) >= maxFiles {
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
	for _, v := range list(n.keys["variableMeasured"]) {
		add(v)
	}
	for _, v := range list(n.keys["recordSet"]) {
		if set, ok := r.node(v); ok {
			for _, f := range list(set.keys["field"]) {
				add(f)
			}
		}
	}
}

// identifier is what names a dataset for the whole world: a DOI before any other URL. A blank node's name is none, nor is
// the address of the document with a fragment: every site's pages have "#dataset".
func (r *jsonReader) identifier(n node) string {
	var found string
	candidates := list(n.keys["identifier"])
	for _, name := range []string{"@id", "sameAs"} {
		candidates = append(candidates, list(n.keys[name])...)
	}
	for _, v := range candidates {
		s := r.text(v)
		if m, ok := r.node(v); ok {
			if value := r.text(m.keys["value"]); value != "" { // PropertyValue
				s = value
			}
		}
		if doi := DOI(s); doi != "" {
			return doi
		}
		if found == "" {
			found = identifier(s)
		}
	}
	return found
}

// DOI is the address of the DOI that s is, in one spelling; empty when it is none.
func DOI(s string) string {
	s = strings.TrimSpace(s)
	lower := strings.ToLower(s)
	for _, prefix := range []string{"https://doi.org/", "http://doi.org/", "https://dx.doi.org/", "http://dx.doi.org/", "doi:"} {
		lower = strings.TrimSpace(strings.TrimPrefix(lower, prefix))
	}
	if !strings.HasPrefix(lower, "10.") {
		return ""
	}
	prefix, suffix, ok := strings.Cut(lower, "/")
	if !ok || len(prefix) < 7 || suffix == "" || strings.ContainsAny(lower, " \t\"<>") {
		return ""
	}
	return "https://doi.org/" + lower
}

// link is an address, resolved; empty when v holds no http(s) URL.
func (r *jsonReader) link(v any) string {
	for _, e := range list(v) {
		s, ok := e.(string)
		if m, is := e.(map[string]any); is {
			s, ok = m["@id"].(string)
			if !ok {
				s, ok = m["@value"].(string)
			}
			if !ok {
				s, ok = m["url"].(string)
			}
		}
		if !ok {
			continue
		}
		if u := resolve(r.base, s); u != "" {
			return u
		}
	}
	return ""
}

// resolve is ref, resolved against base, without fragment; empty when that is no http(s) URL.
func resolve(base *url.URL, ref string) string {
	ref = strings.TrimSpace(ref)
	if ref == "" || len(ref) > 2048 {
		return ""
	}
	u, err := base.Parse(strings.ReplaceAll(ref, " ", "%20"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return ""
	}
	u.Fragment, u.RawFragment = "", ""
	return u.String()
}

// license is a licence's address where there is one, else its name; whichever of them names a licence that is known.
func (r *jsonReader) license(v any) string {
	var all []string
	for _, e := range list(v) {
		if n, ok := r.node(e); ok {
			id := r.text(n.raw["@id"])
			if identifier(id) == "" {
				id = "" // a name within the document
			}
			all = append(all, knownLicense(r.text(n.keys["url"]), id, r.text(e)))
		} else if m, is := e.(map[string]any); is && m["@value"] == nil { // refers to what is not in the document
			all = append(all, cut(plainText(m["@id"])))
		} else {
			all = append(all, r.text(e))
		}
	}
	return oneLicense(all)
}

// knownLicense is the first of several ways to name one licence that names a known one, else the first at all.
func knownLicense(ways ...string) (first string) {
	for _, w := range ways {
		if SPDX(w) != "" {
			return w
		}
		first = cmp.Or(first, w)
	}
	return first
}

// oneLicense is what a list of licences comes to: the first when all are the same, else all of them. Which of several is meant, or
// whether all are, is not guessed.
func oneLicense(all []string) string {
	var out []string
	for _, l := range all {
		if l != "" && !slices.ContainsFunc(out, func(o string) bool { return sameWords(o, l) || SPDX(o) != "" && SPDX(o) == SPDX(l) }) {
			out = append(out, l)
		}
		if len(out) == 20 {
			break
		}
	}
	return cut(strings.Join(out, "; "))
}

// text is the first text of v: itself, or what a node is called.
func (r *jsonReader) text(v any) string {
	if all := r.textsUpTo(v, 1); len(all) > 0 {
		return all[0]
	}
	return ""
}

func (r *jsonReader) texts(v any) []string { return r.textsUpTo(v, maxFiles) }

func (r *jsonReader) textsUpTo(v any, n int) (out []string) {
	for _, e := range list(v) {
		s := ""
		switch e := e.(type) {
		case string:
			s = e
		case json.Number:
			s = e.String()
		case map[string]any:
			if value, ok := e["@value"]; ok {
				if t, ok := value.(string); ok {
					s = t
				} else if t, ok := value.(json.Number); ok {
					s = t.String()
				}
			} else if m, ok := r.node(e); ok {
				s = plainText(first(m, "name", "title", "fn", "hasName"))
				if s == "" {
					s = plainText(m.raw["@id"])
				}
			} else {
				s = plainText(e["@id"])
			}
		}
		if s = cut(strings.Join(strings.Fields(s), " ")); s != "" {
			if out = append(out, s); len(out) == n {
				return out
			}
		}
	}
	return out
}

// plainText is the first string in v.
func plainText(v any) string {
	for _, e := range list(v) {
		switch e := e.(type) {
		case string:
			return e
		case map[string]any:
			if s, ok := e["@value"].(string); ok {
				return s
			}
		}
	}
	return ""
}

func cut(s string) string { return Shorten(s, maxText) }

// Shorten returns the beginning of a text, n bytes at most.
func Shorten(s string, n int) string {
	if len(s) > n {
		s = strings.ToValidUTF8(s[:n], "")
	}
	return s
}

// words are keywords: a list, or one text with commas.
func (r *jsonReader) words(v any) (out []string) {
	for _, s := range r.texts(v) {
		for w := range strings.SplitSeq(s, ",") {
			if w = strings.TrimSpace(w); w != "" && len(out) < maxFiles {
				out = append(out, w)
			}
		}
	}
	return out
}

// mediaType takes IANA's address of a type for the type.
func mediaType(s string) string {
	if _, name, ok := strings.Cut(s, "/media-types/"); ok {
		return name
	}
	return s
}

// count is a number of bytes when v is just that: "12 MB" says too little.
func count(v any) *int64 {
	var s string
	switch e := v.(type) {
	case json.Number:
		s = e.String()
	case string:
		s = strings.TrimSpace(e)
		for _, unit := range []string{" B", " bytes", " Bytes", " byte"} {
			s = strings.TrimSuffix(s, unit)
		}
	case map[string]any:
		return count(e["@value"])
	case []any:
		if len(e) > 0 {
			return count(e[0])
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		f, ferr := strconv.ParseFloat(s, 64) // DCAT's byteSize was a decimal once
		if ferr != nil || f != float64(int64(f)) {
			return nil
		}
		n = int64(f)
	}
	if n < 0 {
		return nil
	}
	return &n
}

// digest is s if it is n hexadecimal digits, lower-case.
func digest(s string, n int) string {
	s = strings.ToLower(strings.TrimSpace(s))
	if len(s) != n || strings.Trim(s, "0123456789abcdef") != "" {
		return ""
	}
	return s
}
