package robots_test

import (
	"testing"

	"github.com/curtsy/curtsy/pkg/robots"
)

// Section 2.1, appendix 5.1: the simple example of the RFC.
func TestRFC9309_5_1_SimpleExample(t *testing.T) {
	const text = `User-Agent: *
Disallow: *.gif$
Disallow: /example/
Allow: /publications/

User-Agent: foobot
Disallow:/
Allow:/example/page.html
Allow:/example/allowed.gif

User-Agent: barbot
User-Agent: bazbot
Disallow: /example/page.html

User-Agent: quxbot
`
	check(t, rulesOf(t, text, "anybot"), "!/x.gif", "!/example/y", "/publications/", "/", "/x.gif?a")
	check(t, rulesOf(t, text, "foobot"), "!/", "!/example/", "/example/page.html", "/example/allowed.gif", "!/publications/")
	check(t, rulesOf(t, text, "barbot"), "!/example/page.html", "/example/", "/x.gif")
	check(t, rulesOf(t, text, "bazbot"), "!/example/page.html", "/example/", "/x.gif")
	check(t, rulesOf(t, text, "quxbot"), "/", "/x.gif", "/example/page.html")
}

// Appendix 5.2: the longest match decides.
func TestRFC9309_5_2_LongestMatch(t *testing.T) {
	const text = "User-Agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n"
	check(t, rulesOf(t, text, "foobot"), "/example/page/", "/example/page/x", "!/example/page/disallowed.gif", "/example/")
}

// Section 2.2.1: two groups for the same robot are one.
func TestRFC9309_2_2_1_MergedGroups(t *testing.T) {
	const text = `user-agent: ExampleBot
disallow: /foo
disallow: /bar

user-agent: ExampleBot
disallow: /baz

user-agent: *
disallow: /all
`
	check(t, rulesOf(t, text, "examplebot"), "!/foo", "!/bar", "!/baz", "/all")
	check(t, rulesOf(t, text, "otherbot"), "/foo", "/bar", "/baz", "!/all")
}

// Section 2.2.1: a group for the robot itself, even an empty one, replaces the global group.
func TestRFC9309_2_2_1_OwnGroupReplacesGlobal(t *testing.T) {
	const text = "User-agent: *\nDisallow: /\n\nUser-agent: foobot\n"
	check(t, rulesOf(t, text, "foobot"), "/", "/x")
	check(t, rulesOf(t, text, "barbot"), "!/", "!/x")
}

// Section 2.2.1: global groups are merged too, and a robot without any group has no rules.
func TestRFC9309_2_2_1_GlobalGroups(t *testing.T) {
	check(t, rulesOf(t, "User-agent: *\nDisallow: /a\n\nUser-agent: x\nDisallow: /\n\nUser-agent: *\nDisallow: /b\n", "foobot"), "!/a", "!/b", "/c")
	check(t, rulesOf(t, "User-agent: x\nDisallow: /\n", "foobot"), "/")
}

// Section 2.2.1; formats §1.3: which user-agent lines name a robot.
func TestRFC9309_2_2_1_ProductToken(t *testing.T) {
	for _, tt := range []struct {
		agent string
		match bool
	}{
		{"FooBot", true},
		{"foobot", true},
		{"FOOBOT", true},
		{"FooBot/2.1", true},
		{"FooBot *", true},
		{"foobot bar", true},
		{"foobot\tbar", true},
		{"FooBot;x", true},
		{"FooBot2", true},
		{"Foo", false},
		{"FooBot-News", false},
		{"FooBot_", false},
		{"xFooBot", false},
		{"a FooBot", false},
		{"Mozilla/5.0 (compatible; FooBot/1)", false},
		{"1FooBot", false},
		{"", false},
		{"*", false},
		{"*FooBot", false},
		{"FooBoſ", false},
	} {
		r := rulesOf(t, "User-agent: "+tt.agent+"\nDisallow: /own\n\nUser-agent: *\nDisallow: /all\n", "FooBot")
		if got := !r.Match("/own").Allowed && r.Match("/all").Allowed; got != tt.match {
			// "*" matches as well, but as the global group, in which /all stays denied.
			t.Errorf("User-agent: %s: matches FooBot %v, want %v", tt.agent, got, tt.match)
		}
	}
	for _, token := range []string{"FooBot", "foobot", "FooBot/1.0", "fOObOT (+https://example.org)"} {
		check(t, rulesOf(t, "User-agent: foobot\nDisallow: /own\n", token), "!/own")
	}
	for _, token := range []string{"", "*", "1"} {
		check(t, rulesOf(t, "User-agent:\nDisallow: /x\nUser-agent: 1\nDisallow: /y\nUser-agent: *\nDisallow: /z", token), "/x", "/y", "!/z")
	}
	for agent, global := range map[string]bool{"*": true, "* ": true, "* foo": true, "*\tx": true, "*x": false, "**": false, "": false} {
		if got := !rulesOf(t, "User-agent: "+agent+"\nDisallow: /\n", "foobot").Match("/").Allowed; got != global {
			t.Errorf("User-agent: %s: global %v, want %v", agent, got, global)
		}
	}
}

