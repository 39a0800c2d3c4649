package dashboard

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"net/http"
	"path"
	"strings"

	"github.com/curtsy/curtsy/internal/searchweb"
)

//go:embed static
var static embed.FS

// staticPath is followed by the name of a file that all pages use.
const staticPath = "/static/"

// staticTypes are what is served there.
var staticTypes = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

// staticURL is the address of a file, which changes when the file does.
func staticURL(name string) (string, error) {
	body, err := static.ReadFile("static/" + name)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(body)
	return staticPath + name + "?" + hex.EncodeToString(sum[:6]), nil
}

// static serves a file. It tells nothing, so it is for everybody.
func (w *Web) static(rw http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, staticPath)
	body, err := static.ReadFile("static/" + name)
	kind := staticTypes[path.Ext(name)]
	if err != nil || kind == "" {
		http.Error(rw, "There is no such file.", http.StatusNotFound)
		return
	}
	rw.Header().Set("Content-Type", kind)
	if at, err := staticURL(name); err == nil && strings.HasSuffix(at, "?"+r.URL.RawQuery) {
		rw.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
	}
	_, _ = rw.Write(body)
}

// searchFrame is the dashboard's bar around the search page.
func searchFrame(o Options) searchweb.Frame {
	style, err := static.ReadFile("static/bar.css")
	if err != nil {
		panic(err) // it is embedded
	}
	icon, err := staticURL("icon.svg")
	if err != nil {
		panic(err)
	}
	var bar bytes.Buffer
	if err := pageTemplates()[layoutFile].ExecuteTemplate(&bar, "bar", frame{Crawl: o.Name, Nav: navigate("/search")}); err != nil {
		panic(err) // of names and paths only
	}
	return searchweb.Frame{Bar: template.HTML(bar.String()), Style: string(style), Icon: icon}
}
