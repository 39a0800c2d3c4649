// Package indexnow reads submissions of the IndexNow protocol (indexnow.org, as of 2026; formats
// §8.33), by which a site announces pages that are new, changed or gone. It also reads the key
// files by which the site proves that a submission is its own. The package does not use the
// network. All functions may be called concurrently.
package indexnow

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/curtsy/curtsy/pkg/canon"
)

// The limits of a submission.
const (
	MaxBody = 4 << 20 // bytes of a POST
	MaxURLs = 10_000
	MaxURL  = 2048 // bytes of each
	// MaxKeyFile is how many bytes of a key file are read.
	MaxKeyFile = 1 << 10

	minKey, maxKey = 8, 128
)

// ErrNotItsOwn means that URLs are not on the host, or not below the folder of its key file.
var ErrNotItsOwn = errors.New("some URLs are not on the host or not in the folder of its key file")

// Submission is what a site submits. Its URLs are of one origin, each named once.
type Submission struct {
	Origin canon.Origin
	Key    string
	KeyURL canon.URL // where the site has its key file
	URLs   []canon.URL
}

// ParseQuery reads a submission of one URL: GET /indexnow?url=…&key=…[&keyLocation=…].
func ParseQuery(q url.Values) (Submission, error) {
	for _, name := range []string{"url", "key"} {
		if len(q[name]) != 1 || q.Get(name) == "" {
			return Submission{}, fmt.Errorf("give %s exactly once: /indexnow?url=https%%3A%%2F%%2Fexample.org%%2Fpage&key=YOURKEY", name)
		}
	}
	u, err := own(q.Get("url"))
	if err != nil {
		return Submission{}, err
	}
	return submission(u.Host(), q.Get("key"), q.Get("keyLocation"), []string{q.Get("url")})
}

// ParseJSON reads the body of a POST: {"host","key","keyLocation","urlList"}.
func ParseJSON(body []byte) (Submission, error) {
	if len(body) > MaxBody {
		return Submission{}, fmt.Errorf("the body is larger than %d MiB", MaxBody>>20)
	}
	var s struct {
		Host, Key, KeyLocation string
		URLList                []string `json:"urlList"`
	}
	if err := json.Unmarshal(body, &s); err != nil {
		return Submission{}, fmt.Errorf("the body is not the expected JSON: %.100s", err)
	}
	switch {
	case len(s.URLList) == 0:
		return Submission{}, errors.New("urlList is empty")
	case len(s.URLList) > MaxURLs:
		return Submission{}, fmt.Errorf("urlList has %d URLs; send at most %d", len(s.URLList), MaxURLs)
	}
	first, err := own(s.URLList[0])
	if err != nil {
		return Submission{}, err
	}
	if host, err := own(first.Origin().Scheme + "://" + s.Host + "/"); err != nil || host.Host() != first.Host() || host.PathQuery() != "/" {
		return Submission{}, ErrNotItsOwn
	}
	return submission(first.Host(), s.Key, s.KeyLocation, s.URLList)
}

func submission(host canon.Host, key, location string, list []string) (s Submission, err error) {
	if !IsKey(key) {
		return s, fmt.Errorf("the key has %d characters; use %d to %d letters, digits and -", len(key), minKey, maxKey)
	}
	seen := make(map[canon.URL]bool, len(list))
	for _, text := range list {
		u, err := own(text)
		switch {
		case err != nil:
			return Submission{}, err
		case s.Key == "":
			s.Origin, s.Key = u.Origin(), key
			if s.KeyURL, err = s.keyURL(location); err != nil {
				return Submission{}, err
			}
		}
		if u.Origin() != s.Origin || u.Host() != host || !strings.HasPrefix(string(u), s.folder()) {
			return Submission{}, ErrNotItsOwn
		}
		if !seen[u] {
			seen[u] = true
			s.URLs = append(s.URLs, u)
		}
	}
	return s, nil
}

// keyURL returns where the key file is: at the root of the site, unless location names another path
// on it.
func (s *Submission) keyURL(location string) (canon.URL, error) {
	if location == "" {
		return s.Origin.URL("/" + s.Key + ".txt")
	}
	u, err := own(location)
	switch {
	case err != nil:
		return u, err
	case u.Origin() != s.Origin:
		return u, ErrNotItsOwn
	case !strings.HasSuffix(u.PathQuery(), ".txt"):
		// The sender chooses this URL. It must therefore only name a file, not something that could
		// act on the site.
		return u, errors.New("keyLocation must be a text file, such as https://example.org/folder/YOURKEY.txt")
	}
	return u, nil
}

// folder is the URL of the folder with the key file. The key is valid for the URLs below it.
func (s *Submission) folder() string {
	u := string(s.KeyURL)
	if i := strings.IndexByte(u, '?'); i >= 0 {
		u = u[:i]
	}
	return u[:strings.LastIndexByte(u, '/')+1]
}

func own(text string) (canon.URL, error) {
	if len(text) > MaxURL {
		return "", fmt.Errorf("a URL has %d bytes; the limit is %d", len(text), MaxURL)
	}
	u, err := canon.Parse(text)
	if err != nil {
		return "", fmt.Errorf("%.100q is not the URL of a page: use for example https://example.org/page", text)
	}
	return u, nil
}

// IsKey reports whether a text can be a key.
func IsKey(key string) bool {
	if len(key) < minKey || len(key) > maxKey {
		return false
	}
	for i := range len(key) {
		switch c := key[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-':
		default:
			return false
		}
	}
	return true
}

// KeyIn returns the key in a key file. ok is false if there is none.
func KeyIn(body []byte) (key string, ok bool) {
	if len(body) > MaxKeyFile {
		return "", false
	}
	key = strings.Trim(strings.TrimPrefix(string(body), "\ufeff"), " \t\r\n")
	return key, IsKey(key)
}
