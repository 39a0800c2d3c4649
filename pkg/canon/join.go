package canon

import (
	"strings"
	"unsafe"
)

// Base resolves the links of one page. Make one per page; it is immutable and may be
// shared by goroutines.
type Base struct {
	url    URL
	scheme string // "http" or "https"
	root   int    // url[:root] is scheme://host[:port], url[root] the path's first "/"
	dir    int    // url[:dir] ends in the path's last "/"
	path   int    // url[:path] ends before "?"
}

// NewBase prepares a page's URL for resolving its links. The zero URL makes a base that resolves
// absolute links only.
func NewBase(u URL) *Base {
	root := u.pathStart()
	path := len(u)
	if q := strings.IndexByte(string(u[root:]), '?'); q >= 0 {
		path = root + q
	}
	dir := strings.LastIndexByte(string(u[:path]), '/') + 1
	return &Base{url: u, scheme: u.Scheme(), root: root, dir: dir, path: path}
}

// Rebase returns the base that a <base href> on the page sets. If href is not an http or https URL,
// it returns b itself with the error, so a page with an invalid <base> keeps its own address, as in
// browsers.
func (b *Base) Rebase(href string) (*Base, error) {
	u, err := b.Join(href)
	if err != nil {
		return b, err
	}
	return NewBase(u), nil
}

// URL returns the URL that links are resolved against.
func (b *Base) URL() URL { return b.url }

// Join resolves one link as written in the page and returns its canonical spelling, or an error of
// Parse. An empty link is the page itself. The result shares no memory with ref, so storing it does
// not keep the page in memory.
func (b *Base) Join(ref string) (URL, error) {
	if u, ok, err := b.joinFast(ref); ok {
		return u, err
	}
	return resolve(b, ref)
}

// JoinAsWritten is Join for an address that is to be requested in the spelling of ref, because a
// server may have signed it letter by letter. target is what follows the request's method: the path
// and query of u, with the escapes of ref as they are written there. If that is longer than a URL
// may be, target is the canonical spelling.
func (b *Base) JoinAsWritten(ref string) (u URL, target string, err error) {
	u, err = b.Join(ref)
	if err != nil || !strings.Contains(ref, "%") {
		return u, u.PathQuery(), err
	}
	written, err := resolveAs(b, ref, asWritten)
	if err != nil {
		written = u
	}
	return u, written.PathQuery(), nil
}

// JoinBytes is Join for a link in a tokenizer's buffer. It does not keep ref.
func (b *Base) JoinBytes(ref []byte) (URL, error) {
	// Join copies its result, so ref is not used after this call.
	return b.Join(unsafe.String(unsafe.SliceData(ref), len(ref)))
}
