package rup

import (
	"errors"
	"html"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// maxForm is how many bytes of parameters are read: the longest patterns of a request, with each
// byte %-encoded, and the other parameters.
const maxForm = 3*MaxPatterns*(MaxPattern+1) + 16<<10

// ServeHTTP answers one request: POST of a form, or GET with a query (formats §6.2).
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Robots-Tag", "noindex")
	text, err := s.serve(w, r)
	if err == nil {
		writePage(w, http.StatusOK, text)
		return
	}
	var answer *Error
	if !errors.As(err, &answer) {
		s.opt.Log.Error("RUP request failed", "error", err)
		answer = &Error{Status: http.StatusServiceUnavailable, Reason: "an internal error happened; please try again later"}
	}
	if answer.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64((answer.RetryAfter+999999999)/1e9), 10))
	}
	if answer.Status == http.StatusMethodNotAllowed {
		h.Set("Allow", "GET, POST")
	}
	writePage(w, answer.Status, strings.TrimPrefix(answer.Error(), "RUP: "))
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) (string, error) {
	values, err := parameters(w, r)
	if err != nil {
		return "", err
	}
	request, err := ParseRequest(values, s.opt.Info)
	if err != nil {
		return "", err
	}
	return s.handle(r.Context(), s.opt.Client(r), request)
}

// parameters parses the query, which may include that of the CGI URL, and the body of a POST.
func parameters(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	if r.Method != http.MethodGet && r.Method != http.MethodPost {
		return nil, &Error{Status: http.StatusMethodNotAllowed, Reason: "use POST with a form, or GET with a query"}
	}
	if len(r.URL.RawQuery) > maxForm {
		return nil, bad("", "the query is longer than %d bytes", maxForm)
	}
	if r.Method == http.MethodPost && !isForm(r.Header.Get("Content-Type")) {
		return nil, bad("", "the body must have the type %s", FormType)
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		var long *http.MaxBytesError
		if errors.As(err, &long) {
			return nil, bad("", "the body is longer than %d bytes", maxForm)
		}
		return nil, bad("", "the parameters are not %s", FormType) // the error may quote a key
	}
	return r.Form, nil
}

func isForm(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && media == FormType
}

// writePage writes text as an HTML page, line by line.
func writePage(w http.ResponseWriter, status int, text string) {
	page := "<!DOCTYPE html>\n<title>RUP</title>\n<pre>\n" + html.EscapeString(strings.TrimSuffix(text, "\n")) + "\n</pre>\n"
	w.Header().Set("Content-Length", strconv.Itoa(len(page)))
	w.WriteHeader(status)
	_, _ = w.Write([]byte(page)) // the client may have gone
}

// pathQueryOf returns path and query of an absolute URL.
func pathQueryOf(u string) string {
	_, rest, _ := strings.Cut(u, "://")
	return rest[strings.IndexByte(rest, '/'):]
}

// ServeInfo answers for /rupinfo.txt.
func (s *Server) ServeInfo(w http.ResponseWriter, r *http.Request) {
	text, _ := s.opt.Info.Text() // NewServer has checked this
	http.ServeContent(w, r, "rupinfo.txt", s.started, strings.NewReader(string(text)))
}
