package canon

import (
	"fmt"
	"strings"
)

// HostPattern matches hosts. A host name matches itself; "*." and a name match that name and all
// names below it. The zero value matches nothing. It may be used concurrently.
type HostPattern struct {
	name  Host
	below bool
}

// ParseHostPattern parses a pattern, ignoring spaces around it. Its error wraps ErrHost.
func ParseHostPattern(raw string) (HostPattern, error) {
	text, below := strings.CutPrefix(strings.TrimSpace(raw), "*.")
	h, err := ParseHost(text)
	switch {
	case err != nil:
		return HostPattern{}, err
	case strings.Contains(string(h), "*"):
		return HostPattern{}, fmt.Errorf("%w: * stands for whole labels, as in *.example.org", ErrHost)
	case below && h.IsIP():
		return HostPattern{}, fmt.Errorf("%w: an IP address has no subdomains", ErrHost)
	}
	return HostPattern{h, below}, nil
}

// Matches reports whether the pattern matches a host.
func (p HostPattern) Matches(h Host) bool {
	return p.name != "" && (h == p.name || p.below && h.below(p.name))
}

// below reports whether the host is a name below another name.
func (h Host) below(name Host) bool {
	return len(h) > len(name) && h[len(h)-len(name)-1] == '.' && strings.HasSuffix(string(h), string(name))
}

// String returns the pattern in the form that ParseHostPattern reads.
func (p HostPattern) String() string {
	if p.below {
		return "*." + string(p.name)
	}
	return string(p.name)
}

// IsBelow reports whether the pattern begins with "*.".
func (p HostPattern) IsBelow() bool { return p.below }

// IsOpen reports whether the pattern covers all names below a public suffix, as *.org does.
func (p HostPattern) IsOpen() bool { return p.below && p.name.IsPublicSuffix() }

// Name returns the name in the pattern, without "*.".
func (p HostPattern) Name() Host { return p.name }
