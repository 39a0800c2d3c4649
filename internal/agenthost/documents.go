package agenthost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/curtsy/curtsy/internal/mobile"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// documents are what one robot can see of the site: documents below the subtree that robots.txt
// opens to the robot. It is used by one goroutine.
//
// With a document root they are regular files with one of the extensions. No part of the path of
// such a file is a symbolic link, or hidden. Without one they are what the sitemaps list. Their
// octets come from the files, or from the site's server if there is one.
type documents struct {
	p       *plan
	root    *os.Root // of the subtree: nothing that is opened leads out of it; nil: there is none
	subtree string
	token   string
	robots  *robots.File
	note    string // what is wrong with robots.txt, for the owner of the site
	rules   *robots.Rules
	walk    walk
	listed  *listing      // what the sitemaps list; nil: they were not read
	body    io.ReadCloser // of the open document, or nil
	left    int64         // octets of it that may be read
	whole   bool          // left is all that it has
}

// openDocuments opens a subtree for a product token.
func openDocuments(ctx context.Context, p *plan, subtree, token string) (*documents, error) {
	rel, ok := strings.CutPrefix(subtree, p.base.Path())
	if !ok {
		return nil, fmt.Errorf("%s: %w", subtree, mobile.Forbidden)
	}
	d := &documents{p: p, subtree: subtree, token: token}
	d.walk.d = d
	if p.Root != "" {
		var err error
		if d.root, err = openSubtree(p.Root, rel); err != nil {
			return nil, fmt.Errorf("%s: %w", subtree, err)
		}
	}
	d.robots, d.note = p.readRobots(ctx, token)
	d.rules = d.robots.Rules(token, p.origin)
	return d, nil
}

// openSubtree opens the directory at a path below the document root.
func openSubtree(name, rel string) (*os.Root, error) {
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	names, ok := fileNames(strings.TrimSuffix(rel, "/"))
	if ok && len(names) == 0 {
		return root, nil
	}
	defer root.Close() // it was only read
	if !ok {
		return nil, mobile.NotFound
	}
	if err := noLinks(root, names); err != nil {
		return nil, err
	}
	return root.OpenRoot(path.Join(names...))
}

