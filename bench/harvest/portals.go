package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
)

// address is where all portals are.
const address = "127.0.0.2"

// web has all portals. It does not change after it was made.
type web struct {
	port    int
	portals []*portal
	byHost  map[string]*portal
	titles  map[string]string // of all datasets; the values are not used
	files   map[string]string // URL → SHA-256
	bytes   int64             // of all files

	requests, sent atomic.Int64
}

// portal is one host, which describes its datasets in one of the shapes.
type portal struct {
	host  string // with the port
	shape int
	sets  []set
}

type set struct {
	n     int
	title string
	files []file
}

type file struct {
	path, url, sum string
	body           []byte
}

// The shapes of portals.
const (
	dataJSON = iota // one data.json (DCAT-US)
	ckan            // CKAN's package_search, by pages
	dcat            // one catalogue in JSON-LD
	pages           // a page for each dataset, with JSON-LD
	dataTxt         // a data.txt, and a data package beside each file
	shapes
)

func newWeb(s settings, port int) *web {
	w := &web{port: port, byHost: map[string]*portal{}, titles: map[string]string{}, files: map[string]string{}}
	for i := range s.portals {
		p := &portal{host: fmt.Sprintf("portal-%02d.example:%d", i, port), shape: i % shapes}
		for n := i; n < s.datasets; n += s.portals {
			one := set{n: n, title: fmt.Sprintf("Measurements of station %05d", n)}
			for k := range 1 + n/s.portals%2 {
				if k > 0 && p.shape == dataTxt {
					break // of a file beside each package
				}
				f := file{path: fmt.Sprintf("/files/%d/%s-%d.csv", n, []string{"hours", "days"}[k], n)}
				f.body = []byte(strings.Repeat(fmt.Sprintf("%d,%d,%d\n", n, k, n*k), 20+n*7%300))
				sum := sha256.Sum256(f.body)
				f.url, f.sum = "http://"+p.host+f.path, hex.EncodeToString(sum[:])
				w.files[f.url], w.bytes = f.sum, w.bytes+int64(len(f.body))
				one.files = append(one.files, f)
			}
			w.titles[one.title] = ""
			p.sets = append(p.sets, one)
		}
		w.portals, w.byHost[p.host] = append(w.portals, p), p
	}
	return w
}

func (w *web) seeds() (urls []string) {
	for _, p := range w.portals {
		urls = append(urls, "http://"+p.host+"/")
	}
	return urls
}

// ServeHTTP implements [http.Handler].
func (w *web) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.requests.Add(1)
	p := w.byHost[r.Host]
	if p == nil {
		http.NotFound(rw, r)
		return
	}
	body, kind := p.answer(r)
	if body == nil {
		http.NotFound(rw, r)
		return
	}
	rw.Header().Set("Content-Type", kind)
	rw.Header().Set("Content-Length", strconv.Itoa(len(body)))
	n, _ := rw.Write(body)
	w.sent.Add(int64(n))
}

// object is a JSON object.
type object = map[string]any

// answer returns the body for a request, and its type; nil if there is none.
func (p *portal) answer(r *http.Request) ([]byte, string) {
	first, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case r.URL.Path == "/":
		return p.home(), "text/html"
	case first == "files":
		if s := p.set(rest); s != nil {
			for _, f := range s.files {
				if f.path == r.URL.Path {
					return f.body, "text/csv"
				}
			}
			if p.shape == dataTxt && strings.HasSuffix(rest, "/datapackage.json") {
				return asJSON(s.dataPackage()), "application/json"
			}
		}
	case r.URL.Path == "/data.json" && p.shape == dataJSON:
		var list []object
		for _, s := range p.sets {
			list = append(list, s.dcat(p, "downloadURL"))
		}
		return asJSON(object{"conformsTo": "https://project-open-data.cio.gov/v1.1/schema", "dataset": list}), "application/json"
	case r.URL.Path == "/api/3/action/package_search" && p.shape == ckan:
		return asJSON(p.search(r)), "application/json"
	case r.URL.Path == "/catalog.jsonld" && p.shape == dcat:
		list := []object{}
		for _, s := range p.sets {
			list = append(list, s.dcat(p, "dcat:downloadURL"))
		}
		return asJSON(object{"@context": object{"dcat": "http://www.w3.org/ns/dcat#", "dct": "http://purl.org/dc/terms/", "spdx": "http://spdx.org/rdf/terms#"},
			"@id": "http://" + p.host + "/catalog.jsonld", "@type": "dcat:Catalog", "dct:title": p.host, "dcat:dataset": list}), "application/ld+json"
	case first == "d" && p.shape == pages:
		if s := p.set(rest); s != nil {
			return s.page(), "text/html"
		}
	case r.URL.Path == "/data.txt" && p.shape == dataTxt:
		var b bytes.Buffer
		for _, s := range p.sets {
			fmt.Fprintf(&b, "- path: %s\n  title: %s\n  license: CC-BY-4.0\n", strings.TrimPrefix(s.files[0].path, "/"), s.title)
		}
		return b.Bytes(), "text/plain"
	}
	return nil, ""
}

