package agenthost

import (
	"cmp"
	"context"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/mobile"
	"github.com/curtsy/curtsy/pkg/canon"
)

// maxEntries is how many entries of one directory are listed. A directory with more is unreadable
// for List, so that the memory for one run is bounded; its documents can be opened.
const maxEntries = 200_000

// walk lists documents in the order of their paths. It remembers where it was, so that the next
// piece of a list does not begin at the root again.
type walk struct {
	d      *documents
	began  bool
	after  string   // only paths after this one
	last   string   // the path up to which List has returned
	next   string   // the path that comes then, if it is known
	levels []*level // directories that are being listed, the root first
}

// level is a directory.
type level struct {
	names   []string // of the directory, below the subtree
	prefix  string   // its URL path
	entries []entry  // what is left of it
}

type entry struct {
	name string
	key  string // what follows prefix in the URL path: "" for the index file, DIR/ for a directory
}

// List returns the paths after one, each with NUL behind it.
func (d *documents) List(ctx context.Context, after string, most int) ([]byte, error) {
	if d.root == nil {
		paths, err := d.paths(ctx)
		if err != nil {
			return nil, err
		}
		return listPaths(paths, after, most)
	}
	w := &d.walk
	if !w.began || after != w.last {
		*w = walk{d: d, began: true, after: after, last: after}
		if err := w.push(nil, d.subtree); err != nil {
			return nil, err
		}
	}
	var list []byte
	for {
		if w.next == "" {
			var err error
			if w.next, err = w.advance(ctx); err != nil {
				w.began = false // the next call begins again
				return nil, err
			}
		}
		switch {
		case w.next == "":
			return list, nil
		case len(list)+len(w.next)+1 > most && len(list) == 0:
			return nil, mobile.SmallBuffer
		case len(list)+len(w.next)+1 > most:
			return list, nil
		}
		list = append(append(list, w.next...), 0)
		w.last, w.next = w.next, ""
	}
}

// advance returns the next path, or "" if there is none.
func (w *walk) advance(ctx context.Context) (string, error) {
	for len(w.levels) > 0 {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		top := w.levels[len(w.levels)-1]
		if len(top.entries) == 0 {
			w.levels = w.levels[:len(w.levels)-1]
			continue
		}
		e := top.entries[0]
		top.entries = top.entries[1:]
		p := top.prefix + e.key
		if strings.HasSuffix(e.key, "/") {
			if err := w.push(append(slices.Clone(top.names), e.name), p); err != nil {
				return "", err
			}
			continue
		}
		if w.d.rules.Match(p).Allowed {
			return p, nil
		}
	}
	return "", nil
}

// push reads a directory. One that is gone meanwhile is empty.
func (w *walk) push(names []string, prefix string) error {
	f, err := w.d.root.Open(path.Join(append([]string{"."}, names...)...))
	if err != nil {
		if err = codeOf(err); err == mobile.NotFound {
			err = nil
		}
		return err
	}
	defer f.Close()
	list, err := f.ReadDir(maxEntries + 1)
	if err != nil && err != io.EOF || len(list) > maxEntries {
		return mobile.Unreadable
	}
	l := &level{names: names, prefix: prefix}
	longest := canon.MaxLen - len(w.d.p.origin.String())
	for _, e := range list {
		key, ok := w.key(e)
		p := prefix + key
		// Of directories, also those are read in which the place after which to begin is.
		if ok && len(p) <= longest && (p > w.after || strings.HasSuffix(key, "/") && strings.HasPrefix(w.after, p)) {
			l.entries = append(l.entries, entry{e.Name(), key})
		}
	}
	slices.SortFunc(l.entries, func(a, b entry) int { return cmp.Compare(a.key, b.key) })
	w.levels = append(w.levels, l)
	return nil
}

func (w *walk) key(e fs.DirEntry) (key string, ok bool) {
	name := e.Name()
	switch {
	case !visible(name):
		return "", false
	case e.IsDir():
		return escape(name) + "/", true
	case !e.Type().IsRegular() || !w.d.isDocument(name):
		return "", false
	case name == w.d.p.Index:
		return "", true
	}
	return escape(name), true
}
