package search

import (
	"cmp"
	"encoding/xml"
	"net/http"
	"regexp"

	"github.com/curtsy/curtsy/internal/web"
)

// openSearchDescription is the document by which a browser offers to search here (OpenSearch 1.1,
// Draft 6).
type openSearchDescription struct {
	XMLName       xml.Name `xml:"http://a9.com/-/spec/opensearch/1.1/ OpenSearchDescription"`
	ShortName     string   // at most 16 characters
	Description   string   // at most 1024
	InputEncoding string
	URLs          []openSearchURL `xml:"Url"`
}

type openSearchURL struct {
	Type     string `xml:"type,attr"`
	Rel      string `xml:"rel,attr,omitempty"`
	Template string `xml:"template,attr"`
}

// hostPort matches a Host field that may be returned to the client.
var hostPort = regexp.MustCompile(`^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$`)

// openSearch answers /opensearch.xml. Templates must be absolute, so they use the name by which the
// server was asked.
func (w *Web) openSearch(rw http.ResponseWriter, r *http.Request) {
	// A proxy passes Host localhost on, as docs/guides/search.md has it, and the name that it was
	// asked by. Whoever sends these fields without a proxy changes only the answer to himself,
	// because no cache keeps it.
	host := cmp.Or(r.Header.Get("X-Forwarded-Host"), r.Host)
	if !hostPort.MatchString(host) {
		web.SendProblem(rw, &web.Problem{Status: http.StatusBadRequest, Text: "the Host header names no host"})
		return
	}
	base := "http://" + host
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
		base = "https://" + host
	}
	const asked = "?q={searchTerms}&page={startPage?}&per={count?}"
	body, err := xml.MarshalIndent(openSearchDescription{
		ShortName: shortName(w.o.Name), Description: "Search the pages of the crawl " + w.o.Name, InputEncoding: "UTF-8",
		URLs: []openSearchURL{
			{Type: "text/html", Template: base + "/search" + asked},
			{Type: "application/json", Template: base + "/api/v1/search" + asked},
			{Type: suggestionsType, Template: base + suggestPath + "?q={searchTerms}&format=opensearch"},
			{Type: "application/opensearchdescription+xml", Rel: "self", Template: base + "/opensearch.xml"},
		},
	}, "", "  ")
	if err != nil {
		http.Error(rw, "the description cannot be written", http.StatusInternalServerError)
		return
	}
	rw.Header().Set("Content-Type", "application/opensearchdescription+xml")
	_, _ = rw.Write([]byte(xml.Header + string(body) + "\n"))
}

// shortName is the name in a browser's list of search engines.
func shortName(crawl string) string {
	const most = 16
	if name := []rune("Curtsy " + crawl); crawl != "" && len(name) <= most {
		return string(name)
	}
	return "Curtsy"
}
