package robots_test

import (
	"strings"
	"testing"

	"github.com/curtsy/curtsy/pkg/robots"
)

// Formats §2.1: incorrect arguments, which are ignored on any origin.
func TestHost_2_1_Incorrect(t *testing.T) {
	label63 := strings.Repeat("a", 63)
	for _, arg := range []string{
		"", " ", "# only a comment",
		"under_score.example", "a.under_score",
		"-a.example", "a-.example", "a.-example", "a.example-",
		".a.example", "a.example.", "a..example", ".", "..",
		"a.example:0", "a.example:65536", "a.example:99999", "a.example:100000", "a.example:x", "a.example:", "a.example:-1", "a.example:+80", "a.example:80:80", "a.example: 80",
		"192.0.2.1", "192.0.2.1:80", "http://192.0.2.1", "1.2", "a.example.7", "a.0x7f", "[2001:db8::1]", "2001:db8::1", "[::1]:80", "::1",
		"a.example/", "http://a.example/", "a.example/path", "a.example?x", "a.example:80/",
		"a.example,b.example", "a.example, b.example", "a.example b.example", "a.example\tb.example",
		"user@a.example", "user:pw@a.example", "http://user@a.example",
		"ftp://a.example", "://a.example", "http:///a.example", "http:a.example", "//a.example", "http://", "https://:443", "http://http://a.example",
		"пример.example", "a.рф", "a\u00a0.example", "a.exampl\x00",
		"a" + label63 + ".example", strings.Repeat("a.", 123) + "example1", "*.example", "a.example*", "\"a.example\"",
	} {
		for _, o := range []string{"http://www.m.example", "https://www.m.example:8443", "http://localhost", "http://[::1]", "http://192.0.2.1"} {
			origin := mustOrigin(t, o)
			if got, reason := robots.CheckHost(arg, origin); got != robots.HostIgnored || reason == "" {
				t.Errorf("CheckHost(%q, %s) = %v, %q, want ignored with a reason", arg, o, got, reason)
			}
			f := robots.Parse([]byte("User-agent: *\nDisallow:\nHost: " + arg + "\n"))
			check(t, f.Rules("anybot", origin), "/")
			if c := f.Claim(origin); c.Kind != robots.ClaimNone || f.HostHint != "" {
				t.Errorf("Host: %q: claim %v, hint %q", arg, c.Kind, f.HostHint)
			}
		}
	}
}

// Formats §2.1: correct arguments, up to the limits.
func TestHost_2_1_Correct(t *testing.T) {
	label63 := strings.Repeat("a", 63)
	name253 := strings.Repeat("a.", 123) + "example"
	if len(name253) != 253 {
		t.Fatal(len(name253))
	}
	for _, arg := range []string{
		"a.example", "A.Example", "1.example", "a-b.example", "a--b.example", "xn--e1afmkfd.example", "a.xn--p1ai",
		label63 + ".example", "a." + label63, name253, "a.example:1", "a.example:65535", "http://a.example", "HTTPS://a.example:443",
		"a.example # comment", " a.example\t", "1.2.3.4x", "a.b.c.d.e", "0xg.0xg",
	} {
		if got, reason := robots.CheckHost(arg, mustOrigin(t, "http://www.m.example")); got != robots.HostNoMatch || reason == "" {
			t.Errorf("CheckHost(%q) = %v, %q, want nomatch with a reason", arg, got, reason)
		}
	}
}

// Formats §2.1: a single label is correct only if the current host is one, so that "Host: yes"
// closes no site.
func TestHost_2_1_SingleLabel(t *testing.T) {
	for _, tt := range []struct {
		arg, origin string
		want        robots.HostResult
	}{
		{"yes", "http://www.m.example", robots.HostIgnored},
		{"localhost", "http://www.m.example", robots.HostIgnored},
		{"localhost", "http://localhost", robots.HostMatch},
		{"LOCALHOST:8080", "http://localhost:8080", robots.HostMatch},
		{"localhost", "http://localhost:8080", robots.HostNoMatch},
		{"other", "http://localhost", robots.HostNoMatch},
		{"www.m.example", "http://localhost", robots.HostNoMatch},
		{"80", "http://localhost", robots.HostIgnored},
		{"yes", "http://[::1]", robots.HostIgnored},
		{"yes", "http://192.0.2.1", robots.HostIgnored},
		{"www.m.example", "http://192.0.2.1", robots.HostNoMatch},
	} {
		o := mustOrigin(t, tt.origin)
		if got, _ := robots.CheckHost(tt.arg, o); got != tt.want {
			t.Errorf("CheckHost(%s, %s) = %v, want %v", tt.arg, tt.origin, got, tt.want)
		}
		r := robots.Parse([]byte("User-agent: *\nHost: "+tt.arg)).Rules("anybot", o)
		if got, want := r.Match("/").Allowed, tt.want != robots.HostNoMatch; got != want {
			t.Errorf("Host: %s on %s: allowed %v, want %v", tt.arg, tt.origin, got, want)
		}
	}
}