// Section 2.2.2: the rule with the most octets decides, and allow wins a tie.
func TestRFC9309_2_2_2_MostSpecificRule(t *testing.T) {
	const text = "User-agent: *\nDisallow: /shop\nAllow: /shop/open\nDisallow: /tie\nAllow: /tie\nAllow: /eit\nDisallow: /eit\n"
	r := rulesOf(t, text, "anybot")
	if got := r.Match("/shop/open/x"); !got.Allowed || got.Line != 3 {
		t.Errorf("Match(/shop/open/x) = %+v, want allowed by line 3", got)
	}
	if got := r.Match("/shop/x"); got.Allowed || got.Line != 2 {
		t.Errorf("Match(/shop/x) = %+v, want denied by line 2", got)
	}
	check(t, r, "/tie", "/eit", "/other")
}

// Section 2.2.2: matching starts at the first octet and is case-sensitive.
func TestRFC9309_2_2_2_PrefixAndCase(t *testing.T) {
	r := rulesOf(t, "User-agent: *\nDisallow: /fish\n", "anybot")
	check(t, r, "!/fish", "!/fish.html", "!/fish/salmon.html", "!/fishheads", "!/fish.php?id=1",
		"/Fish.asp", "/catfish", "/?id=fish", "/desert/fish", "/fis")
	r = rulesOf(t, "User-agent: *\nDisallow: /fish/\n", "anybot")
	check(t, r, "!/fish/", "!/fish/?id=1", "!/fish/salmon.htm", "/fish", "/fish.html", "/animals/fish/")
}

// Section 2.2.2: the table of encodings, with the path in the form of a canonical URL.
func TestRFC9309_2_2_2_PercentEncoding(t *testing.T) {
	for _, tt := range []struct {
		rule, path string
		match      bool
	}{
		{"/foo/bar?baz=quz", "/foo/bar?baz=quz", true},
		{"/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https://foo.bar", true},
		{"/foo/bar/ツ", "/foo/bar/%E3%83%84", true},
		{"/foo/bar/%E3%83%84", "/foo/bar/%E3%83%84", true},
		{"/foo/bar/%e3%83%84", "/foo/bar/ツ", true},
		{"/foo/bar/%62%61%7A", "/foo/bar/baz", true},
		{"/foo/bar/baz", "/foo/bar/%62%61%7a", true},
		{"/a%2fb", "/a%2Fb", true},
		{"/a%2Fb", "/a/b", false},
		{"/a/b", "/a%2Fb", false},
		{"/a%3Ab", "/a:b", false},
		{"/a b", "/a%20b", true},
		{"/a|b", "/a%7cb", true},
		{"/a%", "/a%", true},
		{"/a%zz", "/a%zz", true},
	} {
		r := rulesOf(t, "User-agent: *\nDisallow: "+tt.rule+"\n", "anybot")
		if got := !r.Match(tt.path).Allowed; got != tt.match {
			t.Errorf("rule %s, path %s: match %v, want %v", tt.rule, tt.path, got, tt.match)
		}
	}
}

