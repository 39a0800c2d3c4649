package download

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// manifestLog lists the files that are complete: in datapackage.json, from which SHA256SUMS is
// made, and in a log. Writing both lists takes time in proportion to their length, so most files
// are only appended to the log. The lists are written when the log has grown to an eighth of them,
// and at the end. It may be used concurrently.
type manifestLog struct {
	dir string

	mu     sync.Mutex // guards what follows, and the files
	byPath map[string]resource
	byURL  map[string]string // path of the file from a URL
	taken  names             // in the directory
	log    *os.File          // nil: it is empty
	logged int               // entries of the log that are not in the lists
	// the lists are written when the log is one part in share of all resources
	share int
}

// listShare limits the work: on average each file is written into the lists nine times at most,
// however many files there are.
const listShare = 8

// resource is a file as a Data Package describes it.
type resource struct {
	Name      string    `json:"name"` // an identifier within the package
	Path      string    `json:"path"`
	Title     string    `json:"title,omitempty"`
	MediaType string    `json:"mediatype,omitempty"`
	Bytes     int64     `json:"bytes"`
	Hash      string    `json:"hash"` // "sha256:" and hex
	Licenses  []license `json:"licenses,omitempty"`
	Sources   []source  `json:"sources"`
	Schema    *schema   `json:"schema,omitempty"`
	Curtsy    origin    `json:"curtsy"`
}

type license struct {
	Name string `json:"name,omitempty"` // SPDX
	Path string `json:"path,omitempty"`
}

type source struct {
	Title string `json:"title"`
	Path  string `json:"path"`
}

// origin is where a file came from, in addition to the standard's fields.
type origin struct {
	Dataset   string    `json:"dataset"`
	Title     string    `json:"title,omitempty"`   // of the dataset
	License   string    `json:"license,omitempty"` // as the site writes it
	URL       string    `json:"url"`               // the requested URL
	Final     string    `json:"final,omitempty"`   // after redirects
	Documents []string  `json:"documents"`         // that describe the dataset
	Usage     []string  `json:"usage,omitempty"`   // of their sites: "ai-train disallow", …
	Retrieved time.Time `json:"retrieved"`
	Remark    string    `json:"remark,omitempty"` // why it may not be the announced file
}

// dataPackage is a datapackage.json.
type dataPackage struct {
	Profile   string     `json:"profile"`
	Name      string     `json:"name"`
	Title     string     `json:"title"`
	Created   time.Time  `json:"created"`
	CreatedBy string     `json:"created_by"`
	Licenses  []license  `json:"licenses,omitempty"`
	Sources   []source   `json:"sources"`
	Resources []resource `json:"resources"`
}

// createdBy marks a package as ours, which we may replace.
const createdBy = "curtsy datasets get"

// openManifestLog reads the lists of a directory. A package that is not ours is an error, because
// it would be overwritten.
func openManifestLog(dir string) (*manifestLog, error) {
	b := &manifestLog{dir: dir, share: listShare, byPath: map[string]resource{}, byURL: map[string]string{}, taken: names{}}
	p, err := readPackage(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w; choose another directory with --dir", err)
	}
	for _, r := range p.Resources {
		b.know(r)
	}
	logged, _, err := readLog(dir)
	if err != nil {
		return nil, err
	}
	for _, r := range logged {
		b.know(r)
	}
	b.logged = len(logged)
	return b, nil
}

// readPackage reads a datapackage.json of any size, one resource at a time.
func readPackage(dir string) (p dataPackage, err error) {
	f, err := openRegular(dir, packageName, os.O_RDONLY, false)
	if err != nil {
		return p, err
	}
	defer f.Close()
	if err := p.decode(json.NewDecoder(bufio.NewReader(f))); err != nil {
		return p, fmt.Errorf("%s cannot be read: %w", filepath.Join(dir, packageName), err)
	}
	if p.CreatedBy != createdBy {
		return p, fmt.Errorf("%s was not written by curtsy datasets get", filepath.Join(dir, packageName))
	}
	return p, nil
}

// decode reads the part of a package that Get needs. If the package turns out not to be ours before
// its resources begin, nothing more is read.
func (p *dataPackage) decode(d *json.Decoder) error {
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return cmp.Or(err, errors.New("it is not a JSON object"))
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		switch key {
		case "created_by":
			if err := d.Decode(&p.CreatedBy); err != nil {
				return err
			}
			if p.CreatedBy != createdBy {
				return nil
			}
		case "resources":
			if t, err := d.Token(); err != nil || t != json.Delim('[') {
				return cmp.Or(err, errors.New("its resources are not a list"))
			}
			for d.More() {
				var r resource
				if err := d.Decode(&r); err != nil {
					return err
				}
				p.Resources = append(p.Resources, r)
			}
			if _, err := d.Token(); err != nil {
				return err
			}
		default:
			var skip json.RawMessage
			if err := d.Decode(&skip); err != nil {
				return err
			}
		}
	}
	_, err := d.Token()
	return err
}

// find returns the resource that came from a URL.
func (b *manifestLog) find(url string) (resource, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at, ok := b.byURL[url]
	return b.byPath[at], ok
}

// know adds a resource in memory and replaces an earlier one. Adding it twice changes nothing.
func (b *manifestLog) know(r resource) {
	if at, ok := b.byURL[r.Curtsy.URL]; ok {
		delete(b.byPath, at)
	}
	if old, ok := b.byPath[r.Path]; ok {
		delete(b.byURL, old.Curtsy.URL)
	}
	b.byPath[r.Path], b.byURL[r.Curtsy.URL] = r, r.Path
}

