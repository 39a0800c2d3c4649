package simweb

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// portalPath is the path at which a portal is asked for its datasets.
const portalPath = "/api/3/action/package_search"

// Portal makes a host of the web a CKAN with n datasets, of which it returns at most `most` at a
// time, 10 unless more are requested. It returns the URL of the search by which the datasets are
// listed.
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