// set returns the dataset whose number a path begins with.
func (p *portal) set(path string) *set {
	number, _, _ := strings.Cut(path, "/")
	n, err := strconv.Atoi(number)
	if err != nil || len(p.sets) == 0 {
		return nil
	}
	step := 1
	if len(p.sets) > 1 {
		step = p.sets[1].n - p.sets[0].n
	}
	if i := (n - p.sets[0].n) / step; i >= 0 && i < len(p.sets) && p.sets[i].n == n {
		return &p.sets[i]
	}
	return nil
}

func asJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // the values are made here
	}
	return b
}

// home links to what describes the datasets.
func (p *portal) home() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "<!doctype html><html><head><title>%s</title></head><body><p>open data</p>", p.host)
	link := func(path string) { fmt.Fprintf(&b, "<a href=\"%s\">more</a>\n", path) }
	switch p.shape {
	case dataJSON:
		link("/data.json")
	case ckan:
		link("/api/3/action/package_search?rows=100")
	case dcat:
		link("/catalog.jsonld")
	}
	for _, s := range p.sets {
		switch p.shape {
		case pages:
			link(fmt.Sprintf("/d/%d", s.n))
		case dataTxt:
			link(fmt.Sprintf("/files/%d/datapackage.json", s.n))
		}
	}
	b.WriteString("</body></html>")
	return b.Bytes()
}

// dcat describes a dataset as data.json or DCAT does.
func (s *set) dcat(p *portal, download string) object {
	linked := strings.HasPrefix(download, "dcat:")
	name := func(prefix, key string) string {
		if linked {
			return prefix + key
		}
		return key
	}
	id := fmt.Sprintf("http://%s/id/%d", p.host, s.n)
	var files []object
	for _, f := range s.files {
		var url any = f.url
		if linked {
			url = object{"@id": f.url}
		}
		files = append(files, object{"@type": "dcat:Distribution", download: url, name("dcat:", "mediaType"): "text/csv",
			name("spdx:", "checksum"): object{"@type": "spdx:Checksum", name("spdx:", "algorithm"): "sha256", name("spdx:", "checksumValue"): f.sum}})
	}
	return object{"@type": "dcat:Dataset", "@id": id, name("dct:", "identifier"): id, name("dct:", "title"): s.title, name("dct:", "description"): "Words about " + s.title, name("dcat:", "distribution"): files}
}

// page is a page about one dataset.
func (s *set) page() []byte {
	var files []object
	for _, f := range s.files {
		files = append(files, object{"@type": "DataDownload", "contentUrl": f.url, "encodingFormat": "text/csv", "sha256": f.sum})
	}
	ld := asJSON(object{"@context": "https://schema.org/", "@type": "Dataset", "name": s.title, "description": "Words about " + s.title, "distribution": files})
	return fmt.Appendf(nil, "<!doctype html><html><head><title>%s</title><script type=\"application/ld+json\">%s</script></head><body><p>%s</p></body></html>", s.title, ld, s.title)
}

// dataPackage describes a dataset as a datapackage.json.
func (s *set) dataPackage() object {
	var files []object
	for _, f := range s.files {
		files = append(files, object{"name": fmt.Sprint("r", s.n), "path": f.path[strings.LastIndexByte(f.path, '/')+1:], "mediatype": "text/csv", "hash": "sha256:" + f.sum, "bytes": len(f.body)})
	}
	return object{"name": fmt.Sprint("station-", s.n), "title": s.title, "resources": files}
}

// search answers CKAN's package_search.
func (p *portal) search(r *http.Request) object {
	start, _ := strconv.Atoi(r.URL.Query().Get("start"))
	rows, _ := strconv.Atoi(r.URL.Query().Get("rows"))
	start = min(max(start, 0), len(p.sets))
	var results []object
	for _, s := range p.sets[start:min(start+min(max(rows, 0), 1000), len(p.sets))] {
		var files []object
		for _, f := range s.files {
			files = append(files, object{"id": fmt.Sprint(s.n, f.path), "url": f.url, "format": "CSV", "hash": "sha256:" + f.sum, "size": len(f.body)})
		}
		results = append(results, object{"id": fmt.Sprintf("00000000-0000-4000-8000-%012d", s.n), "name": fmt.Sprint("station-", s.n), "title": s.title, "notes": "Words about " + s.title, "resources": files})
	}
	return object{"success": true, "result": object{"count": len(p.sets), "results": results}}
}
