package robots

import "strings"

// HostResult is the meaning of a Host line for one origin (formats §2.1, §2.2).
type HostResult int

const (
	HostIgnored HostResult = iota // the argument is incorrect: the line counts as absent
	HostMatch                     // it names the current origin
	HostNoMatch                   // it names another one
)

// String returns "ignored", "match" or "nomatch".
func (r HostResult) String() string {
	switch r {
	case HostMatch:
		return "match"
	case HostNoMatch:
		return "nomatch"
	}
	return "ignored"
}

// hostArgument is a correct argument of a Host line.
type hostArgument struct {
	name   string // as written
	scheme string // "http", "https", or "" if not written
	port   int    // 0 if not written
	single bool   // one label only, as in "localhost"
}

// hostRecord is a Host line whose argument is correct, at least for some origins.
type hostRecord struct {
	scope
	hostArgument
	line int
	text string
}

func (p *parser) host(value string) {
	arg, reason := parseHostArgument(value)
	if reason != "" {
		p.odd("Host: " + reason + ": skipped")
		return
	}
	f := p.file
	switch {
	case arg.single:
		p.odd("Host: the name has one label, so it is valid only on an origin whose name has one label")
	case f.HostHint == "":
		f.HostHint = value
	}
	f.hosts = append(f.hosts, hostRecord{p.scope(), arg, p.line, p.text})
}

// parseHostArgument parses [http:// | https://] name [:port], and returns what is wrong with any
// other text (formats §2.1). Ignoring a doubtful line never hides a page; accepting it might close
// a site.
func parseHostArgument(s string) (arg hostArgument, reason string) {
	if scheme, rest, ok := strings.Cut(s, "://"); ok {
		arg.scheme, s = lower(scheme), rest
		if defaultPort(arg.scheme) == 0 {
			return arg, "the scheme is neither http nor https"
		}
	}
	name, port, hasPort := strings.Cut(s, ":")
	if name == "" {
		return arg, "no name"
	}
	labels := 0
	var last string
	for rest, more := name, true; more; labels++ {
		last, rest, more = strings.Cut(rest, ".")
		if reason := checkLabel(last); reason != "" {
			return arg, reason
		}
	}
	switch {
	case len(name) > 253:
		return arg, "the name is longer than 253 octets"
	case endsInNumber(last):
		return arg, "the last label is a number, as in an IP address"
	}
	if hasPort {
		if arg.port = parsePort(port); arg.port == 0 {
			return arg, "the port is not a number from 1 to 65535"
		}
	}
	arg.name, arg.single = name, labels == 1
	return arg, ""
}

func checkLabel(label string) (reason string) {
	if label == "" {
		return "the name has an empty label or ends with a dot"
	}
	if len(label) > 63 {
		return "a label is longer than 63 octets"
	}
	for i := range len(label) {
		if c := label[i]; !isLetter(c) && !isDigit(c) && c != '-' {
			return "it contains a character that a host name cannot have"
		}
	}
	if label[0] == '-' || label[len(label)-1] == '-' {
		return "a label begins or ends with a hyphen"
	}
	return ""
}

// endsInNumber reports whether URL parsers read a name as an IPv4 address: its last label is a
// number, decimal or 0x….
func endsInNumber(label string) bool {
	if allDigits(label) {
		return true
	}
	if len(label) < 2 || label[0] != '0' || lowerByte(label[1]) != 'x' {
		return false
	}
	for i := 2; i < len(label); i++ {
		if !isHex(label[i]) {
			return false
		}
	}
	return true
}

// counts reports whether the argument is correct on o. A single label is correct only if o's host
// is a single label itself, so that "Host: yes" closes no site (formats §2.1).
func (a hostArgument) counts(o Origin) bool {
	return o.Host != "" && (!a.single || !strings.ContainsAny(withoutRootDot(o.Host), ".:"))
}

