package canon

import "testing"

// Section 4.4, basic URL parser: characters that are removed before parsing.
func TestWHATWG_4_4_Whitespace(t *testing.T) {
	testParse(t, []parseTest{
		{" \x00\x1fhttp://h/p \n", "http://h/p", nil},
		{"ht\ntp:\t//h\r/a\tb?c\nd", "http://h/ab?cd", nil},
		{"http://h/a b", "http://h/a%20b", nil},
		{"http://h/a\x0bb\x7f", "http://h/a%0Bb%7F", nil},
	})
}

// Section 4.4, scheme and special authority states: any number of slashes or backslashes, or none,
// may precede the host.
func TestWHATWG_4_4_Slashes(t *testing.T) {
	testParse(t, []parseTest{
		{"HTTP://h", "http://h/", nil},
		{"hTtPs://h", "https://h/", nil},
		{"http:h", "http://h/", nil},
		{"http:/h", "http://h/", nil},
		{"http:////h", "http://h/", nil},
		{`http:\\h\p\q?a\b`, `http://h/p/q?a\b`, nil},
		{`http:/\h`, "http://h/", nil},
		{"http:", "", ErrHost},
		{"http://", "", ErrHost},
		{"http://?q", "", ErrHost},
		{"http:///p", "http://p/", nil},
	})
}

// Section 4.4, authority, host and port states.
func TestWHATWG_4_4_Authority(t *testing.T) {
	testParse(t, []parseTest{
		{"http://a@b@h:81/", "http://h:81/", nil},
		{"http://a:80@h/", "http://h/", nil},
		{"http://@h", "http://h/", nil},
		{"http://a@/", "", ErrHost},
		{"http://a@", "", ErrHost},
		{"http://:80/", "", ErrHost},
		{"http://h:", "http://h/", nil},
		{"http://h:80/", "http://h/", nil},
		{"https://h:443/", "https://h/", nil},
		{"https://h:80/", "https://h:80/", nil},
		{"http://h:0081/", "http://h:81/", nil},
		{"http://h:65535/", "http://h:65535/", nil},
		{"http://h:65536/", "", ErrSyntax},
		{"http://h:99999999999999999999999/", "", ErrSyntax},
		{"http://h:8x/", "", ErrSyntax},
		{"http://h:-1/", "", ErrSyntax},
		{"http://h:80:80/", "", ErrSyntax},
	})
}

// Section 4.4, path state: dot segments.
func TestWHATWG_4_4_DotSegments(t *testing.T) {
	testParse(t, []parseTest{
		{"http://h/.", "http://h/", nil},
		{"http://h/..", "http://h/", nil},
		{"http://h/../../a", "http://h/a", nil},
		{"http://h/a/.", "http://h/a/", nil},
		{"http://h/a/..", "http://h/", nil},
		{"http://h/a/b/..", "http://h/a/", nil},
		{"http://h/a/./b/../c", "http://h/a/c", nil},
		{"http://h/a//../b", "http://h/a/b", nil},
		{"http://h/a//../../b", "http://h/b", nil},
		{"http://h/...", "http://h/...", nil},
		{"http://h/.a/..b/c.", "http://h/.a/..b/c.", nil},
		{`http://h/a\..\b`, "http://h/b", nil},
		{"http://h/?a/../b", "http://h/?a/../b", nil},
	})
}

// Section 1.3, percent-encode sets of paths and special queries.
func TestWHATWG_1_3_PercentEncodeSets(t *testing.T) {
	testParse(t, []parseTest{
		{"http://h/ \"<>`{}", "http://h/%20%22%3C%3E%60%7B%7D", nil},
		{"http://h/!$&'()*+,-.:;=@[]_~", "http://h/!$&'()*+,-.:;=@[]_~", nil},
		{"http://h/?a \"<>'", "http://h/?a%20%22%3C%3E%27", nil},
		{"http://h/?!$&()*+,-./:;=?@[\\]^_`{|}~", "http://h/?!$&()*+,-./:;=?@[\\]^_`{|}~", nil},
		{"http://h/日本?日", "http://h/%E6%97%A5%E6%9C%AC?%E6%97%A5", nil},
	})
}

