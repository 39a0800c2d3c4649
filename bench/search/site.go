package main

import (
	"bytes"
	"fmt"
	"html"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strings"
	"time"
)

// site returns the handler that serves the manual. HTML that is served in parts has no charset in
// its Content-Type, as Debian configures a web server: the manuals' translations state theirs in
// the page, and use several. There, index.html stays what it is instead of redirecting to its
// directory.
func (m manual) site() (http.Handler, error) {
	if m.parts == "" {
		return http.FileServer(http.Dir(m.dir)), nil
	}
	start, err := m.startPage()
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "start.html", time.Time{}, bytes.NewReader(start))
	})
	for part := range strings.FieldsSeq(m.parts) {
		mux.HandleFunc("/"+part+"/", m.file)
	}
	return mux, nil
}

// file serves one file of the manual's directory.
func (m manual) file(w http.ResponseWriter, r *http.Request) {
	f, err := http.Dir(m.dir).Open(r.URL.Path)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		http.NotFound(w, r)
		return
	}
	if strings.HasSuffix(r.URL.Path, ".html") {
		w.Header().Set("Content-Type", "text/html")
	}
	http.ServeContent(w, r, r.URL.Path, info.ModTime(), f)
}

// startPage returns a page that links to the parts of the manual. It has no words of its own and
// asks not to be indexed, so that it is never a hit.
func (m manual) startPage() ([]byte, error) {
	var b strings.Builder
	b.WriteString("<!DOCTYPE html>\n<meta name=robots content=noindex>\n<title>Start</title>\n")
	link := func(file string) { fmt.Fprintf(&b, "<a href=\"/%s\">+</a>\n", html.EscapeString(file)) }
	for part := range strings.FieldsSeq(m.parts) {
		if !m.every {
			link(path.Join(part, "index.html"))
			continue
		}
		err := fs.WalkDir(os.DirFS(m.dir), part, func(file string, d fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(file, ".html") {
				link(file)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return []byte(b.String()), nil
}
