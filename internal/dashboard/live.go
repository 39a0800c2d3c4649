package dashboard

import (
	"bytes"
	"net/http"
	"strings"
	"time"
)

// streams reports whether a page is asked for as an event stream.
func streams(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.HasPrefix(r.Header.Get("Accept"), "text/event-stream")
}

// Limits of a stream.
const (
	streamLasts = time.Hour        // then the browser asks anew, and must be let in again
	heartbeat   = 15 * time.Second // in a stream in which nothing changes
	lookShare   = 20               // looking takes at most a 20th of the time
	lookAtLeast = 10 * time.Second // nobody waits longer to see what has changed
)

// stream sends the main part of a page again whenever it has changed, until whoever looks has gone,
// or has logged out elsewhere.
func (w *Web) stream(rw http.ResponseWriter, r *http.Request, p *page) {
	select {
	case w.streams <- struct{}{}:
		defer func() { <-w.streams }()
	default:
		w.fail(rw, r, &problem{Status: http.StatusServiceUnavailable, Text: "Too many pages are open at once.", retry: 10})
		return
	}
	rw.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(rw)
	var sent []byte
	begun, said := time.Now(), time.Now()
	for s := sessionOf(r.Context()); time.Since(begun) < streamLasts && !w.ended.has(s); {
		looked := time.Now()
		main, says, err := w.main(r, p)
		took := time.Since(looked)
		if r.Context().Err() != nil {
			return
		}
		event := append(message("says", []byte(says)), message("main", main)...)
		if err != nil {
			event = message("trouble", []byte(w.problemOf(r.Context(), r.URL.Path, err).Text))
		}
		switch {
		case !bytes.Equal(event, sent):
			sent = event
		case time.Since(said) > heartbeat:
			event = message("still", []byte("here")) // a browser tells its page of no comments
		default:
			event = nil
		}
		if event != nil {
			_ = out.SetWriteDeadline(time.Now().Add(waitAtMost)) // tests have no connection
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

// main is the main part of a page alone, and what the page says of how it is followed.
func (w *Web) main(r *http.Request, p *page) (main []byte, says string, err error) {
	f, err := w.view(r, p)
	if err != nil {
		return nil, "", err
	}
	w.complete(&f, r, sessionOf(r.Context()))
	says = "Live."
	if e, ok := f.V.(ending); f.Stopped || ok && e.ended() {
		says = "The crawl has ended. This page continues when the crawl does."
	}
	var b bytes.Buffer
	err = pageTemplates()[p.file].ExecuteTemplate(&b, "content", f)
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