// Section 3.5, host parser: IDNA, escapes, forbidden code points.
func TestWHATWG_3_5_Domains(t *testing.T) {
	testParse(t, []parseTest{
		{"http://EXAMPLE.Org/", "http://example.org/", nil},
		{"http://bücher.example/", "http://xn--bcher-kva.example/", nil},
		{"http://BÜCHER.example/", "http://xn--bcher-kva.example/", nil},
		{"http://XN--BCHER-KVA.example/", "http://xn--bcher-kva.example/", nil},
		{"http://b%C3%BCcher.ex%61mple/", "http://xn--bcher-kva.example/", nil},
		{"http://faß.de/", "http://xn--fa-hia.de/", nil}, // not fass.de
		{"http://例え。jp。/", "http://xn--r8jz45g.jp/", nil},
		{"http://ü_b.example/", "http://xn--_b-wka.example/", nil},
		{"http://a\u00adb/", "http://ab/", nil},
		{"http://\u00ad/", "", ErrHost},
		{"http://xn--a/", "", ErrHost},
		{"http://xn--/", "", ErrHost},
		{"http://a b/", "", ErrHost},
		{"http://a%20b/", "", ErrHost},
		{"http://a%2fb/", "", ErrHost},
		{"http://a%00b/", "", ErrHost},
		{"http://a%b/", "", ErrHost},
		{"http://a%3a80/", "", ErrHost},
		{"http://a<b/", "", ErrHost},
		{"http://a[b]/", "", ErrHost},
	})
}

// Section 3.5, IPv4 parser.
func TestWHATWG_3_5_IPv4(t *testing.T) {
	testParse(t, []parseTest{
		{"http://127.0.0.1/", "http://127.0.0.1/", nil},
		{"http://127.1/", "http://127.0.0.1/", nil},
		{"http://127.0.1/", "http://127.0.0.1/", nil},
		{"http://2130706433/", "http://127.0.0.1/", nil},
		{"http://0x7f.1/", "http://127.0.0.1/", nil},
		{"http://0X7F000001/", "http://127.0.0.1/", nil},
		{"http://0177.0.0.01/", "http://127.0.0.1/", nil},
		{"http://0x.0x.0/", "http://0.0.0.0/", nil},
		{"http://１２７.１/", "http://127.0.0.1/", nil},
		{"http://4294967295/", "http://255.255.255.255/", nil},
		{"http://1.65536/", "http://1.1.0.0/", nil},
		{"http://4294967296/", "", ErrHost},
		{"http://1.16777216/", "", ErrHost},
		{"http://1.2.3.256/", "", ErrHost},
		{"http://256.0.0.1/", "", ErrHost},
		{"http://1.2.3.4.5/", "", ErrHost},
		{"http://1.2.3.08/", "", ErrHost},
		{"http://a.1/", "", ErrHost},
		{"http://a.0x/", "", ErrHost},
		{"http://99999999999999999999999999/", "", ErrHost},
		{"http://0x99999999999999999999999999/", "", ErrHost},
		{"http://1.a/", "http://1.a/", nil},
		{"http://1.2.3.4a/", "http://1.2.3.4a/", nil},
		{"http://0xg/", "http://0xg/", nil},
		{"http://-1/", "http://-1/", nil},
	})
}

// Section 3.5, IPv6 parser and serializer.
func TestWHATWG_3_5_IPv6(t *testing.T) {
	testParse(t, []parseTest{
		{"http://[::1]/", "http://[::1]/", nil},
		{"http://[::]:8080/", "http://[::]:8080/", nil},
		{"http://[2001:0DB8:0:0:0:0:0:1]/", "http://[2001:db8::1]/", nil},
		{"http://[1:0:0:2:0:0:0:3]/", "http://[1:0:0:2::3]/", nil},
		{"http://[1:0:0:2:3:0:0:4]/", "http://[1::2:3:0:0:4]/", nil},
		{"http://[1:0:2:3:4:5:6:7]/", "http://[1:0:2:3:4:5:6:7]/", nil},
		{"http://[1:2:3:4:5:6::]/", "http://[1:2:3:4:5:6::]/", nil},
		// ours: the standard keeps [::ffff:102:304]
		{"http://[::ffff:1.2.3.4]/", "http://1.2.3.4/", nil},
		{"http://[::ffff:7f00:3]/", "http://127.0.0.3/", nil},
		{"http://[0:0:0:0:0:FFFF:7f00:3]:80/", "http://127.0.0.3/", nil},
		{"http://[::fffe:7f00:3]/", "http://[::fffe:7f00:3]/", nil},
		{"http://[::7f00:3]/", "http://[::7f00:3]/", nil},
		{"http://[::1.2.3.4]/", "http://[::102:304]/", nil},
		{"http://[::1", "", ErrHost},
		{"http://[]/", "", ErrHost},
		{"http://[::1]]/", "", ErrHost},
		{"http://[::1]x/", "", ErrHost},
		{"http://[1::2::3]/", "", ErrHost},
		{"http://[1:2:3:4:5:6:7]/", "", ErrHost},
		{"http://[1:2:3:4:5:6:7:8:9]/", "", ErrHost},
		{"http://[::12345]/", "", ErrHost},
		{"http://[::1.2.3]/", "", ErrHost},
		{"http://[::01.2.3.4]/", "", ErrHost},
		{"http://[1.2.3.4]/", "", ErrHost},
		{"http://[fe80::1%25eth0]/", "", ErrHost},
	})
}
