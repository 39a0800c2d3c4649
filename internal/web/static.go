package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"strings"
)

//go:embed static
var static embed.FS

// staticPath is followed by the name of a file that pages use.
const staticPath = "/static/"

// staticTypes are the types of the files there.
var staticTypes = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

// StaticURL is the address of a file, which changes when the file does.
func StaticURL(name string) (string, error) {
	body, err := static.ReadFile("static/" + name)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(body)
	return staticPath + name + "?" + hex.EncodeToString(sum[:6]), nil
}

// serveStatic serves a file to everybody: the files reveal nothing about the crawl.
func serveStatic(rw http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, staticPath)
	body, err := static.ReadFile("static/" + name)
	kind := staticTypes[path.Ext(name)]
	if err != nil || kind == "" {
		http.Error(rw, "There is no such file.", http.StatusNotFound)
		return
	}
	rw.Header().Set("Content-Type", kind)
	if at, err := StaticURL(name); err == nil && strings.HasSuffix(at, "?"+r.URL.RawQuery) {
		rw.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
	}
	_, _ = rw.Write(body)
}