// matches compares by formats §2.2. Without a port the argument means the default port of o's
// scheme. "http://" counts as no scheme, because there was hardly another in 2003.
func (a hostArgument) matches(o Origin) bool {
	if !equalFold(a.name, withoutRootDot(o.Host)) {
		return false
	}
	if a.scheme == "https" && o.Scheme != "https" {
		return false
	}
	return withDefault(a.port, o.Scheme) == withDefault(o.Port, o.Scheme)
}

// withoutRootDot removes a final dot: example.org. is example.org in the DNS, and a Host line must
// not contain the dot.
func withoutRootDot(name string) string { return strings.TrimSuffix(name, ".") }

func withDefault(port int, scheme string) int {
	if port == 0 {
		return defaultPort(scheme)
	}
	return port
}

// CheckHost returns the meaning of a Host line with the given argument for origin (formats §2.1,
// §2.2). Unless it matches, reason explains why. A comment in the argument is ignored.
func CheckHost(argument string, origin Origin) (result HostResult, reason string) {
	argument, _, _ = strings.Cut(argument, "#")
	arg, reason := parseHostArgument(trim(argument))
	switch {
	case reason != "":
		return HostIgnored, reason
	case origin.Host == "":
		return HostIgnored, "there is no origin to compare with"
	case !arg.counts(origin):
		return HostIgnored, "the name has one label, but the current host has more"
	case arg.matches(origin):
		return HostMatch, ""
	default:
		return HostNoMatch, "it names another origin than " + origin.String()
	}
}

// impliedRule returns the "Disallow: /" that the Host lines of our groups add if there are correct
// ones and none matches (formats §2.3). Its line is the first of them.
func (f *File) impliedRule(ours []int32, o Origin) (implied rule, ok bool) {
	for _, h := range f.hosts {
		if !h.covers(ours) || !h.counts(o) {
			continue
		}
		if h.matches(o) {
			return rule{}, false
		}
		if !ok {
			implied, ok = rule{pattern: "/", text: h.text, line: int32(h.line)}, true
		}
	}
	return implied, ok
}

// ClaimKind is the kind of a claim.
type ClaimKind int

const (
	ClaimNone   ClaimKind = iota // the file names no main mirror
	ClaimSelf                    // it names the origin it came from
	ClaimTarget                  // it names another origin
)

// String returns "none", "self" or "target".
func (k ClaimKind) String() string {
	switch k {
	case ClaimSelf:
		return "self"
	case ClaimTarget:
		return "target"
	}
	return "none"
}

// Claim is the statement of a robots.txt about the main mirror of its origin (formats §2.4). It is
// valid for that origin only.
type Claim struct {
	Kind   ClaimKind
	Target Origin // the origin named, for ClaimTarget
	Line   int    // the line with the claim; 0 for ClaimNone
}

// Claim returns the file's claim if it came from origin, considering the Host lines in all groups
// (formats §2.4): ClaimSelf if any matches, else ClaimTarget with the first correct one.
func (f *File) Claim(origin Origin) Claim {
	claim := Claim{}
	for _, h := range f.hosts {
		if !h.counts(origin) {
			continue
		}
		if h.matches(origin) {
			return Claim{Kind: ClaimSelf, Line: h.line}
		}
		if claim.Kind == ClaimNone {
			claim = Claim{Kind: ClaimTarget, Target: h.target(origin), Line: h.line}
		}
	}
	return claim
}

// target completes the argument: the scheme comes from the port, else from the claiming origin;
// then the port comes from the scheme.
func (a hostArgument) target(from Origin) Origin {
	t := Origin{Scheme: a.scheme, Host: lower(a.name), Port: a.port}
	if t.Scheme == "" {
		switch a.port {
		case 443:
			t.Scheme = "https"
		case 80:
			t.Scheme = "http"
		default:
			t.Scheme = from.Scheme
		}
	}
	t.Port = withDefault(t.Port, t.Scheme)
	return t
}
