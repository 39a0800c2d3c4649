package canon

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// SURT returns the key under which web archives and their indexes store a URL (Sort-friendly URI
// Reordering Transform): "org,example)/a?b=1" for https://www.example.org/A/?b=1. Hosts of one
// domain are adjacent in the order of the keys. Scheme, case, a leading "www", a final slash and
// the order of parameters make no difference. Archives also remove session ids, which SURT does
// not. IP addresses are not reversed.
func (u URL) SURT() string {
	var b strings.Builder
	host := string(u.Host())
	switch name := strings.TrimSuffix(host, "."); {
	case u.Host().IsIP():
		b.WriteString(host)
	default:
		labels := strings.Split(withoutWWW(name), ".")
		slices.Reverse(labels)
		b.WriteString(strings.Join(labels, ","))
	}
	if port := u.Port(); port != defaultPort(u.Scheme()) {
		b.WriteString(":" + strconv.Itoa(port))
	}
	path := strings.ToLower(u.Path())
	if path = strings.TrimSuffix(path, "/"); path == "" {
		path = "/"
	}
	b.WriteString(")" + path)
	if q := strings.ToLower(u.Query()); q != "" {
		args := strings.Split(q, "&")
		slices.SortStableFunc(args, func(a, c string) int {
			aName, aValue, _ := strings.Cut(a, "=")
			cName, cValue, _ := strings.Cut(c, "=")
			return cmp.Or(cmp.Compare(aName, cName), cmp.Compare(aValue, cValue))
		})
		b.WriteString("?" + strings.Join(args, "&"))
	}
	return b.String()
}

// withoutWWW removes www, www2 and similar labels from the beginning of a host with more labels.
func withoutWWW(host string) string {
	first, rest, more := strings.Cut(host, ".")
	if digits, ok := strings.CutPrefix(first, "www"); more && ok && strings.Trim(digits, "0123456789") == "" {
		return rest
	}
	return host
}
