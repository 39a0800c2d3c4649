package crawl

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/pkg/canon"
)

// Limits of Spec.Forgotten, because the spec is one message.
const (
	MaxForgotten      = 5000
	MaxForgottenBytes = 256 << 10
)

// ErrForgetFull means that Spec.Forgotten is full.
var ErrForgetFull = errors.New("there are too many forgotten hosts and prefixes")

// ParseForgotten reads a host ("d.example") or a prefix of URLs ("https://d.example/a/") that a
// person wants to be forgotten. It returns the spelling for Spec.Forgotten.
func ParseForgotten(text string) (string, error) {
	if !strings.Contains(text, "://") {
		h, err := canon.ParseHost(text)
		if err != nil {
			return "", fmt.Errorf("%q is neither a host nor a URL; use for example d.example or https://d.example/private/", text)
		}
		return string(h), nil
	}
	u, err := canon.Parse(text)
	if err != nil {
		return "", fmt.Errorf("%q is neither a host nor a URL; use for example d.example or https://d.example/private/", text)
	}
	return string(u), nil
}

// Forget returns the spec with one more entry in Forgotten or, with undo, without this entry. The
// entry comes from ParseForgotten. changed is false if the spec stays the same.
func (s Spec) Forget(entry string, undo bool) (next Spec, changed bool, err error) {
	at, there := slices.BinarySearch(s.Forgotten, entry)
	next = s
	switch {
	case there == !undo:
		return s, false, nil
	case undo:
		next.Forgotten = slices.Delete(slices.Clone(s.Forgotten), at, at+1)
		return next, true, nil
	}
	size := len(entry)
	for _, e := range s.Forgotten {
		size += len(e) + 3
	}
	if len(s.Forgotten) >= MaxForgotten || size > MaxForgottenBytes {
		return s, false, fmt.Errorf("%w: the limit is %d hosts and prefixes and %d KiB in total; use --exclude with a pattern instead", ErrForgetFull, MaxForgotten, MaxForgottenBytes>>10)
	}
	next.Forgotten = slices.Insert(slices.Clone(s.Forgotten), at, entry)
	return next, true, nil
}

// ForgottenText identifies the contents of Forgotten in answers. It is empty if Forgotten is empty.
func (s Spec) ForgottenText() string {
	if len(s.Forgotten) == 0 {
		return ""
	}
	h := sha256.Sum256([]byte(strings.Join(s.Forgotten, "\n")))
	return hex.EncodeToString(h[:16])
}

// Forgotten decides whether a URL is forgotten. For the zero Forgotten no URL is. It never changes,
// and may be used concurrently.
type Forgotten struct {
	hosts    map[canon.Host]bool
	prefixes map[canon.Host][]string
}

// NewForgotten makes a Forgotten from Spec.Forgotten.
func NewForgotten(entries []string) Forgotten {
	var f Forgotten
	for _, e := range entries {
		if !strings.Contains(e, "://") {
			if f.hosts == nil {
				f.hosts = map[canon.Host]bool{}
			}
			f.hosts[canon.Host(e)] = true
			continue
		}
		if f.prefixes == nil {
			f.prefixes = map[canon.Host][]string{}
		}
		h := canon.URL(e).Host()
		f.prefixes[h] = append(f.prefixes[h], e)
	}
	return f
}

// Empty reports whether nothing is forgotten.
func (f Forgotten) Empty() bool { return len(f.hosts)+len(f.prefixes) == 0 }

// Has reports whether u is forgotten, by its host or by a prefix of its text. It takes one or two
// map look-ups.
func (f Forgotten) Has(u canon.URL) bool {
	if len(f.hosts) == 0 && len(f.prefixes) == 0 {
		return false
	}
	h := u.Host()
	if f.hosts[h] {
		return true
	}
	for _, p := range f.prefixes[h] {
		if strings.HasPrefix(string(u), p) {
			return true
		}
	}
	return false
}

// HasText is Has for the text of a URL. It is false if the text is not a URL.
func (f Forgotten) HasText(u string) bool {
	c, err := canon.Parse(u)
	return err == nil && f.Has(c)
}

// Host reports whether all of a host is forgotten, and whether some of it is.
func (f Forgotten) Host(h canon.Host) (all, some bool) { return f.hosts[h], len(f.prefixes[h]) > 0 }

// PrefixCount is how much is known of a host, or of all URLs with a common beginning.
type PrefixCount struct {
	URLs  int64 `json:"urls"`  // that the frontier knows, in any state
	Pages int64 `json:"pages"` // that are stored
}

// Add adds the counts of another shard.
func (c *PrefixCount) Add(o PrefixCount) { c.URLs, c.Pages = c.URLs+o.URLs, c.Pages+o.Pages }

// EntryHost is the host that an entry of Spec.Forgotten is about.
func EntryHost(entry string) canon.Host {
	if strings.Contains(entry, "://") {
		return canon.URL(entry).Host()
	}
	return canon.Host(entry)
}