// Formats §2.2: the table.
func TestHost_2_2_Table(t *testing.T) {
	for _, tt := range []struct {
		arg, origin string
		match       bool
	}{
		{"www.m.example", "http://www.m.example:80", true},
		{"www.m.example", "https://www.m.example:443", true},
		{"www.m.example:80", "http://www.m.example:80", true},
		{"www.m.example:80", "https://www.m.example:443", false},
		{"www.m.example:443", "https://www.m.example:443", true},
		{"www.m.example", "http://www.m.example:8081", false},
		{"WWW.M.Example", "http://www.m.example", true},
		{"WWW.M.Example", "https://www.m.example", true},
		{"https://www.m.example", "https://www.m.example:443", true},
		{"https://www.m.example", "http://www.m.example:80", false},
		{"http://www.m.example", "http://www.m.example:80", true},
		{"http://www.m.example", "https://www.m.example:443", true},
		{"https://m.example:8443", "https://m.example:8443", true},
		{"m.example", "http://www.m.example", false},
		// Consequences of the table.
		{"www.m.example", "http://m.example", false},
		{"www.m.example:8081", "http://www.m.example:8081", true},
		{"www.m.example:8081", "https://www.m.example:8081", true},
		{"https://m.example:8443", "http://m.example:8443", false},
		{"https://m.example", "https://m.example:8443", false},
		{"http://m.example:80", "https://m.example", false},
		{"HTTPS://M.example", "https://m.example", true},
		{"xn--E1AFMKFD.example", "http://xn--e1afmkfd.example", true},
	} {
		want := robots.HostNoMatch
		if tt.match {
			want = robots.HostMatch
		}
		o := mustOrigin(t, tt.origin)
		got, reason := robots.CheckHost(tt.arg, o)
		if got != want || (reason == "") != tt.match {
			t.Errorf("CheckHost(%s, %s) = %v, %q, want %v", tt.arg, tt.origin, got, reason, want)
		}
		r := robots.Parse([]byte("User-agent: *\nHost: "+tt.arg+"\n")).Rules("anybot", o)
		if v := r.Match("/x"); v.Allowed != tt.match {
			t.Errorf("Host: %s on %s: %+v, want allowed %v", tt.arg, tt.origin, v, tt.match)
		}
	}
}

// Formats §2.3: the example of the proposal, fetched from three places.
func TestHost_2_3_SourceExample(t *testing.T) {
	f := robots.Parse([]byte("User-Agent: *\nDisallow: /forum\nDisallow: /cgi-bin\nHost: www.myhost.ru\n"))
	for origin, paths := range map[string][]string{
		"http://www.host1.com":       {"!/forum", "!/cgi-bin", "!/", "!/x", "/robots.txt"},
		"http://www.myhost.ru:8081":  {"!/forum", "!/cgi-bin", "!/", "!/x", "/robots.txt"},
		"http://www.myhost.ru:80":    {"!/forum", "!/cgi-bin", "/", "/x", "/robots.txt"},
		"https://www.myhost.ru":      {"!/forum", "!/cgi-bin", "/", "/x", "/robots.txt"},
		"http://www.myhost.ru.":      {"!/forum", "!/cgi-bin", "/", "/x", "/robots.txt"},
		"https://www.myhost.ru:8443": {"!/forum", "!/cgi-bin", "!/", "!/x", "/robots.txt"},
	} {
		t.Run(origin, func(t *testing.T) {
			check(t, f.Rules("anybot", mustOrigin(t, origin)), paths...)
		})
	}
	v := f.Rules("anybot", mustOrigin(t, "http://www.host1.com")).Match("/x")
	if want := (robots.Verdict{Allowed: false, Line: 4, Rule: "Host: www.myhost.ru"}); v != want {
		t.Errorf("implied rule: %+v, want %+v", v, want)
	}
}

