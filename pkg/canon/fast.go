package canon

import "strings"

// The fast path handles links that become canonical by cutting and joining alone: nearly all links
// of real pages. It never changes a byte, and leaves everything that it does not recognise
// immediately to resolve, which defines the result. FuzzFastEqualsSlow compares the two.

// parseFast is Parse for simple links. ok is false if resolve must handle raw.
func parseFast(raw string) (u URL, ok bool, err error) {
	raw = trim(raw)
	n := schemeLen(raw)
	if n == 0 {
		return "", false, nil
	}
	scheme := knownScheme(raw[:n])
	if scheme == "" {
		return "", true, ErrScheme
	}
	host, end, ok := plainURL(raw, n, scheme)
	if !ok {
		return "", false, nil
	}
	if raw[:n] == scheme && host < end && raw[host] == '/' {
		if end > MaxLen {
			return "", true, ErrTooLong
		}
		return URL(raw[:end]), true, nil
	}
	u, err = assemble(scheme, raw[n+1:host], raw[host:end])
	return u, true, err
}

// joinFast is Join for simple links. ok is false if resolve must handle ref.
func (b *Base) joinFast(ref string) (u URL, ok bool, err error) {
	ref = trim(ref)
	if n := schemeLen(ref); n > 0 {
		return b.joinAbsolute(ref, n)
	}
	if len(ref) > maxRaw || b.scheme == "" {
		return "", false, nil
	}
	keep, start := b.dir, 0 // the result is b.url[:keep] + ref[start:end]
	switch {
	case ref == "" || ref[0] == '#':
		return b.url, true, nil
	case ref[0] == '?':
		keep = b.path
	case strings.HasPrefix(ref, "//"):
		host, end, ok := plainAuthority(ref, len("//"), b.scheme)
		if !ok {
			return "", false, nil
		}
		u, err = assemble(b.scheme, ref[:host], ref[host:end])
		return u, true, err
	case ref[0] == '/':
		keep = b.root
	case ref[0] == '.':
		if keep, start = b.climb(ref); start < 0 {
			return "", false, nil
		}
	}
	end, ok := plainTail(ref, start)
	if !ok {
		return "", false, nil
	}
	u, err = b.extend(keep, ref[start:end])
	return u, true, err
}

// joinAbsolute is joinFast for a ref that begins with a scheme of n bytes.
func (b *Base) joinAbsolute(ref string, n int) (u URL, ok bool, err error) {
	scheme := knownScheme(ref[:n])
	if scheme == "" {
		return "", true, ErrScheme
	}
	if len(ref) > maxRaw {
		return "", false, nil
	}
	// Most absolute links stay on their origin, whose spelling need not be checked again.
	if b.root > 0 && strings.HasPrefix(ref, string(b.url[:b.root])) {
		tail := ref[b.root:]
		if tail != "" && tail[0] == '/' {
			end, ok := plainTail(tail, 0)
			if !ok {
				return "", false, nil
			}
			u, err = b.extend(b.root, tail[:end])
			return u, true, err
		}
	}
	host, end, ok := plainURL(ref, n, scheme)
	if !ok {
		return "", false, nil
	}
	u, err = assemble(scheme, ref[n+1:host], ref[host:end])
	return u, true, err
}

// extend returns the first keep bytes of the base followed by tail.
func (b *Base) extend(keep int, tail string) (URL, error) {
	if keep+len(tail) > MaxLen {
		return "", ErrTooLong
	}
	if tail == "" {
		return b.url[:keep], nil
	}
	return b.url[:keep] + URL(tail), nil
}

// climb follows the "./" and "../" at the beginning of ref. It returns how much of the base remains
// and where ref continues. start is -1 if another dot follows.
func (b *Base) climb(ref string) (keep, start int) {
	keep = b.dir
	for start < len(ref) && ref[start] == '.' {
		switch rest := ref[start:]; {
		case strings.HasPrefix(rest, "./"):
			start += len("./")
		case strings.HasPrefix(rest, "../"):
			start += len("../")
			if keep-1 > b.root {
				keep = strings.LastIndexByte(string(b.url[:keep-1]), '/') + 1
			}
		default:
			return 0, -1
		}
	}
	return keep, start
}

