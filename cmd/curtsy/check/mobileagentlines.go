package check

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// mobileField is the name of the lines, in lower case.
const mobileField = "mobile-agent-server"

// mobileLine is a valid line, and what follows from it.
type mobileLine struct {
	Line   int     `json:"line"`
	Path   string  `json:"path"`
	Server *string `json:"server"` // null if the line has none
	// OverriddenBy is a later line that decides for all paths of this one; 0 if there is none.
	OverriddenBy int `json:"overridden_by"`
	// Except are the paths below Path for which later lines decide.
	Except []string `json:"except"`
	// Subtree is what a robot would read. Empty: no robot is sent, and Why says why.
	Subtree string `json:"subtree"`
	Why     string `json:"why"`
	// Remark is what the owner of the site may not expect.
	Remark string `json:"remark"`
}

// mobileMalformed is a line without effect, and what to write instead.
type mobileMalformed struct {
	Line    int    `json:"line"`
	Reason  string `json:"reason"`
	Text    string `json:"text"`
	Instead string `json:"instead"`
}

// mobileSite is what decides where robots are sent.
type mobileSite struct {
	origin  canon.Origin
	token   string   // of the robot
	servers []string // --mobile-robots-server
}

// lines are the valid lines of a file, in its order.
func (s mobileSite) lines(file *robots.File) []mobileLine {
	all := file.AgentServers()
	origin, err := robots.ParseOrigin(s.origin.String())
	if err != nil {
		origin = robots.Origin{} // not for the origin of a canonical URL
	}
	rules := file.Rules(s.token, origin)
	list := []mobileLine{}
	for i, of := range all {
		l := mobileLine{Line: of.Line, Path: of.Path, Except: []string{}}
		for _, later := range all[i+1:] {
			switch {
			case l.OverriddenBy == 0 && later.Covers(of.Path):
				l.OverriddenBy = later.Line
			case of.Covers(later.Path) && !slices.Contains(l.Except, later.Path):
				l.Except = append(l.Except, later.Path)
			}
		}
		if of.Target != "" {
			l.Server = &of.Target
		}
		s.decide(&l, all[i:], rules)
		for _, before := range list {
			if l.Subtree != "" && before.Subtree != "" && *before.Server == *l.Server && strings.HasPrefix(l.Subtree, before.Subtree) {
				l.Remark = fmt.Sprintf("the robot of line %d reads it too, because the server is the same", before.Line)
				break
			}
		}
		list = append(list, l)
	}
	return list
}

// decide sets Subtree, Why and Remark of a line, the first of from.
func (s mobileSite) decide(l *mobileLine, from []robots.AgentServer, rules *robots.Rules) {
	if strings.ContainsAny(l.Path, "*$") {
		l.Remark = "* and $ are ordinary characters in these lines"
	}
	subtree := l.Path
	if !strings.HasSuffix(subtree, "/") {
		subtree += "/"
	}
	at, err := canon.Parse(s.origin.String() + subtree)
	switch {
	case l.OverriddenBy > 0:
		l.Why = fmt.Sprintf("line %d comes later and is for all its paths; put this line behind it, or delete it", l.OverriddenBy)
	case l.Server == nil:
		l.Why = "it keeps robots away"
	case err != nil || !from[0].Covers(at.Path()):
		l.Why = "no URL begins with this path"
		if err == nil {
			l.Why += ", because URLs are compared in their canonical spelling: write " + at.Path()
		}
	default:
		for _, later := range from[1:] {
			if later.Covers(at.Path()) {
				l.Why = fmt.Sprintf("a robot would read the paths below %s, and line %d comes later and is for these", at.Path(), later.Line)
			}
		}
		if l.Why == "" {
			l.Why = s.refuses(*l.Server)
		}
	}
	if l.Why != "" {
		return
	}
	l.Subtree = at.Path()
	switch v := rules.Match(l.Subtree); {
	case l.Remark != "":
	case !v.Allowed:
		l.Remark = fmt.Sprintf("line %d (%s) closes %s to %s, and a robot reads only what is open to it", v.Line, v.Rule, l.Subtree, s.token)
	case !strings.HasSuffix(l.Path, "/"):
		l.Remark = fmt.Sprintf("the line is also for paths such as %sa, but a robot reads only what is below %s; the rest is requested as usual", l.Path, l.Subtree)
	}
}

