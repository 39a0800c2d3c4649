package search

import (
	_ "embed"
	"net/http"
	"slices"
)

// The search box of a page on another origin asks this server with the reader's browser. Browsers
// pass the answer on only if the server names that origin (Fetch standard, "CORS protocol"). No
// answer allows every origin, because what a server on an internal network answers is nothing for
// every page that somebody opens.

// searchBox is the script of the search box.
//
//go:embed search-box.js
var searchBox []byte

const boxPath = "/search-box.js"

// shared are the paths that pages of named origins may ask.
var shared = []string{"/api/v1/search", "/api/search", suggestPath, boxPath}

// share lets a page of a named origin read the answer. It is true if the request only asked whether
// it may.
func (w *Web) share(rw http.ResponseWriter, r *http.Request) (asked bool) {
	if len(w.o.Origins) == 0 || !slices.Contains(shared, r.URL.Path) {
		return false
	}
	h := rw.Header()
	h.Add("Vary", "Origin")
	origin := r.Header["Origin"]
	if len(origin) != 1 || !slices.Contains(w.o.Origins, origin[0]) {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin[0])
	h.Set("Access-Control-Expose-Headers", incompleteHeader)
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, HEAD")
	h.Set("Access-Control-Max-Age", "3600")
	rw.WriteHeader(http.StatusNoContent)
	return true
}

// box answers /search-box.js. It has nothing of the crawl, and pages of other origins load it as a
// script, without naming theirs.
func (w *Web) box(rw http.ResponseWriter, _ *http.Request) {
	h := rw.Header()
	h.Set("Content-Type", "text/javascript; charset=utf-8")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	h.Set("Cache-Control", "public, max-age=3600")
	_, _ = rw.Write(searchBox)
}
