package dashboard

import (
	"bytes"
	"net/http"
	"time"

	"github.com/curtsy/curtsy/internal/web"
)

// Limits of a stream.
const (
	streamLasts = time.Hour        // then the browser asks again, and must still be logged in
	heartbeat   = 15 * time.Second // in a stream in which nothing changes
	lookShare   = 20               // looking takes at most a 20th of the time
	lookAtLeast = 10 * time.Second // a change is seen after that at the latest
)

// stream sends the main part of a page again whenever it has changed, until the client has gone or
// has logged out in another window.
func (w *Web) stream(rw http.ResponseWriter, r *http.Request, p *page) {
	select {
	case w.streams <- struct{}{}:
		defer func() { <-w.streams }()
	default:
		w.server.Fail(rw, r, &web.Problem{Status: http.StatusServiceUnavailable, Text: "Too many pages are open at once.", Retry: 10})
		return
	}
	rw.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(rw)
	var sent []byte
	begun, said := time.Now(), time.Now()
	for time.Since(begun) < streamLasts && !w.server.LoggedOut(r) {
		looked := time.Now()
		main, says, err := w.main(r, p)
		took := time.Since(looked)
		if r.Context().Err() != nil {
			return
		}
		event := append(message("says", []byte(says)), message("main", main)...)
		if err != nil {
			event = message("trouble", []byte(w.server.ProblemOf(r.Context(), r.URL.Path, err).Text))
		}
		switch {
		case !bytes.Equal(event, sent):
			sent = event
		case time.Since(said) > heartbeat:
			event = message("still", []byte("here")) // a page does not see comments
		default:
			event = nil
		}
		if event != nil {
			_ = out.SetWriteDeadline(time.Now().Add(web.WaitAtMost)) // tests have no connection
			if _, err := rw.Write(event); err != nil || out.Flush() != nil {
				return
			}
			said = time.Now()
		}
		select {
		case <-r.Context().Done():
			return
		case <-time.After(min(max(w.o.Beat, lookShare*took), lookAtLeast)):
		}
	}
}

// main is the main part of a page alone, and what the page says about being followed.
func (w *Web) main(r *http.Request, p *page) (main []byte, says string, err error) {
	f, err := w.view(r, p)
	if err != nil {
		return nil, "", err
	}
	w.server.Complete(&f, r)
	says = "Live."
	if e, ok := f.V.(ending); f.Stopped || ok && e.ended() {
		says = "The crawl has ended. This page continues when the crawl does."
	}
	var b bytes.Buffer
	err = pageTemplates.Of(p.file).ExecuteTemplate(&b, "content", f)
	return b.Bytes(), says, err
}

// ending is a view that knows whether the crawl has ended.
type ending interface{ ended() bool }

// message is an event of a stream.
func message(event string, data []byte) []byte {
	b := []byte("event: " + event + "\n")
	for line := range bytes.Lines(data) {
		b = append(append(append(b, "data: "...), bytes.TrimRight(line, "\r\n")...), '\n')
	}
	return append(b, '\n')
}
