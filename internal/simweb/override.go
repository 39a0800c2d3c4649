package simweb

import (
	"strings"
	"sync"
	"sync/atomic"
)

// Answer is what Override puts in a page's place.
type Answer struct {
	Status      int      // 0 means 200
	ContentType string   // "" means text/html; charset=utf-8
	Header      []string // more header lines, "Name: value"
	Body        string
}

// overrides are the answers that replace or add to what the sites have.
type overrides struct {
	any atomic.Bool // there was ever one: spares the others the lock
	mu  sync.RWMutex
	at  map[string]reply // by host and path; guarded by mu
}

// Override lets a URL of the web, robots.txt too, answer otherwise from now on; nil restores what was there. Forbidden,
// Expect and the log's Forbidden do not know of it.
func (w *Web) Override(rawURL string, a *Answer) {
	host, path, ok := w.split(rawURL)
	if !ok {
		panic("simweb: override of " + rawURL + ", which is no http URL")
	}
	o := &w.overrides
	o.mu.Lock()
	defer o.mu.Unlock()
	if a == nil {
		delete(o.at, host+path)
		return
	}
	r := reply{status: a.Status, ctype: a.ContentType, body: []byte(a.Body)}
	if r.status == 0 {
		r.status = 200
	}
	if r.ctype == "" {
		r.ctype = htmlType
	}
	for _, line := range a.Header {
		r.header += strings.TrimSpace(line) + "\r\n"
	}
	if o.at == nil {
		o.at = make(map[string]reply)
	}
	o.at[host+path] = r
	o.any.Store(true)
}

func (o *overrides) reply(s *site, q *request) (reply, bool) {
	if !o.any.Load() {
		return reply{}, false
	}
	o.mu.RLock()
	defer o.mu.RUnlock()
	r, ok := o.at[s.name+q.path]
	return r, ok
}