// Formats §2.3: when the rule is implied, and its effect.
func TestHost_2_3_FormalAction(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		paths      []string
	}{
		{"no Host line", "User-agent: *\nDisallow: /x\n", []string{"/", "!/x"}},
		{"only incorrect ones", "User-agent: *\nDisallow: /x\nHost: a_b.example\nHost: yes\n", []string{"/", "!/x"}},
		{"incorrect and another's", "User-agent: *\nHost: a_b.example\nHost: other.example\n", []string{"!/"}},
		{"one of several matches", "User-agent: *\nHost: a.example\nHost: www.example.org\nHost: b.example\n", []string{"/"}},
		{"none of several matches", "User-agent: *\nHost: a.example\nHost: b.example\n", []string{"!/"}},
		{"longer Allow still opens", "User-agent: *\nAllow: /open\nHost: a.example\n", []string{"!/", "/open/x", "!/x"}},
		{"Allow: / ties and wins", "User-agent: *\nAllow: /\nHost: a.example\n", []string{"/", "/x"}},
		{"Allow: * ties and wins", "User-agent: *\nAllow: *\nHost: a.example\n", []string{"/", "/x"}},
		{"another agent's group", "User-agent: other\nHost: a.example\nDisallow:\nUser-agent: *\nDisallow: /x\n", []string{"/", "!/x"}},
		{"global, not our group", "User-agent: *\nHost: a.example\nDisallow:\nUser-agent: anybot\nDisallow: /x\n", []string{"/", "!/x"}},
		{"before any group", "Host: a.example\nUser-agent: *\nDisallow: /x\n", []string{"/", "!/x"}},
		{"no group at all", "Host: a.example\n", []string{"/"}},
		{"end of file, after blank lines", "User-agent: other\nDisallow:\n\nUser-agent: *\nDisallow: /x\n\n\nHost: a.example\n", []string{"!/"}},
		{"end of file, last group another's", "User-agent: *\nDisallow: /x\n\nUser-agent: other\nDisallow:\n\nHost: a.example\n", []string{"/", "!/x"}},
		{"above our name in the group", "User-agent: other\nHost: a.example\nUser-agent: anybot\nDisallow: /x\n", []string{"/", "!/x"}},
		{"below our name in the group", "User-agent: anybot\nHost: a.example\nUser-agent: other\nDisallow: /x\n", []string{"!/"}},
		{"merged groups, no match", "User-agent: anybot\nDisallow: /x\nUser-agent: anybot\nHost: a.example\n", []string{"!/"}},
		{"merged groups, a match in one", "User-agent: anybot\nHost: www.example.org\nDisallow: /x\nUser-agent: anybot\nHost: a.example\n", []string{"/", "!/x"}},
		{"group without rules", "User-agent: anybot\nHost: a.example\n", []string{"!/", "/robots.txt"}},
		{"stronger wildcard", "User-agent: *\nAllow: /*.css\nHost: a.example\n", []string{"!/", "/x.css"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			check(t, rulesOf(t, tt.text, "anybot"), tt.paths...)
		})
	}
	// Without an origin there is nothing to compare.
	f := robots.Parse([]byte("User-agent: *\nHost: a.example\n"))
	check(t, f.Rules("anybot", robots.Origin{}), "/")
	if got, reason := robots.CheckHost("a.example", robots.Origin{}); got != robots.HostIgnored || reason == "" {
		t.Errorf("CheckHost without an origin: %v, %q", got, reason)
	}
	if c := f.Claim(robots.Origin{}); c.Kind != robots.ClaimNone {
		t.Errorf("claim of no origin: %+v", c)
	}
}