// assemble returns scheme + ":" + authority + tail. authority is "//host:port"; tail lacks its "/"
// only if the path is empty.
func assemble(scheme, authority, tail string) (URL, error) {
	slash := "/"
	if tail != "" && tail[0] == '/' {
		slash = ""
	}
	if len(scheme)+len(":")+len(authority)+len(slash)+len(tail) > MaxLen {
		return "", ErrTooLong
	}
	return URL(scheme + ":" + authority + slash + tail), nil
}

// schemeLen returns the length of the scheme at the beginning of s, or 0.
func schemeLen(s string) int {
	if s == "" || !is(s[0], alphaByte) {
		return 0
	}
	for i := 1; i < len(s); i++ {
		if !is(s[i], schemeByte) {
			if s[i] == ':' {
				return i
			}
			break
		}
	}
	return 0
}

// plainURL is plainAuthority for s that begins with a scheme of n bytes.
func plainURL(s string, n int, scheme string) (host, end int, ok bool) {
	if len(s) > maxRaw || !strings.HasPrefix(s[n:], "://") {
		return 0, 0, false
	}
	return plainAuthority(s, n+len("://"), scheme)
}

// plainAuthority finds the end of the host and port that begin at s[i], and the end of the query.
// ok means that all of them may stay unchanged.
func plainAuthority(s string, i int, scheme string) (host, end int, ok bool) {
	start, label := i, i
	for ; i < len(s); i++ {
		if is(s[i], hostByte) {
			continue
		}
		if s[i] != '.' {
			break
		}
		if n := i - label; n == 0 || n > maxLabel {
			return 0, 0, false
		}
		label = i + 1
	}
	if n := i - label; n == 0 || n > maxLabel || i-start > maxHost {
		return 0, 0, false
	}
	name := s[start:i]
	if strings.Contains(name, "xn--") || s[label] <= '9' && endsInNumber(name) {
		return 0, 0, false
	}
	if i < len(s) && s[i] == ':' {
		port := i + 1
		for i++; i < len(s) && '0' <= s[i] && s[i] <= '9'; i++ {
		}
		if n, err := parsePort(s[port:i], scheme); err != nil || n == 0 || s[port] == '0' {
			return 0, 0, false
		}
	}
	if i < len(s) && s[i] != '/' && s[i] != '?' && s[i] != '#' {
		return 0, 0, false
	}
	end, ok = plainTail(s, i)
	return i, end, ok
}

// plainTail finds the end of the path and query that begin at s[i], without the fragment and an
// empty query. ok means that they may stay unchanged: no byte needs an escape, no escape changes,
// and no segment after a "/" begins with a dot.
func plainTail(s string, i int) (end int, ok bool) {
	start := i
	i = plainRun(s, i, pathByte)
	if strings.Contains(s[start:i], "/.") {
		return 0, false
	}
	end = i
	if i < len(s) && s[i] == '?' {
		if i = plainRun(s, i+1, queryByte); i > end+1 {
			end = i
		}
	}
	return end, i == len(s) || s[i] == '#'
}

// plainRun returns the end of the bytes from s[i] that may stay unchanged in part.
func plainRun(s string, i int, part byteClass) int {
	for ; i < len(s); i++ {
		if is(s[i], part) {
			continue
		}
		if s[i] != '%' || !plainEscape(s[i+1:]) {
			break
		}
		i += 2
	}
	return i
}

// plainEscape reports whether s begins with two upper-case digits of an escape that is kept.
func plainEscape(s string) bool {
	if len(s) < 2 || !is(s[0], hexByte) || !is(s[1], hexByte) || s[0] >= 'a' || s[1] >= 'a' {
		return false
	}
	return !is(unhex(s[0])<<4|unhex(s[1]), unreservedByte)
}
