package robots

import "strings"

// AgentServer is one Mobile-agent-server line (formats §3): URLs whose path starts with Path may be
// explored by mobile agents sent to Target. The package only reports it; it sends nothing anywhere.
type AgentServer struct {
	Path   string // as written, with a leading "/" if it had none
	Target string // scheme://host[:port] in lower case; "" if the line has "none"
	Line   int
}

// Covers reports whether Path is a prefix of path. The line then decides about path, unless a later
// one covers it as well. A query or fragment is ignored.
func (s AgentServer) Covers(path string) bool {
	return hasPrefix1996(pathOnly(path), s.Path)
}

// pathOnly is path without a query or fragment; an empty one is "/".
func pathOnly(path string) string {
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		path = path[:i]
	}
	if path == "" {
		return "/"
	}
	return path
}

func (p *parser) agentServer(value string) {
	path, rest := cutWord(value)
	target, extra := cutWord(rest)
	switch {
	case target == "":
		p.odd("Mobile-agent-server has no target: skipped")
		return
	case extra != "":
		p.odd("Mobile-agent-server has more than a path and a target: skipped")
		return
	case strings.IndexByte(path, '?') >= 0:
		p.odd("Mobile-agent-server has a query in its path: skipped")
		return
	}
	if equalFold(target, "none") {
		target = ""
	} else if reason := checkAgentTarget(target); reason != "" {
		p.odd("Mobile-agent-server: " + reason + ": skipped")
		return
	}
	if path[0] != '/' {
		path = "/" + path
	}
	// Cloned, because the list is kept longer than the text.
	s := AgentServer{Path: strings.Clone(path), Target: strings.Clone(lower(target)), Line: p.line}
	p.file.agentServers = append(p.file.agentServers, s)
}

// checkAgentTarget checks for scheme "://" host [":" port] and nothing else.
func checkAgentTarget(target string) (reason string) {
	scheme, rest, ok := strings.Cut(target, "://")
	if !ok || scheme == "" {
		return "the target is neither none nor scheme://host"
	}
	for i := range len(scheme) {
		if c := scheme[i]; !isLetter(c) && !isDigit(c) && c != '+' && c != '-' && c != '.' {
			return "the scheme contains other characters than letters, digits, + - ."
		}
	}
	name, port, hasPort := strings.Cut(rest, ":")
	if name == "" {
		return "the target has no host"
	}
	for i := range len(name) {
		c := name[i]
		escape := c == '%' && i+2 < len(name) && isHex(name[i+1]) && isHex(name[i+2])
		if !escape && !isLetter(c) && !isDigit(c) && strings.IndexByte("$-_.+!*'(),", c) < 0 {
			return "the target contains a character that a host name cannot have"
		}
	}
	if hasPort && parsePort(port) == 0 {
		return "the port is not a number from 1 to 65535"
	}
	return ""
}

// AgentServers returns all valid Mobile-agent-server lines of the file, in all groups, in file
// order. The caller must not change it.
func (f *File) AgentServers() []AgentServer { return f.agentServers }

// AgentServer returns where mobile agents may be sent to explore the URL with the given path, and
// whether there is such a server. Of the lines whose path is a prefix of it, the last in the file
// counts, however short (formats §3): later lines override earlier ones. A query or fragment is
// ignored.
func (f *File) AgentServer(path string) (target string, ok bool) {
	return agentServer(f.agentServers, path)
}

// AgentServer is [File.AgentServer]: these lines apply to all robots.
func (r *Rules) AgentServer(path string) (target string, ok bool) {
	return agentServer(r.agentServers, path)
}

func agentServer(servers []AgentServer, path string) (target string, ok bool) {
	path = pathOnly(path)
	for i := len(servers) - 1; i >= 0; i-- {
		if hasPrefix1996(path, servers[i].Path) {
			return servers[i].Target, servers[i].Target != ""
		}
	}
	return "", false
}

// hasPrefix1996 compares as the robots draft of 1996 does (formats §5.3): octet by octet. %XX
// counts as its octet, except %2F, which is not "/". There are no wildcards.
func hasPrefix1996(path, prefix string) bool {
	for prefix != "" {
		if path == "" {
			return false
		}
		var a, b int
		a, path = nextOctet(path)
		b, prefix = nextOctet(prefix)
		if a != b {
			return false
		}
	}
	return true
}

// nextOctet decodes the first octet of s; an encoded slash is 256, equal only to itself.
func nextOctet(s string) (octet int, rest string) {
	if s[0] != '%' || len(s) < 3 || !isHex(s[1]) || !isHex(s[2]) {
		return int(s[0]), s[1:]
	}
	v := int(unhex(s[1]))<<4 | int(unhex(s[2]))
	if v == '/' {
		v = 256
	}
	return v, s[3:]
}
