package download

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// book tells of the files that are whole: datapackage.json, from which SHA256SUMS is made. Safe for concurrent use.
type book struct {
	dir string

	mu        sync.Mutex // guards resources, and the files
	resources []resource
}

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

// origin is what we know of a file's way here, beyond the standard's fields.
type origin struct {
	Dataset   string    `json:"dataset"`
	Title     string    `json:"title,omitempty"`   // of the dataset
	License   string    `json:"license,omitempty"` // as the site writes it
	URL       string    `json:"url"`               // asked for
	Final     string    `json:"final,omitempty"`   // where redirects led
	Documents []string  `json:"documents"`         // that tell of the dataset
	Retrieved time.Time `json:"retrieved"`
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

// createdBy marks a package as one of ours, which may be replaced.
const createdBy = "curtsy datasets get"

// maxPackage bounds what is read of a package.
const maxPackage = 64 << 20

// openBook reads what a directory has. Somebody else's package is an error: it would be lost.
func openBook(dir string) (*book, error) {
	p, err := readPackage(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return &book{dir: dir}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w; name another directory with --dir", err)
	}
	return &book{dir: dir, resources: p.Resources}, nil
}

func readPackage(dir string) (p dataPackage, err error) {
	f, err := openRegular(dir, packageName, os.O_RDONLY, false)
	if err != nil {
		return p, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxPackage))
	if err != nil {
		return p, err
	}
	at := filepath.Join(dir, packageName)
	if err := json.Unmarshal(b, &p); err != nil {
		return p, fmt.Errorf("%s cannot be read: %w", at, err)
	}
	if p.CreatedBy != createdBy {
		return p, fmt.Errorf("%s is not of curtsy datasets get", at)
	}
	return p, nil
}

// find returns the resource that came from a URL.
func (b *book) find(url string) (resource, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.resources {
		if r.Curtsy.URL == url {
			return r, true
		}
	}
	return resource{}, false
}

// add enters a file, in the place of an earlier copy of it, and writes both files. Adding twice changes nothing.
func (b *book) add(r resource) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.resources = slices.DeleteFunc(slices.Clone(b.resources), func(o resource) bool { return o.Path == r.Path || o.Curtsy.URL == r.Curtsy.URL })
	b.resources = append(b.resources, r)
	slices.SortFunc(b.resources, func(a, b resource) int { return strings.Compare(a.Path, b.Path) })
	if err := replace(b.dir, sumsName, b.writeSums); err != nil {
		return err
	}
	return replace(b.dir, packageName, b.writePackage)
}

func (b *book) writeSums(w io.Writer) error {
	buf := bufio.NewWriter(w)
	for _, r := range b.resources {
		buf.WriteString(sumLine(strings.TrimPrefix(r.Hash, "sha256:"), r.Path))
	}
	return buf.Flush()
}

var sumEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`)

// sumLine is a line as sha256sum writes it: a backslash in front says that the name has some.
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

func (b *book) writePackage(w io.Writer) error {
	p := dataPackage{Profile: "data-package", Name: "datasets", CreatedBy: createdBy, Sources: []source{}, Resources: slices.Clone(b.resources)}
	taken, datasets := names{}, map[string]string{}
	for i := range p.Resources {
		r := &p.Resources[i]
		r.Name = taken.take(slug(r.Path))
		datasets[r.Curtsy.Dataset] = r.Curtsy.Title
		if r.Curtsy.Retrieved.After(p.Created) {
			p.Created = r.Curtsy.Retrieved
		}
		for _, l := range r.Licenses {
			if !slices.Contains(p.Licenses, l) {
				p.Licenses = append(p.Licenses, l)
			}
		}
		for _, d := range r.Curtsy.Documents {
			if s := (source{Title: d, Path: d}); !slices.Contains(p.Sources, s) {
				p.Sources = append(p.Sources, s)
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

// slug makes an identifier of a name: lower case, and no characters but letters, digits, '.', '_' and '-'.
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

// describe makes a resource of a file, but for what only the file itself tells.
func describe(f *File) resource {
	d := f.Dataset
	r := resource{Path: f.Name, Title: f.About.Name, MediaType: f.About.MediaType, Sources: []source{{Title: d.Origin, Path: string(f.URL)}},
		Curtsy: origin{Dataset: d.ID, Title: title(d), License: d.License, URL: string(f.URL), Documents: []string{}}}
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
	return r
}

func title(d *crawl.DatasetInfo) string {
	if d.Title != "" {
		return d.Title
	}
	return d.Name
}
