package simweb

import (
	"strconv"
	"sync"
	"sync/atomic"
)

// editions counts how often numbered pages were changed.
type editions struct {
	any atomic.Bool // there was ever one; if not, no lock is needed
	mu  sync.RWMutex
	at  map[string]int // by host and path; guarded by mu
}

// Change gives a numbered page a different text from now on, with a different ETag and a sentence
// that says how often it has changed.
func (w *Web) Change(rawURL string) {
	host, path, ok := w.split(rawURL)
	if !ok {
		panic("simweb: change of " + rawURL + ", which is no http URL")
	}
	e := &w.editions
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.at == nil {
		e.at = make(map[string]int)
	}
	e.at[host+path]++
	e.any.Store(true)
}

func (e *editions) of(s *site, path string) int {
	if !e.any.Load() {
		return 0
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.at[s.name+path]
}

// appendEdition adds the sentence to a complete page.
func appendEdition(page []byte, n int) []byte {
	if n == 0 {
		return page
	}
	const end = "</body></html>\n"
	page = append(page[:len(page)-len(end)], "<p>Of this page there were "...)
	return append(append(strconv.AppendInt(page, int64(n), 10), " others before.</p>\n"...), end...)
}
