package canon

import (
	"fmt"
	"strings"
)

// HostPattern stands for hosts: a host name for itself, and "*." before a name for it and for all
// names below it. The zero value stands for none. It may be used from many goroutines.
type HostPattern struct {
	name  Host
	below bool
}

// ParseHostPattern reads a pattern as people write one. Its error is ErrHost, or says that an
// address has no names below it.
func ParseHostPattern(raw string) (HostPattern, error) {
	text, below := strings.CutPrefix(strings.TrimSpace(raw), "*.")
	h, err := ParseHost(text)
	switch {
	case err != nil:
		return HostPattern{}, err
	case strings.Contains(string(h), "*"):
		return HostPattern{}, fmt.Errorf("%w: * stands for whole labels, as in *.example.org", ErrHost)
	case below && h.IsIP():
		return HostPattern{}, fmt.Errorf("%w: an address has no names below it", ErrHost)
	}
	return HostPattern{h, below}, nil
}

// Matches reports whether the pattern stands for a host.
func (p HostPattern) Matches(h Host) bool {
	return p.name != "" && (h == p.name || p.below && h.below(p.name))
}

// below reports whether a host's name is below another one.
func (h Host) below(name Host) bool {
	return len(h) > len(name) && h[len(h)-len(name)-1] == '.' && strings.HasSuffix(string(h), string(name))
}

// String is the pattern as it is written.
func (p HostPattern) String() string {
	if p.below {
		return "*." + string(p.name)
	}
	return string(p.name)
}

// IsBelow reports whether the pattern stands for more than one name.
func (p HostPattern) IsBelow() bool { return p.below }

// IsOpen reports whether the pattern stands for names that anybody may have, as *.org does.
func (p HostPattern) IsOpen() bool { return p.below && p.name.IsPublicSuffix() }

// Name is the name in it.
func (p HostPattern) Name() Host { return p.name }