// refuses returns why no robot is sent to a server; empty: it may be.
func (s mobileSite) refuses(server string) string {
	u, ok := crawl.AgentServerURL(server)
	if !ok {
		return "curtsy sends robots to addresses that begin with atp:// or atps:// only"
	}
	if spec := (crawl.Spec{RobotServers: s.servers}); spec.MayUseServer(s.origin.Host, u) {
		return ""
	}
	_, address, _ := strings.Cut(crawl.AgentAddress(u), "://")
	return fmt.Sprintf("the server is outside of %s, so a robot is sent only if the operator of the crawler lists it: --mobile-robots-server %s", s.origin.Host.Registered(), address)
}

// malformed are the lines of a file that have no effect, and what the owner probably meant.
func (s mobileSite) malformed(file *robots.File, body []byte) []mobileMalformed {
	list := []mobileMalformed{}
	for _, d := range file.Diagnostics {
		if field, value, _ := strings.Cut(d.Text, ":"); strings.EqualFold(strings.TrimSpace(field), mobileField) {
			reason := strings.TrimSuffix(strings.TrimPrefix(d.Reason, "Mobile-agent-server: "), ": skipped")
			list = append(list, mobileMalformed{d.Line, reason, d.Text, s.instead(value)})
		}
	}
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(body[:min(len(body), robots.MaxBytes)]))
	n := 0
	for line := range strings.Lines(text) {
		n++
		field, value, ok := strings.Cut(line, ":")
		if ok && len(list) < robots.MaxDiagnostics && misspelt(field) {
			value, _, _ = strings.Cut(value, "#")
			list = append(list, mobileMalformed{n, "the name of the line is not Mobile-agent-server", strings.TrimSpace(cutText(line)), s.instead(value)})
		}
	}
	slices.SortStableFunc(list, func(a, b mobileMalformed) int { return cmp.Compare(a.Line, b.Line) })
	return list
}

// cutText is as much of a line as the diagnostics of a robots.txt have.
func cutText(line string) string { return strings.ToValidUTF8(line[:min(len(line), 200)], "") }

// misspelt reports whether the name of a line is almost Mobile-agent-server.
func misspelt(field string) bool {
	field = strings.ToLower(strings.TrimSpace(strings.TrimPrefix(field, "\ufeff")))
	if len(field) > 40 || field == mobileField {
		return false
	}
	letters := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == ' ' {
			return -1
		}
		return r
	}, field)
	for _, name := range []string{"mobileagentserver", "mobileagentsserver", "mobileagent", "mobileagents", "agentserver", "mobilerobotserver", "mobilerobotsserver", "mobileserver"} {
		if letters == name {
			return true
		}
	}
	return false
}

// instead is a line that works and is as close as possible to a value that does not.
func (s mobileSite) instead(value string) string {
	words := strings.Fields(value)
	path, target := "/", ""
	for i, w := range words {
		switch {
		case strings.EqualFold(w, "none"):
			target = cmp.Or(target, "none")
		case strings.HasPrefix(w, "/"):
			if i == 0 {
				path, _, _ = strings.Cut(w, "?")
			}
		case target == "" && (i > 0 || strings.Contains(w, "://") || strings.ContainsAny(w, ".:")):
			target = s.target(w)
		}
	}
	line := fmt.Sprintf("Mobile-agent-server: %s %s", path, cmp.Or(target, s.target("")))
	if f := robots.Parse([]byte(line)); len(f.Diagnostics) > 0 || len(f.AgentServers()) != 1 {
		return "Mobile-agent-server: / " + s.target("")
	}
	return line
}

// target is the address of a server that is as close as possible to a text that is none.
func (s mobileSite) target(text string) string {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		scheme, rest = "atp", strings.TrimPrefix(strings.TrimPrefix(text, "atp:"), "/")
	}
	if scheme = strings.ToLower(scheme); scheme != "atps" {
		scheme = "atp"
	}
	if i := strings.IndexAny(rest, "/?#,;"); i >= 0 {
		rest = rest[:i]
	}
	rest = rest[strings.LastIndexByte(rest, '@')+1:]
	name, port, _ := strings.Cut(rest, ":")
	host, err := canon.ParseHost(name)
	if err != nil || name == "" || strings.HasPrefix(string(host), "[") {
		host = s.origin.Host
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		port = "10434"
	}
	return fmt.Sprintf("%s://%s:%s", scheme, host, port)
}
