package simweb

import "sync"

// Sent is an answer as it went over the wire.
type Sent struct {
	URL     string
	Bytes   []byte
	Aborted bool // the client did not take all of it
}

// sentLog records answers, if Config.KeepSent is set.
type sentLog struct {
	mu  sync.Mutex // guards all
	all []Sent
}

// Sent returns the answers so far, in the order in which they ended. With Config.KeepSent only.
func (w *Web) Sent() []Sent {
	w.sent.mu.Lock()
	defer w.sent.mu.Unlock()
	return append([]Sent(nil), w.sent.all...)
}

func (l *sentLog) add(s Sent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, s)
}