// add adds a file and replaces an earlier copy of it. It returns when that is on disk. Adding it
// twice changes nothing.
func (b *manifestLog) add(r resource) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.know(r)
	if (b.logged+1)*b.share >= len(b.byPath) {
		b.logged++ // if it cannot be written now, close tries again
		return b.writeLists()
	}
	if err := b.append(r); err != nil {
		return err
	}
	b.logged++
	return nil
}

// close writes the lists, if they are incomplete.
func (b *manifestLog) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.logged == 0 {
		return nil
	}
	return b.writeLists()
}

// writeLists writes both files, and then removes the log. After a crash in between, the log repeats
// entries of the files.
func (b *manifestLog) writeLists() error {
	if err := replace(b.dir, sumsName, b.writeSums); err != nil {
		return err
	}
	if err := replace(b.dir, packageName, b.writePackage); err != nil {
		return err
	}
	if err := b.dropLog(); err != nil {
		return err
	}
	b.logged = 0
	return nil
}

// sorted returns the resources in the order of their paths.
func (b *manifestLog) sorted() []resource {
	all := slices.Collect(maps.Values(b.byPath))
	slices.SortFunc(all, func(a, b resource) int { return strings.Compare(a.Path, b.Path) })
	return all
}

func (b *manifestLog) writeSums(w io.Writer) error {
	buf := bufio.NewWriter(w)
	for _, r := range b.sorted() {
		buf.WriteString(sumLine(strings.TrimPrefix(r.Hash, "sha256:"), r.Path))
	}
	return buf.Flush()
}

var sumEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`)

// sumLine returns a line in the form of sha256sum: a backslash at the beginning means that the name
// contains escapes.
func sumLine(sum, name string) string {
	if escaped := sumEscapes.Replace(name); escaped != name {
		return `\` + sum + "  " + escaped + "\n"
	}
	return sum + "  " + name + "\n"
}

// parseSum reads a line of SHA256SUMS.
func parseSum(line string) (sum, name string, ok bool) {
	line, escaped := strings.CutPrefix(line, `\`)
	if len(line) < 67 || line[64] != ' ' || line[65] != ' ' && line[65] != '*' {
		return "", "", false
	}
	sum, name = strings.ToLower(line[:64]), line[66:]
	if strings.Trim(sum, "0123456789abcdef") != "" {
		return "", "", false
	}
	if escaped {
		name = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\r`, "\r").Replace(name)
	}
	return sum, name, true
}

func (b *manifestLog) writePackage(w io.Writer) error {
	p := dataPackage{Profile: "data-package", Name: "datasets", CreatedBy: createdBy, Sources: []source{}, Resources: b.sorted()}
	taken, datasets := names{}, map[string]string{}
	licenses, sources := map[license]bool{}, map[string]bool{}
	for i := range p.Resources {
		r := &p.Resources[i]
		r.Name = taken.take(slug(r.Path))
		datasets[r.Curtsy.Dataset] = r.Curtsy.Title
		if r.Curtsy.Retrieved.After(p.Created) {
			p.Created = r.Curtsy.Retrieved
		}
		for _, l := range r.Licenses {
			if !licenses[l] {
				licenses[l] = true
				p.Licenses = append(p.Licenses, l)
			}
		}
		for _, d := range r.Curtsy.Documents {
			if !sources[d] {
				sources[d] = true
				p.Sources = append(p.Sources, source{Title: d, Path: d})
			}
		}
	}
	p.Title = fmt.Sprintf("%d datasets", len(datasets))
	for id, title := range datasets {
		if len(datasets) == 1 {
			p.Name, p.Title = slug(title), title
			if title == "" {
				p.Name, p.Title = id, id
			}
		}
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(p)
}

// slug makes an identifier of a name: lower case, and only letters, digits, '.', '_' and '-'.
func slug(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			return r
		}
		return '-'
	}, strings.ToLower(s))
	for strings.Contains(s, "--") {
		s = strings.ReplaceAll(s, "--", "-")
	}
	if s = strings.Trim(s, "-."); s == "" {
		return "data"
	}
	return s
}

// describe makes a resource of a file, without the fields for which the file must be read.
func describe(f *File) resource {
	d := f.Dataset
	r := resource{Path: f.Name, Title: f.About.Name, MediaType: f.About.MediaType, Sources: []source{{Title: d.Origin, Path: string(f.URL)}},
		Curtsy: origin{Dataset: d.ID, Title: title(d), License: d.License, URL: string(f.URL), Documents: []string{}, Usage: d.Usage.Directives()}}
	switch {
	case d.SPDX != nil:
		r.Licenses = []license{{Name: *d.SPDX}}
	case strings.HasPrefix(d.License, "https://"), strings.HasPrefix(d.License, "http://"):
		r.Licenses = []license{{Path: d.License}}
	}
	for _, s := range d.Sources {
		r.Curtsy.Documents = append(r.Curtsy.Documents, s.Document)
	}
	if r.Title == r.Path {
		r.Title = ""
	}
	r.Schema = schemaOf(d)
	return r
}

func title(d *crawl.DatasetInfo) string {
	if d.Title != "" {
		return d.Title
	}
	return d.Name
}
