package resources

import (
	"container/list"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/fetcher/answer"
	"github.com/curtsy/curtsy/internal/render"
)

// Cache keeps answers. It may be used concurrently.
type Cache struct {
	mu      sync.Mutex // guards the fields below
	entries map[Key]*list.Element
	order   *list.List // of *entry; the one that was used last is in front
	bytes   int64
	most    int64
}

// Key identifies what is requested. Requests that differ in it may have different answers.
type Key struct {
	URL    string
	Accept string
	Origin string // of the page, if the request is one by CORS
}

// KeyOf returns the key of a request.
func KeyOf(q *render.Request) Key { return Key{q.URL, q.Accept, q.Origin} }

type entry struct {
	key   Key
	until time.Time // it is used without asking until then
	r     render.Response
}

// entryBytes is about how much memory an entry takes beside its body.
const entryBytes = 2 << 10

func (e *entry) size() int64 {
	n := len(e.r.Body) + len(e.key.URL) + len(e.key.Accept) + len(e.key.Origin)
	for name, values := range e.r.Header {
		n += len(name)
		for _, v := range values {
			n += len(v)
		}
	}
	return int64(n) + entryBytes
}

// New makes a cache of at most this many bytes.
func New(most int64) *Cache {
	return &Cache{entries: map[Key]*list.Element{}, order: list.New(), most: most}
}

// Get returns a stored answer. If it is fresh, it may be used as it is. Otherwise conditions are
// the header fields that validate it; they are nil if it has no validators, and then it is of no
// use. ok is false if nothing is stored.
func (c *Cache) Get(k Key, now time.Time) (r render.Response, fresh bool, conditions http.Header, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.entries[k]
	if at == nil {
		return r, false, nil, false
	}
	c.order.MoveToFront(at)
	e := at.Value.(*entry)
	return e.r, now.Before(e.until), conditionsOf(e.r.Header), true
}

func conditionsOf(h http.Header) http.Header {
	return answer.Conditional(answer.Validators(h.Get("Etag"), h.Get("Last-Modified")))
}

// Put stores an answer to a GET, if it may be stored. The cache does not copy it, so it must not be
// changed afterwards.
func (c *Cache) Put(k Key, kind render.Kind, r render.Response, now time.Time) {
	fresh, ok := freshness(kind, &r, now)
	e := &entry{k, now.Add(fresh), r}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(c.entries[k])
	if !ok || e.size() > c.most/4 {
		return
	}
	c.entries[k] = c.order.PushFront(e)
	c.bytes += e.size()
	for c.bytes > c.most {
		c.remove(c.order.Back())
	}
}

// Renew notes that an answer was validated: a 304 with the header h. It returns the answer.
func (c *Cache) Renew(k Key, kind render.Kind, stored render.Response, h http.Header, now time.Time) render.Response {
	merged := stored.Header.Clone()
	for name, values := range h {
		if !slices.Contains(notRenewed, name) {
			merged[name] = values
		}
	}
	stored.Header = merged
	c.Put(k, kind, stored, now)
	return stored
}

// notRenewed are fields that a 304 does not change, because they describe the stored body.
var notRenewed = []string{"Content-Length", "Content-Encoding", "Content-Type", "Content-Range", "Transfer-Encoding"}

func (c *Cache) remove(at *list.Element) {
	if at == nil {
		return
	}
	e := c.order.Remove(at).(*entry)
	delete(c.entries, e.key)
	c.bytes -= e.size()
}

// mayStore reports whether an answer may be used for another page.
func mayStore(r *render.Response) bool {
	switch r.Status {
	case http.StatusOK, http.StatusNonAuthoritativeInfo, http.StatusNoContent,
		http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect,
		http.StatusNotFound, http.StatusGone:
	default:
		return false
	}
	for _, line := range r.Header.Values("Vary") {
		// What we send is always the same, except for the fields of the key.
		if strings.TrimSpace(line) == "*" {
			return false
		}
	}
	return r.Refused == ""
}
