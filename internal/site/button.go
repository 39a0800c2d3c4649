package site

import (
	"fmt"
	"html"
	"net/http"
)

// page is a page with one button, which does something for whoever has the right token.
type page struct {
	ask, yes, no string // in front of the button; when it was done; when the token is unknown
	do           func(token string) (known bool, err error)
}

// button shows a button to a GET, for programs that look into mails follow links, and takes the
// token from a POST, in its body or its query (RFC 8058). Doing it twice is no harm.
func button(w http.ResponseWriter, r *http.Request, p page) {
	w.Header().Set("X-Robots-Tag", "noindex")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	r.Body = http.MaxBytesReader(w, r.Body, 4<<10)
	token := r.FormValue("token")
	say := func(text string) {
		fmt.Fprintf(w, "<!DOCTYPE html>\n<title>RUP</title>\n<p>%s\n", html.EscapeString(text))
	}
	switch r.Method {
	case http.MethodGet:
		say(p.ask)
		fmt.Fprintf(w, "<form method=post>\n<input type=hidden name=token value=\"%s\">\n<button>Yes</button>\n</form>\n", html.EscapeString(token))
	case http.MethodPost:
		known, err := p.do(token)
		switch {
		case err != nil:
			w.WriteHeader(http.StatusServiceUnavailable)
			say("An internal error happened. Please try again later.")
		case !known:
			w.WriteHeader(http.StatusBadRequest)
			say(p.no)
		default:
			say(p.yes)
		}
	default:
		w.Header().Set("Allow", "GET, POST")
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}