// readRobots reads robots.txt. If it exists and cannot be read, everything is closed, and note says
// why.
func (p *plan) readRobots(ctx context.Context, token string) (file *robots.File, note string) {
	closed := func(err error) (*robots.File, string) {
		return robots.ForStatus(503, nil), "robots.txt cannot be read, so everything is closed: " + err.Error()
	}
	if p.RobotsFile == "" {
		res, err := p.server.get(ctx, token, "/robots.txt")
		if err != nil {
			return closed(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(io.LimitReader(res.Body, robots.MaxBytes+2))
		if err != nil {
			return closed(err)
		}
		if s := robots.StateOf(res.StatusCode); s != robots.Parsed && s != robots.Unavailable {
			return closed(fmt.Errorf("the server answers %s", res.Status))
		}
		return robots.ForStatus(res.StatusCode, body), ""
	}
	f, err := os.Open(p.RobotsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return robots.ForStatus(404, nil), ""
	}
	if err != nil {
		return closed(err)
	}
	defer f.Close()
	body, err := io.ReadAll(io.LimitReader(f, robots.MaxBytes+2))
	if err != nil {
		return closed(err)
	}
	return robots.ForStatus(200, body), ""
}

func (d *documents) close() {
	d.closeBody()
	if d.root != nil {
		_ = d.root.Close() // it was only read
	}
}

func (d *documents) closeBody() {
	if d.body != nil {
		_ = d.body.Close() // it was only read
	}
	d.body = nil
}

// admits returns nil for a URL of the site that is below the subtree and that robots.txt opens.
func (d *documents) admits(u canon.URL) error {
	if !strings.HasPrefix(u.Path(), d.subtree) || !d.rules.Match(u.PathQuery()).Allowed {
		return mobile.Forbidden
	}
	return nil
}

// locate returns the canonical URL that a robot means.
func (d *documents) locate(raw string) (canon.URL, error) {
	if !strings.HasPrefix(raw, "/") || strings.ContainsAny(raw, "#\x00") {
		return "", mobile.NotFound
	}
	u, err := canon.Parse(d.p.origin.String() + raw)
	if err != nil {
		return "", mobile.NotFound
	}
	return u, d.admits(u)
}

// fileOf returns the names of the file at a URL, below the subtree.
func (d *documents) fileOf(u canon.URL) ([]string, error) {
	if u.Query() != "" {
		return nil, mobile.NotFound
	}
	rel := strings.TrimPrefix(u.Path(), d.subtree)
	if rel == "" || strings.HasSuffix(rel, "/") {
		if d.p.Index == "" {
			return nil, mobile.NotFound
		}
		rel += escape(d.p.Index)
	}
	names, ok := fileNames(rel)
	if !ok || !d.isDocument(names[len(names)-1]) {
		return nil, mobile.NotFound
	}
	return names, nil
}

// isDocument reports whether a file of this name is a document.
func (d *documents) isDocument(name string) bool {
	_, ok := d.p.types[extension(name)]
	return ok
}

func extension(name string) string {
	return strings.ToLower(strings.TrimPrefix(path.Ext(name), "."))
}

// Open opens the document at a path, in any spelling.
func (d *documents) Open(ctx context.Context, raw string) (head []byte, err error) {
	d.closeBody()
	u, err := d.locate(raw)
	if err != nil {
		return nil, err
	}
	var info fs.FileInfo
	var file *os.File
	if d.root != nil {
		if file, info, err = d.openFile(u); err != nil {
			return nil, err
		}
	} else if paths, err := d.paths(ctx); err != nil {
		return nil, err
	} else if _, found := slices.BinarySearch(paths, u.PathQuery()); !found {
		return nil, mobile.NotFound
	}
	if d.p.server != nil {
		if file != nil { // it is there, and the server has its octets
			_ = file.Close() // it was not even read
		}
		head, err = d.openAnswer(ctx, u)
	} else {
		d.body, d.left, d.whole = file, info.Size(), true
		head = fmt.Appendf(nil, "Status: 200\nContent-Type: %s\nContent-Length: %d\nLast-Modified: %s\n",
			d.p.types[extension(file.Name())], info.Size(), info.ModTime().UTC().Format(httpTime))
	}
	if err != nil {
		return nil, err
	}
	return d.p.headers.add(head, u.PathQuery()), ctx.Err()
}

// openFile opens the file at a URL.
func (d *documents) openFile(u canon.URL) (*os.File, fs.FileInfo, error) {
	names, err := d.fileOf(u)
	if err != nil {
		return nil, nil, err
	}
	if err := noLinks(d.root, names); err != nil {
		return nil, nil, err
	}
	// Something else may have come to be there since. A pipe must not make us wait.
	f, err := d.root.OpenFile(path.Join(names...), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, codeOf(err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		err = mobile.Unreadable
	case !info.Mode().IsRegular():
		err = mobile.NotFound
	case info.Size() > d.p.Document && d.p.server == nil:
		err = mobile.TooLarge
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// openAnswer requests the document at a URL from the site's server.
func (d *documents) openAnswer(ctx context.Context, u canon.URL) ([]byte, error) {
	res, head, err := d.p.server.document(ctx, d.token, u.PathQuery(), d.p.Document)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", u.PathQuery(), err)
	}
	d.body, d.left, d.whole = res.Body, d.p.Document, false
	if res.ContentLength >= 0 {
		d.left, d.whole = res.ContentLength, true
	}
	return head, nil
}

// httpTime is the form of times in HTTP (RFC 9110 §5.6.7), of a time in UTC.
const httpTime = "Mon, 02 Jan 2006 15:04:05 GMT"

// Read reads on in the open document. A file has as many octets as when it was opened, or fewer. An
// answer of the server without a Content-Length turns out to be too large only here.
func (d *documents) Read(ctx context.Context, p []byte) (int, error) {
	if d.body == nil {
		return 0, mobile.NotOpen
	}
	n, err := fill(d.body, p[:min(int64(len(p)), d.left)])
	d.left -= int64(n)
	if err == nil && d.left == 0 && !d.whole {
		var more int
		if more, err = fill(d.body, make([]byte, 1)); more > 0 {
			d.closeBody()
			return 0, mobile.TooLarge
		}
		d.whole = true
	}
	if err != nil && err != io.EOF {
		return 0, mobile.Unreadable
	}
	return n, ctx.Err()
}

// fileNames decodes a path below a directory. It is not ok if the path names no file: because of an
// empty or a hidden name, or an escape of what separates names.
func fileNames(rel string) (names []string, ok bool) {
	if rel == "" {
		return nil, true
	}
	for segment := range strings.SplitSeq(rel, "/") {
		name, err := url.PathUnescape(segment)
		if err != nil || !visible(name) {
			return nil, false
		}
		names = append(names, name)
	}
	return names, true
}

// visible reports whether a name may be part of the path of a document.
func visible(name string) bool {
	return name != "" && !strings.ContainsAny(name, "/\\\x00") && (name[0] != '.' || name == ".well-known")
}

// noLinks refuses a path of which any part is a symbolic link.
func noLinks(root *os.Root, names []string) error {
	for i := range names {
		info, err := root.Lstat(path.Join(names[:i+1]...))
		if err != nil {
			return codeOf(err)
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return mobile.NotFound
		}
	}
	return nil
}

// codeOf is what a robot learns of an error of the file system.
func codeOf(err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EIO) {
		return mobile.Unreadable
	}
	return mobile.NotFound
}

// escape returns the canonical spelling of a name in a path (pkg/canon).
func escape(name string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte("\"#<>?`{}^|%\\", c) >= 0 {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}
