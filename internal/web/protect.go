package web

import (
	"net/http"
	"time"
)

// WaitAtMost is how long a client may take to send a form, or to receive an answer.
const WaitAtMost = 30 * time.Second

// Protect sets the header fields of every answer: no cache keeps it, no page frames it, no script
// of another origin reads it, and no crawler indexes it. referrer is the Referrer-Policy and policy
// the Content-Security-Policy; a handler may replace them. The client must have received the answer
// when the time for a question and WaitAtMost have passed, so that a slow reader does not keep a
// connection for ever.
func Protect(rw http.ResponseWriter, question time.Duration, referrer, policy string) {
	// An error means that there is no connection, as in tests.
	_ = http.NewResponseController(rw).SetWriteDeadline(time.Now().Add(question + WaitAtMost))
	h := rw.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", referrer)
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("X-Robots-Tag", "noindex, nofollow")
	h.Set("Content-Security-Policy", policy)
}
