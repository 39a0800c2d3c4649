package canon

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// SURT returns the key under which web archives and their indexes file a URL (Sort-friendly URI
// Reordering Transform): "org,example)/a?b=1" for https://www.example.org/A/?b=1. Hosts of one
// domain sort side by side. Scheme, case, a leading "www", a slash at the end and the order of
// parameters make no difference. Archives also leave out session ids, which this does not. IP
// addresses are not turned round.
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

// withoutWWW takes www, www2 and the like off the front of a host that has more labels.
func withoutWWW(host string) string {
	first, rest, more := strings.Cut(host, ".")
	if digits, ok := strings.CutPrefix(first, "www"); more && ok && strings.Trim(digits, "0123456789") == "" {
		return rest
	}
	return host
}