// Formats §2.4: claims, with the target's completed origin.
func TestHost_2_4_Claim(t *testing.T) {
	for _, tt := range []struct {
		name, text, origin string
		kind               robots.ClaimKind
		target             string
		line               int
	}{
		{"none", "User-agent: *\nDisallow: /\n", "http://a.example", robots.ClaimNone, "", 0},
		{"only incorrect", "Host: a_b.example\nHost: 1.2.3.4\n", "http://a.example", robots.ClaimNone, "", 0},
		{"self", "Host: a.example\n", "http://a.example", robots.ClaimSelf, "", 1},
		{"self among others", "Host: b.example\nHost: a.example\n", "http://a.example", robots.ClaimSelf, "", 2},
		{"target", "\nHost: b.example\n", "http://a.example", robots.ClaimTarget, "http://b.example", 2},
		{"first correct one", "Host: b_.example\nHost: b.example\nHost: c.example\n", "http://a.example", robots.ClaimTarget, "http://b.example", 2},
		{"another agent's group", "User-agent: other\nDisallow: /\nHost: b.example\n", "http://a.example", robots.ClaimTarget, "http://b.example", 3},
		{"self in another agent's group", "User-agent: x\nHost: a.example\nDisallow:\nUser-agent: *\nHost: b.example\n", "http://a.example", robots.ClaimSelf, "", 2},
		{"scheme of the origin", "Host: b.example\n", "https://a.example", robots.ClaimTarget, "https://b.example", 1},
		{"default port, odd origin", "Host: b.example\n", "https://a.example:8443", robots.ClaimTarget, "https://b.example", 1},
		{"own name, odd origin", "Host: a.example\n", "http://a.example:8081", robots.ClaimTarget, "http://a.example", 1},
		{"port 443", "Host: b.example:443\n", "http://a.example", robots.ClaimTarget, "https://b.example", 1},
		{"port 80", "Host: b.example:80\n", "https://a.example", robots.ClaimTarget, "http://b.example", 1},
		{"other port", "Host: b.example:8081\n", "https://a.example", robots.ClaimTarget, "https://b.example:8081", 1},
		{"scheme of the line", "Host: https://b.example\n", "http://a.example", robots.ClaimTarget, "https://b.example", 1},
		{"http of the line", "Host: http://b.example\n", "https://a.example", robots.ClaimTarget, "http://b.example", 1},
		{"scheme and port", "Host: http://b.example:443\n", "https://a.example", robots.ClaimTarget, "http://b.example:443", 1},
		{"http to https", "Host: https://a.example\n", "http://a.example", robots.ClaimTarget, "https://a.example", 1},
		{"lower case", "Host: HTTPS://B.Example\n", "http://a.example", robots.ClaimTarget, "https://b.example", 1},
		{"single label", "Host: other\nHost: b.example\n", "http://localhost", robots.ClaimTarget, "http://other", 1},
		{"single label, not for us", "Host: other\nHost: b.example\n", "http://a.example", robots.ClaimTarget, "http://b.example", 2},
	} {
		o := mustOrigin(t, tt.origin)
		want := robots.Claim{Kind: tt.kind, Line: tt.line}
		if tt.target != "" {
			want.Target = mustOrigin(t, tt.target)
		}
		if got := robots.Parse([]byte(tt.text)).Claim(o); got != want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, want)
		}
	}
}

// Formats §2.4: the table of situations, as far as the files themselves decide: the claim of each,
// and whether it is closed.
func TestHost_2_4_Situations(t *testing.T) {
	const a, b, c = "http://a.example", "http://b.example", "http://c.example"
	host := func(names ...string) string {
		return "User-agent: *\nDisallow:\nHost: " + strings.Join(names, "\nHost: ") + "\n"
	}
	none := "User-agent: *\nDisallow:\n"
	for _, tt := range []struct {
		name, text, origin string
		claim              string // an origin, or "self", or "none"
		closed             bool
	}{
		{"A: Host B; B: Host B, same file: A", host("b.example"), a, b, true},
		{"A: Host B; B: Host B, same file: B", host("b.example"), b, "self", false},
		{"A: Host B; B: no Host: B", none, b, "none", false},
		{"A: Host B; B: Host A: A", host("b.example"), a, b, true},
		{"A: Host B; B: Host A: B", host("a.example"), b, a, true},
		{"A: Host B; B: Host C; C: Host C: B", host("c.example"), b, c, true},
		{"A: Host B; B: Host C; C: Host C: C", host("c.example"), c, "self", false},
		{"A: Host A and Host B", host("a.example", "b.example"), a, "self", false},
		{"A: Host B and Host A", host("b.example", "a.example"), a, "self", false},
		{"Host only for another agent", "User-agent: other\nHost: b.example\nDisallow:\nUser-agent: *\nDisallow:\n", a, b, false},
		{"http://h: Host: https://h", host("https://a.example"), a, "https://a.example", true},
		{"http://h: Host: https://h, seen from https", host("https://a.example"), "https://a.example", "self", false},
	} {
		o := mustOrigin(t, tt.origin)
		f := robots.Parse([]byte(tt.text))
		got := f.Claim(o).Kind.String()
		if got == "target" {
			got = f.Claim(o).Target.String()
		}
		if got != tt.claim {
			t.Errorf("%s: claims %s, want %s", tt.name, got, tt.claim)
		}
		r := f.Rules("anybot", o)
		if v := r.Match("/x"); v.Allowed == tt.closed || !r.Match("/robots.txt").Allowed {
			t.Errorf("%s: %+v, want closed %v", tt.name, v, tt.closed)
		}
	}
}

