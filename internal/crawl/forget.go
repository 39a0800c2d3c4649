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

// Limits of Spec.Forgotten: the spec is one message.
const (
	MaxForgotten      = 5000
	MaxForgottenBytes = 256 << 10
)

// ErrForgetFull says that no more can be forgotten one by one.
var ErrForgetFull = errors.New("there are too many forgotten hosts and prefixes")

// ParseForgotten reads what a person wants forgotten, a host ("d.example") or a URL and all below
// it ("https://d.example/a/"), and returns it in the one spelling that Spec.Forgotten holds.
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

// Forget returns the spec with one more entry forgotten, in the form of ParseForgotten, or, with
// undo, remembered again. changed is false when nothing changes by that.
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

// ForgottenText tells one Forgotten list from another in an answer: "" is the empty one.
func (s Spec) ForgottenText() string {
	if len(s.Forgotten) == 0 {
		return ""
	}
	h := sha256.Sum256([]byte(strings.Join(s.Forgotten, "\n")))
	return hex.EncodeToString(h[:16])
}

// Forgotten answers whether a URL was forgotten. The zero Forgotten says no to all. It does not
// change after it is made, and may be asked concurrently.
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

// Empty reports that nothing was forgotten.
func (f Forgotten) Empty() bool { return len(f.hosts)+len(f.prefixes) == 0 }

// Has reports whether u was forgotten, by its host or by a prefix of it as written. It costs a
// map look-up or two.
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

// HasText is Has for a URL in text, as answers carry it.
func (f Forgotten) HasText(u string) bool {
	c, err := canon.Parse(u)
	return err == nil && f.Has(c)
}

// Host reports whether something of a host was forgotten: all of it, or some.
func (f Forgotten) Host(h canon.Host) (all, some bool) { return f.hosts[h], len(f.prefixes[h]) > 0 }
