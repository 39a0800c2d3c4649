package simweb

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// Answer replaces the answer of a page: see Override.
type Answer struct {
	Status      int      // 0 means 200
	ContentType string   // "" means text/html; charset=utf-8
	Header      []string // more header lines, "Name: value"
	Body        string
}

// overrides are the answers that replace or add to those of the sites.
type overrides struct {
	any atomic.Bool // there was ever one; if not, no lock is needed
	mu  sync.RWMutex
	at  map[string]override // by host and path; guarded by mu
}

type override struct {
	reply
	serve func(method, form string) Answer // makes the reply for each request; nil: reply is used
	asked func(query string) Answer        // the same, for a Portal
	// the ETag for which a conditional request is answered with 304; "" answers every request in
	// full
	etag string
}

// Override makes a URL of the web, or a robots.txt, answer differently from now on; nil restores
// the original answer. If the answer has status 200 and an ETag among its header lines, a client
// that sends this ETag gets 304 with the same lines. Forbidden, Expect and the log's Forbidden
// ignore it.
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
	o.set(host+path, a.override())
}

// Handle makes f answer a URL of the web from now on, including forms posted to it of at most 64
// KiB. f is called concurrently.
func (w *Web) Handle(rawURL string, f func(method, form string) Answer) {
	host, path, ok := w.split(rawURL)
	if !ok {
		panic("simweb: handler of " + rawURL + ", which is no http URL")
	}
	w.overrides.mu.Lock()
	defer w.overrides.mu.Unlock()
	w.overrides.set(host+path, override{serve: f})
}

// set adds an override. The caller has locked mu.
func (o *overrides) set(key string, r override) {
	if o.at == nil {
		o.at = make(map[string]override)
	}
	o.at[key] = r
	o.any.Store(true)
}

func (a *Answer) override() override {
	r := override{reply: reply{status: a.Status, ctype: a.ContentType, body: []byte(a.Body)}}
	if r.status == 0 {
		r.status = 200
	}
	if r.ctype == "" {
		r.ctype = htmlType
	}
	for _, line := range a.Header {
		r.header += strings.TrimSpace(line) + "\r\n"
		if name, value, _ := strings.Cut(line, ":"); r.status == 200 && strings.EqualFold(strings.TrimSpace(name), "ETag") {
			r.etag = strings.TrimSpace(value)
		}
	}
	return r
}

func (o *overrides) reply(s *site, q *request) (reply, bool) {
	if !o.any.Load() {
		return reply{}, false
	}
	o.mu.RLock()
	r, ok := o.at[s.name+q.path]
	query := ""
	if !ok {
		r, query, ok = o.askedOf(s.name, q.path)
	}
	o.mu.RUnlock()
	switch {
	case r.asked != nil:
		a := r.asked(query)
		r = a.override()
	case r.serve != nil:
		a := r.serve(q.method, q.form)
		r = a.override()
	case q.method != "GET" && q.method != "HEAD":
		return reply{}, false // the others have only one answer
	}
	if r.etag != "" && r.etag == q.ifNoneMatch {
		return reply{status: 304, header: r.header}, ok
	}
	return r.reply, ok
}

// portalPath is the path of the search for the datasets of a portal.
const portalPath = "/api/3/action/package_search"

// Portal makes a host of the web a CKAN with n datasets. A response of the host has 10 datasets, or
// as many as the request asks for, but never more than `most`. Portal returns the URL of the search
// that lists the datasets.
func (w *Web) Portal(origin string, n, most int) (search string) {
	host, path, ok := w.split(origin + portalPath)
	if !ok {
		panic("simweb: portal at " + origin + ", which is no origin")
	}
	w.overrides.mu.Lock()
	defer w.overrides.mu.Unlock()
	w.overrides.set(host+path+anyQuery, override{asked: func(query string) Answer {
		q, _ := url.ParseQuery(query)
		number := func(name string, otherwise int) int {
			if v, err := strconv.Atoi(q.Get(name)); err == nil && v >= 0 {
				return v
			}
			return otherwise
		}
		type object = map[string]any
		results := []object{}
		for i := number("start", 0); i < n && len(results) < min(number("rows", 10), most); i++ {
			results = append(results, object{
				"id": fmt.Sprintf("id-%d", i), "name": fmt.Sprintf("set-%d", i), "title": fmt.Sprintf("Set %d", i), "notes": "What was counted.",
				"license_id": "CC-BY-4.0", "organization": object{"title": "The office"}, "tags": []object{{"name": "counts"}},
				"resources": []object{{"url": fmt.Sprintf("%s/files/%d.csv", origin, i), "format": "CSV", "size": 10 + i}},
			})
		}
		body, err := json.Marshal(object{"success": true, "result": object{"count": n, "results": results}})
		if err != nil {
			panic(err) // it consists of texts and numbers
		}
		return Answer{ContentType: "application/json", Body: string(body)}
	}})
	return origin + portalPath
}

// anyQuery in a key represents every query, and none.
const anyQuery = "?*"

// askedOf finds what answers a path with any query.
func (o *overrides) askedOf(host, path string) (r override, query string, ok bool) {
	path, query, _ = strings.Cut(path, "?")
	r, ok = o.at[host+path+anyQuery]
	return r, query, ok
}

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