// Formats §2.4: the hint is the first correct argument in the file, in any group, as written.
func TestHost_2_4_Hint(t *testing.T) {
	for text, want := range map[string]string{
		"User-agent: *\nDisallow: /\n": "",
		"Host: b_.example\nHost: yes\nUser-agent: x\nHost: HTTPS://B.example:443 # main\nHost: c.example\n": "HTTPS://B.example:443",
	} {
		if got := robots.Parse([]byte(text)).HostHint; got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Formats §2.4, step 3: files are equal if their lines are.
func TestHost_2_4_EqualFiles(t *testing.T) {
	const text = "User-agent: *\nDisallow: /ü\n\nHost: a.example\n"
	for _, tt := range []struct {
		other string
		same  bool
	}{
		{text, true},
		{strings.ReplaceAll(text, "\n", "\r\n"), true},
		{strings.ReplaceAll(text, "\n", "\r"), true},
		{text[:len(text)-1], true},
		{"\ufeff" + text, true},
		{string(encodeUTF16(text, true)), true},
		{text + "\n", false},
		{text + "#", false},
		{text[1:], false},
		{"", false},
		{strings.ToLower(text), false},
		{strings.Replace(text, "\n\n", "\n", 1), false},
	} {
		if got := robots.Digest([]byte(text)) == robots.Digest([]byte(tt.other)); got != tt.same {
			t.Errorf("%q and %q: equal %v", text, tt.other, got)
		}
	}
}

// Formats §0: origins.
func TestFormats_0_Origin(t *testing.T) {
	for raw, want := range map[string]robots.Origin{
		"http://a.example":                      {Scheme: "http", Host: "a.example", Port: 80},
		"HTTPS://A.Example":                     {Scheme: "https", Host: "a.example", Port: 443},
		"https://a.example:443/":                {Scheme: "https", Host: "a.example", Port: 443},
		"http://a.example:/x":                   {Scheme: "http", Host: "a.example", Port: 80},
		"http://u:p@a.example:8080/x?y#z":       {Scheme: "http", Host: "a.example", Port: 8080},
		"http://[2001:DB8::1]":                  {Scheme: "http", Host: "2001:db8::1", Port: 80},
		"http://[::1]:65535/":                   {Scheme: "http", Host: "::1", Port: 65535},
		"https://192.0.2.1":                     {Scheme: "https", Host: "192.0.2.1", Port: 443},
		"https://under_score.xn--e1afmkfd.test": {Scheme: "https", Host: "under_score.xn--e1afmkfd.test", Port: 443},
	} {
		got, err := robots.ParseOrigin(raw)
		if err != nil || got != want {
			t.Errorf("ParseOrigin(%q) = %+v, %v, want %+v", raw, got, err, want)
		}
		if again, err := robots.ParseOrigin(got.String()); err != nil || again != got {
			t.Errorf("%q read back as %+v, %v", got.String(), again, err)
		}
	}
	for _, raw := range []string{
		"", "a.example", "//a.example", "ftp://a.example", "http://", "http:///x", "http://:80", "http:a.example",
		"http://a.example:0", "http://a.example:65536", "http://a.example:x", "http://пример.рф", "http://a b.example",
		"http://a.example%20", "http://[fe80::1%25eth0]", "http://a\x7f.example", "mailto:a@b.example",
	} {
		if got, err := robots.ParseOrigin(raw); err == nil {
			t.Errorf("ParseOrigin(%q) = %+v, want an error", raw, got)
		}
	}
	o := robots.Origin{Scheme: "https", Host: "::1", Port: 8443}
	if got := o.RobotsURL(); got != "https://[::1]:8443/robots.txt" {
		t.Errorf("RobotsURL = %q", got)
	}
}
