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
	"strings"
	"syscall"

	"github.com/curtsy/curtsy/internal/mobile"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// documents are what one robot can see of the document root. A document is a regular file with one
// of the extensions, below the subtree, that robots.txt opens to the robot. No part of its path is
// a symbolic link, or hidden. It is used by one goroutine.
type documents struct {
	p       *plan
	root    *os.Root // of the subtree: nothing that is opened leads out of it
	subtree string
	rules   *robots.Rules
	walk    walk
	file    *os.File // the open document, or nil
	left    int64    // octets of it that may be read
}

// openDocuments opens a subtree for a product token.
func openDocuments(p *plan, subtree, token string) (*documents, error) {
	rel, ok := strings.CutPrefix(subtree, p.base.Path())
	if !ok {
		return nil, fmt.Errorf("%s: %w", subtree, mobile.Forbidden)
	}
	root, err := os.OpenRoot(p.Root)
	if err != nil {
		return nil, err
	}
	if names, ok := fileNames(strings.TrimSuffix(rel, "/")); !ok {
		err = mobile.NotFound
	} else if len(names) > 0 {
		top := root
		if err = noLinks(top, names); err == nil {
			root, err = top.OpenRoot(path.Join(names...))
		}
		_ = top.Close() // it was only read
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", subtree, err)
	}
	d := &documents{p: p, root: root, subtree: subtree, rules: readRobots(p.RobotsFile).Rules(token, p.origin)}
	d.walk.d = d
	return d, nil
}

// readRobots reads robots.txt. If it exists and cannot be read, everything is closed.
func readRobots(name string) *robots.File {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return robots.ForStatus(404, nil)
	}
	if err != nil {
		return robots.ForStatus(503, nil)
	}
	defer f.Close()
	body, err := io.ReadAll(io.LimitReader(f, robots.MaxBytes+2))
	if err != nil {
		return robots.ForStatus(503, nil)
	}
	return robots.ForStatus(200, body)
}

func (d *documents) close() {
	d.closeFile()
	_ = d.root.Close() // it was only read
}

func (d *documents) closeFile() {
	if d.file != nil {
		_ = d.file.Close() // it was only read
	}
	d.file = nil
}

// locate returns the names of the file that a robot means, below the subtree.
func (d *documents) locate(raw string) ([]string, error) {
	if !strings.HasPrefix(raw, "/") || strings.ContainsAny(raw, "?#\x00") {
		return nil, mobile.NotFound
	}
	u, err := canon.Parse(d.p.origin.String() + raw)
	if err != nil {
		return nil, mobile.NotFound
	}
	rel, ok := strings.CutPrefix(u.Path(), d.subtree)
	if !ok || !d.rules.Match(u.PathQuery()).Allowed {
		return nil, mobile.Forbidden
	}
	if rel == "" || strings.HasSuffix(rel, "/") {
		if d.p.Index == "" {
			return nil, mobile.NotFound
		}
		rel += escape(d.p.Index)
	}
	names, ok := fileNames(rel)
	if !ok || d.mediaType(names[len(names)-1]) == "" {
		return nil, mobile.NotFound
	}
	return names, nil
}

// mediaType returns the type of a file, or "" if it is no document.
func (d *documents) mediaType(name string) string {
	return d.p.types[strings.ToLower(strings.TrimPrefix(path.Ext(name), "."))]
}

// Open opens the document at a path, in any spelling.
func (d *documents) Open(ctx context.Context, raw string) ([]byte, error) {
	d.closeFile()
	names, err := d.locate(raw)
	if err != nil {
		return nil, err
	}
	if err := noLinks(d.root, names); err != nil {
		return nil, err
	}
	// Something else may have come to be there since. A pipe must not make us wait.
	f, err := d.root.OpenFile(path.Join(names...), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, codeOf(err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		err = mobile.Unreadable
	case !info.Mode().IsRegular():
		err = mobile.NotFound
	case info.Size() > d.p.Document:
		err = mobile.TooLarge
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	d.file, d.left = f, info.Size()
	return fmt.Appendf(nil, "Status: 200\nContent-Type: %s\nContent-Length: %d\nLast-Modified: %s\n",
		d.mediaType(names[len(names)-1]), info.Size(), info.ModTime().UTC().Format(httpTime)), ctx.Err()
}

// httpTime is the form of times in HTTP (RFC 9110 §5.6.7), of a time in UTC.
const httpTime = "Mon, 02 Jan 2006 15:04:05 GMT"

// Read reads on in the open document. It has as many octets as when it was opened, or fewer.
func (d *documents) Read(ctx context.Context, p []byte) (int, error) {
	if d.file == nil {
		return 0, mobile.NotOpen
	}
	n, err := io.ReadFull(d.file, p[:min(int64(len(p)), d.left)])
	d.left -= int64(n)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
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
