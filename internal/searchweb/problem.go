package searchweb

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/curtsy/curtsy/internal/crawl"
)

// problem is why there is no answer, as RFC 9457 has it ("problem details").
type problem struct {
	Type      string `json:"type"`  // RFC 9457 §3.1.1: about:blank, the status says it all
	Title     string `json:"title"` // RFC 9457 §4.2.1: of about:blank the status's own words
	Status    int    `json:"status"`
	Detail    string `json:"detail"`              // a sentence for who asked
	Parameter string `json:"parameter,omitempty"` // the one that is wrong

	retry int // seconds after which it may be asked again; 0: that would not help
}

// wrong is the problem of a parameter.
func wrong(parameter, format string, args ...any) *problem {
	return &problem{Status: http.StatusBadRequest, Parameter: parameter, Detail: fmt.Sprintf(format, args...)}
}

// head writes what a problem adds to the header.
func (p *problem) head(h http.Header) {
	if p.retry > 0 {
		h.Set("Retry-After", strconv.Itoa(p.retry))
	}
}

// send answers with the problem.
func (p problem) send(rw http.ResponseWriter) {
	p.Type, p.Title = "about:blank", http.StatusText(p.Status)
	p.head(rw.Header())
	sendJSON(rw, p.Status, "application/problem+json", p)
}

// sendJSON answers with v. Control characters in it are written so that a terminal that is shown
// the answer does not obey them.
func sendJSON(rw http.ResponseWriter, status int, contentType string, v any) {
	var body bytes.Buffer
	enc := json.NewEncoder(crawl.SafeJSONTo(&body))
	// Links are to be copied as they stand, and nobody takes this for HTML.
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil { // a score that is no number
		http.Error(rw, "the answer cannot be written as JSON", http.StatusInternalServerError)
		return
	}
	rw.Header().Set("Content-Type", contentType)
	rw.WriteHeader(status)
	_, _ = rw.Write(body.Bytes())
}
