package site

import (
	"fmt"
	"html"
	"net/http"
)

// page is a page with one button, which does something for a visitor who has the right token.
type page struct {
	ask, yes, no string // texts: before the button, after success, if the token is unknown
	do           func(token string) (known bool, err error)
}

// button answers a GET with a button, because programs that check mails follow links. It takes the
// token from a POST, in its body or its query (RFC 8058). Doing this twice has no further effect.
func button(w http.ResponseWriter, r *http.Request, p page) {
	w.Header().Set("X-Robots-Tag", "noindex")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	r.Body = http.MaxBytesReader(w, r.Body, 4<<10)
	token := r.FormValue("token")
	show := func(text string) {
		fmt.Fprintf(w, "<!DOCTYPE html>\n<title>RUP</title>\n<p>%s\n", html.EscapeString(text))
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		show(p.ask)
		fmt.Fprintf(w, "<form method=post>\n<input type=hidden name=token value=\"%s\">\n<button>Yes</button>\n</form>\n", html.EscapeString(token))
	case http.MethodPost:
		known, err := p.do(token)
		switch {
		case err != nil:
			w.WriteHeader(http.StatusServiceUnavailable)
			show("An internal error happened. Please try again later.")
		case !known:
			w.WriteHeader(http.StatusBadRequest)
			show(p.no)
		default:
			show(p.yes)
		}
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}