// Section 2.2.3: "*" and "$", and their escapes for the characters themselves.
func TestRFC9309_2_2_3_SpecialCharacters(t *testing.T) {
	for _, tt := range []struct {
		rule  string
		paths []string // denied with "!"
	}{
		{"/*.php", []string{"!/index.php", "!/filename.php", "!/folder/any.php?params", "!//folder/any.php.file/", "/", "/windows.PHP"}},
		{"/*.php$", []string{"!/filename.php", "!/folder/filename.php", "/filename.php?p", "/filename.php/", "/filename.php5", "/windows.PHP"}},
		{"/fish*.php", []string{"!/fish.php", "!/fishheads/catfish.php?p", "/Fish.PHP"}},
		{"/fish*", []string{"!/fish", "!/fish.html", "/Fish.asp", "/catfish"}},
		{"*", []string{"!/", "!/x"}},
		{"*/x", []string{"!/x", "!/a/b/x/y", "/ax"}},
		{"*$", []string{"!/", "!/x"}},
		{"/$", []string{"!/", "/x", "/?x"}},
		{"/a**b", []string{"!/ab", "!/axb", "/a"}},
		{"/a*a$", []string{"!/aa", "!/axa", "/a", "/aax"}},
		{"/a*b*c", []string{"!/abc", "!/a1b2c3", "/acb"}},
		{"/a*bc$", []string{"!/abcbc", "!/abc", "/abcb"}},
		{"/x%2A", []string{"!/x*", "!/x%2a", "/xy", "/x"}},
		{"/x%24", []string{"!/x$", "!/x%24y", "/x"}},
		{"/x$y", []string{"!/x$y", "!/x%24yz", "/x"}},
		{"/x$$", []string{"!/x$", "/x", "/x$y"}},
		{"/x$*", []string{"!/x$", "!/x%24y", "/x"}},
		{"/path/file-with-a-%2A.html", []string{"!/path/file-with-a-*.html", "/path/file-with-a-b.html"}},
		{"/path/foo-%24", []string{"!/path/foo-$", "/path/foo-"}},
		{"$", []string{"/", "/$"}},
		{"/this/path/exactly$", []string{"!/this/path/exactly", "/this/path/exactly/", "/this/path/exactly?x"}},
		{"/this/*/exactly", []string{"!/this/path/exactly", "!/this/a/b/exactly/x", "!/this//exactly", "/this/exactly"}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			check(t, rulesOf(t, "User-agent: *\nDisallow: "+tt.rule+"\n", "anybot"), tt.paths...)
		})
	}
}

// Section 2.2.4: other records end no group and have no effect on access.
func TestRFC9309_2_2_4_OtherRecords(t *testing.T) {
	const text = "User-agent: a\nSitemap: https://example.org/s.xml\nUser-agent: b\nDisallow: /\n"
	check(t, rulesOf(t, text, "a"), "!/")
	check(t, rulesOf(t, text, "b"), "!/")
	check(t, rulesOf(t, "User-agent: a\nDisallow: /x\nSitemap: /s\nDisallow: /y\n", "a"), "!/x", "!/y")
}

// Section 2.2.2: robots.txt itself is always allowed.
func TestRFC9309_2_2_2_RobotsTxtIsAllowed(t *testing.T) {
	check(t, rulesOf(t, "User-agent: *\nDisallow: /\nDisallow: /robots.txt\n", "anybot"),
		"/robots.txt", "/robots.txt#x", "!/robots.txt?", "!/robots.txt?a", "!/robots.txt/", "!/a/robots.txt", "!/Robots.txt")
}

// Section 2.5: at least 500 KiB are read. Rules at the limit count, those across it do not.
func TestRFC9309_2_5_Limit(t *testing.T) {
	if robots.MaxBytes < 500*1024 {
		t.Fatalf("MaxBytes = %d", robots.MaxBytes)
	}
	const start, last = "User-agent: *\nDisallow: /first\n", "Disallow: /last"
	filled := func(size int) string {
		b := make([]byte, size-len(start)-len(last)-1)
		for i := range b {
			b[i] = '#'
		}
		return start + string(b) + "\n" + last
	}
	for _, tt := range []struct {
		name string
		body string
		last bool
		odd  int
	}{
		{"ends at the limit", filled(robots.MaxBytes), true, 0},
		{"line end past the limit", filled(robots.MaxBytes) + "\nDisallow: /more", true, 1},
		{"CR past the limit", filled(robots.MaxBytes) + "\rDisallow: /more", true, 1},
		{"line end at the limit", filled(robots.MaxBytes-1) + "\nDisallow: /more", true, 1},
		{"CRLF across the limit", filled(robots.MaxBytes-1) + "\r\nDisallow: /more", true, 1},
		{"line across the limit", filled(robots.MaxBytes) + "x", false, 1},
		{"long line across the limit", filled(robots.MaxBytes+5) + "\nDisallow: /more\n", false, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := robots.Parse([]byte(tt.body))
			r := f.Rules("anybot", origin)
			check(t, r, "!/first", "/more", "/lax")
			if got := !r.Match("/last").Allowed; got != tt.last {
				t.Errorf("last rule counts: %v, want %v", got, tt.last)
			}
			if f.Odd != tt.odd {
				t.Errorf("diagnostics %+v, want %d", f.Diagnostics, tt.odd)
			}
		})
	}
}
