package lenientjson

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// cases are forgiven: all of the input is read, as want.
var cases = []struct{ name, in, want, what string }{
	{"strict", `{"a": [1, -0.5e3, "x\u00e9\n", true, null, {}]}`, `{"a":[1,-0.5e3,"xé\n",true,null,{}]}`, ""},
	{"comma before }", `{"a":1,}`, `{"a":1}`, "a comma before } at byte 7"},
	{"comma before ]", `{"a":[1,2, ]}`, `{"a":[1,2]}`, "a comma before ] at byte 11"},
	{"comma doubled", `{"a":[1,,2],,"b":3}`, `{"a":[1,2],"b":3}`, "a comma too many at byte 8"},
	{"comma first", `[,{"a":1}]`, `[{"a":1}]`, "a comma too many at byte 1"},
	{"comma at the end", `{"a":1},`, `{"a":1}`, "a comma after the end at byte 7"},
	{"only a comma", `[,]`, `[]`, "a comma too many at byte 1"},
	{"semicolon behind", "{\"a\":1};\n", `{"a":1}`, "; after the end at byte 7"},
	{"semicolon between", `{"a":1; "b":2}`, `{"a":1,"b":2}`, "; for a comma at byte 6"},
	{"line comment", "{\"a\":1, // \"x\": {\n\"b\":2}", `{"a":1,"b":2}`, "a comment at byte 8"},
	{"block comment", `/* x */{"a":/* 1 */2}`, `{"a":2}`, "a comment at byte 0"},
	{"HTML comment inside", `{"a":1,<!-- "b": } -->"c":2}`, `{"a":1,"c":2}`, "a comment at byte 7"},
	{"HTML comment around", "<!--\n{\"a\":1}\n//-->", `{"a":1}`, "a comment of HTML at byte 0"},
	{"HTML comment before", "<!-- generated -->\n{\"a\":1}", `{"a":1}`, "a comment of HTML at byte 0"},
	{"hash comment", "{\n# x\n\"a\":1}", `{"a":1}`, "a comment at byte 2"},
	{"CDATA in comments", "//<![CDATA[\n{\"a\":1}\n//]]>", `{"a":1}`, "a CDATA mark at byte 0"},
	{"CDATA in one line", `//<![CDATA[ {"a":1} //]]>`, `{"a":1}`, "a CDATA mark at byte 0"},
	{"CDATA in block comments", "/*<![CDATA[*/{\"a\":1}/*]]>*/", `{"a":1}`, "a comment at byte 0"},
	{"CDATA", "<![CDATA[{\"a\":1}]]>", `{"a":1}`, "a CDATA mark at byte 0"},
	{"CDATA escaped", "// <![CDATA[\n{\"a\":1}\n// ]]&gt;", `{"a":1}`, "a CDATA mark at byte 0"},
	{"CDATA of Drupal", "<!--//--><![CDATA[//><!--\n{\"a\":1}\n//--><!]]>", `{"a":1}`, "a comment of HTML at byte 0"},
	{"line end", "{\"a\":\"x\ny\r\nz\"}", `{"a":"x\ny\r\nz"}`, "a line end in a text at byte 7"},
	{"tab", "{\"a\":\"x\ty\"}", `{"a":"x\ty"}`, "a tab in a text at byte 7"},
	{"control character", "{\"a\":\"x\x01\x00y\"}", `{"a":"x\u0001\u0000y"}`, "a control character in a text at byte 7"},
	{"LaTeX", `{"a":"\alpha \beta"}`, `{"a":"\\alpha \beta"}`, "an escape that JSON does not know at byte 6"},
	{"path", `{"a":"C:\data\x"}`, `{"a":"C:\\data\\x"}`, "an escape that JSON does not know at byte 8"},
	{"not hexadecimal", `{"a":"\user \u12"}`, `{"a":"\\user \\u12"}`, "an escape that JSON does not know at byte 6"},
	{"escape by x", `{"a":"caf\xe9 \x22"}`, `{"a":"café \""}`, "an escape that JSON does not know at byte 9"},
	{"escape with braces", `{"a":"\u{1F600}"}`, `{"a":"😀"}`, "an escape that JSON does not know at byte 6"},
	{"escaped apostrophe", `{"a":"it\'s"}`, `{"a":"it's"}`, "an escape that JSON does not know at byte 8"},
	{"line goes on", "{\"a\":\"x\\\ny\"}", `{"a":"xy"}`, "an escape that JSON does not know at byte 7"},
	{"NaN", `{"a":NaN,"b":-Infinity,"c":Infinity}`, `{"a":null,"b":null,"c":null}`, "NaN for a value at byte 5"},
	{"undefined", `{"a":undefined}`, `{"a":null}`, "undefined for a value at byte 5"},
	{"Python", `{'a': True, "b": False, "c": None}`, `{"a":true,"b":false,"c":null}`, "texts in single quotes at byte 1"},
	{"Python 2", `{u'a': u'x'}`, `{"a":"x"}`, "texts as Python writes them at byte 1"},
	{"upper case", `{"a":TRUE,"b":NULL}`, `{"a":true,"b":null}`, "TRUE for a value at byte 5"},
	{"no value", `{"a":,"b":}`, `{"a":null,"b":null}`, "a missing value at byte 5"},
	{"byte order mark", "\xef\xbb\xbf{\"a\":1}", `{"a":1}`, ""},
	{"two byte order marks", "\xef\xbb\xbf\xef\xbb\xbf{\"a\":1}", `{"a":1}`, "a space that JSON does not know at byte 3"},
	{"no-break space", "{\u00a0\"a\":\u00a01}", `{"a":1}`, "a space that JSON does not know at byte 1"},
	{"single quotes", `{'a':'x "y" \'z'}`, `{"a":"x \"y\" 'z"}`, "texts in single quotes at byte 1"},
	{"backquotes", "{\"a\":`x\ny`}", `{"a":"x\ny"}`, "texts in backquotes at byte 5"},
	{"typographic quotes", `{“a”:“x "y"”}`, `{"a":"x \"y\""}`, "typographic quotes at byte 1"},
	{"references", `{&quot;a&quot;:&quot;x &amp; \&quot;y\&quot; &eacute; &x&quot;}`, `{"a":"x & \"y\" é &x"}`, "quotes written &quot; at byte 1"},
	{"numeric references", `{&#34;a&#34;:&#34;x&#34;}`, `{"a":"x"}`, "quotes written &#34; at byte 1"},
	{"escaped once more", `{\"a\":\"x \\\"y\\\" \\n z\"}`, `{"a":"x \"y\" \n z"}`, `quotes written \" at byte 1`},
	{"names", `{@type:"x", b_1:{$c:1}, 4:5}`, `{"@type":"x","b_1":{"$c":1},"4":5}`, "names without quotes at byte 1"},
	{"signs and zeros", `[+1, 007, .5, 5., -.5, 0x1F, -0, +.5e3]`, `[1,7,0.5,5,-0.5,31,-0,0.5e3]`, "a number that JSON does not know at byte 1"},
	{"date", `{"a":2020-01-02}`, `{"a":"2020-01-02"}`, "a date without quotes at byte 5"},
	{"two documents", "{\"a\":1}\n{\"b\":2}", `[{"a":1},{"b":2}]`, "another document after the first at byte 8"},
	{"two with a comma", `{"a":1},{"b":2},`, `[{"a":1},{"b":2}]`, "another document after the first at byte 8"},
	{"lines", "{\"a\":1}\n{\"a\":2}\n[3]\n", `[{"a":1},{"a":2},[3]]`, "another document after the first at byte 8"},
	{"call", `cb({"a":1});`, `{"a":1}`, "a call around the JSON at byte 0"},
	{"call, guarded", `/**/ typeof x.cb === 'function' && x.cb([{"a":1}])`, `[{"a":1}]`, "a comment at byte 0"},
	{"assignment", `var x = {"a":1};`, `{"a":1}`, "an assignment of the JSON at byte 0"},
	{"assignment to a member", `window.x={"a":1}`, `{"a":1}`, "an assignment of the JSON at byte 0"},
	{"guard", ")]}',\n{\"a\":1}", `{"a":1}`, "a mark before the JSON at byte 0"},
	{"guard, a loop", `while(1);{"a":1}`, `{"a":1}`, "a mark before the JSON at byte 0"},
	{"warning before", "<br />\n<b>Notice</b>: Undefined index: [x] in /a/b.php\n{\"a\":1}", `{"a":1}`, "text before the JSON at byte 0"},
	{"text behind", `{"a":1}</pre>`, `{"a":1}`, "text after the JSON at byte 7"},
	{"zero bytes behind", "{\"a\":1}\x00\x00\x1a", `{"a":1}`, "a control character after the end at byte 7"},
	{"brace too many", `{"a":1}}`, `{"a":1}`, "a } too many at byte 7"},
	{"brace too many in a list", `{"dataset":[{"a":1}},{"a":2}]}`, `{"dataset":[{"a":1},{"a":2}]}`, "a } too many at byte 19"},
	{"bracket too many", `{"dataset":[{"a":1}]],"b":2}`, `{"dataset":[{"a":1}],"b":2}`, "a ] too many at byte 20"},
	{"bracket missing", `{"dataset":[{"a":1},{"a":2}}`, `{"dataset":[{"a":1},{"a":2}]}`, "a missing ] before } at byte 27"},
	{"no comma after }", `[{"a":1} {"a":2}]`, `[{"a":1},{"a":2}]`, "a missing comma at byte 9"},
	{"no comma after ]", `{"a":[1] "b":2}`, `{"a":[1],"b":2}`, "a missing comma at byte 9"},
	{"joined", `{"a":"x" + "y"  + 'z', "b":1}`, `{"a":"xyz","b":1}`, "texts joined by + at byte 9"},
	{"arrow", `{"a" => 1, "b" = 2}`, `{"a":1,"b":2}`, "= for a colon at byte 5"},
}

// compact returns JSON without white space.
func equal(t *testing.T, got []byte, want string) bool {
	t.Helper()
	var a, b any
	if err := json.Unmarshal(got, &a); err != nil {
		t.Errorf("%q: %v", got, err)
	}
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		t.Fatalf("%q: %v", want, err)
	}
	return reflect.DeepEqual(a, b)
}

func TestForgiven(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, report := Fix([]byte(c.in), isList)
			got = []byte(strings.TrimPrefix(string(got), "\xef\xbb\xbf"))
			if !equal(t, got, c.want) || report.LeftOut > 0 || report.Cut {
				t.Errorf("%s became %s, want %s; %+v", c.in, got, c.want, report)
			}
			if !strings.Contains(report.String(), c.what) || (c.what == "") != report.Clean() {
				t.Errorf("%s: %q, want %q", c.in, report.String(), c.what)
			}
		})
	}
}

// lostCases lose an entry. lost is what is said about that.
var lostCases = []struct{ name, in, want, lost string }{
	{"unescaped quote", `{"dataset":[{"a":1},{"t":"the "second" one","b":[{"c":1}]},{"a":3}]}`, `{"dataset":[{"a":1},{"a":3}]}`,
		"one entry of 3 could not be read: an unescaped quote in a text, or a missing comma, at byte 31"},
	{"unescaped quotes and a comma", `{"dataset":[{"t":"he said "yes", and left","b":1},{"a":2}]}`, `{"dataset":[{"a":2}]}`, "one entry of 2"},
	{"quote and braces", `{"dataset":[{"t":"the "a}", {b","b":1},{"a":2},{"a":3}]}`, `{"dataset":[{"a":2},{"a":3}]}`, "could not be read"},
	{"no closing quote", `{"dataset":[{"t":"abc, "b":"c"},{"a":2}]}`, `{"dataset":[{"a":2}]}`, "one entry of 2"},
	{"no opening quote", `{"dataset":[{"t":abc", "b":"c"},{"a":2}]}`, `{"dataset":[{"a":2}]}`, "one entry of 2"},
	{"no comma", `{"dataset":[{"t":"a" "b":"c"},{"a":2}]}`, `{"dataset":[{"a":2}]}`, "or a missing comma"},
	{"no colon", `{"dataset":[{"t" "a"},{"a":2}]}`, `{"dataset":[{"a":2}]}`, "where a colon should be at byte 17"},
	{"no closing brace", `{"dataset":[{"a":1,"b":{"c":1},{"a":2},{"a":3}]}`, `{"dataset":[{"a":2},{"a":3}]}`, "one entry of 3"},
	{"no closing bracket within", `{"dataset":[{"a":[{"b":1}},{"a":2}]}`, `{"dataset":[{"a":2}]}`, "a missing ] before } at byte 25"},
	{"wrong bracket within", `{"dataset":[{"a":[{"b":1],"c":1},{"a":2}]}`, `{"dataset":[{"a":2}]}`, "one entry of 2"},
	{"control character", "{\"dataset\":[{\"a\":1},\x01{\"a\":2},{\"a\":3}]}", `{"dataset":[{"a":1},{"a":3}]}`, "a control character (0x01) where a value should be at byte 20"},
	{"text without quotes", `{"dataset":[{"a":hello world},{"a":2}]}`, `{"dataset":[{"a":2}]}`, "a text without quotes at byte 17"},
	{"the last", `{"dataset":[{"a":1},{"a" 2}],"b":1}`, `{"dataset":[{"a":1}],"b":1}`, "one entry of 2"},
	{"a list", `[{"a":1},{"b":"x "y""},{"a":3}]`, `[{"a":1},{"a":3}]`, "one entry of 3"},
	{"in a graph", `{"@graph":[{"@type":"Catalog","dataset":[{"a":1},{"b" 2},{"a":3}]},{"@id":"x"}]}`, `{"@graph":[{"@type":"Catalog","dataset":[{"a":1},{"a":3}]},{"@id":"x"}]}`, "could not be read"},
	{"beside the list", `{"description":"the "best"","dataset":[{"a":1}],"x":{"y" 1, "z":2}}`, `{"dataset":[{"a":1}],"x":{"z":2}}`, "2 parts could not be read"},
	{"one of several documents", "{\"a\":1}\n{\"b\":\"x \"y\"\"}\n{\"a\":3}", `[{"a":1},{"a":3}]`, "could not be read"},
	{"the first of several", "{\"b\":\"x \"y\"\"}\n{\"a\":2}\n{\"a\":3}", `[{"a":2},{"a":3}]`, "could not be read"},
	{"no colon at the end", `{"dataset":[{"a":1},{"a" 2}]}`, `{"dataset":[{"a":1}]}`, "one entry of 2"},
	{"cut in an entry", `{"dataset":[{"a":1},{"a":2,"b":"x`, `{"dataset":[{"a":1}]}`, "it ends in the middle, at byte 33, and the rest is missing"},
	{"cut between entries", `{"dataset":[{"a":1},{"a":2},`, `{"dataset":[{"a":1},{"a":2}]}`, "it ends in the middle"},
	{"cut in a name", `{"dataset":[{"a":1}],"na`, `{"dataset":[{"a":1}]}`, "it ends in the middle"},
	{"brackets missing at the end", `{"@type":"Dataset","a":1,"b":{"c":2`, `{"@type":"Dataset","a":1,"b":{"c":2}}`, "it ends in the middle"},
	{"references", `{&quot;dataset&quot;:[{&quot;a&quot;:&quot;x &quot;y&quot; z&quot;},{&quot;a&quot;:2}]}`, `{"dataset":[{"a":2}]}`, "one entry of 2"},
	{"text behind with braces", `{"a":1} and {"b":2}`, `{"a":1}`, "text after the JSON at byte 8"},
}

func TestLost(t *testing.T) {
	for _, c := range lostCases {
		t.Run(c.name, func(t *testing.T) {
			got, report := Fix([]byte(c.in), isList)
			if got == nil || !equal(t, got, c.want) || report.Whole() {
				t.Errorf("%s became %s, want %s; %+v", c.in, got, c.want, report)
			}
			if !strings.Contains(report.String(), c.lost) {
				t.Errorf("%s: %q, want %q", c.in, report.String(), c.lost)
			}
		})
	}
}

// Nothing of these can be read.
func TestFailed(t *testing.T) {
	for _, in := range []string{"", " ", "hello", "<html><body>{}</body></html>", `var x = {"a":1}; document.write(x)`, `if (x) { "use strict" }`, `{"@type":"Dataset","name":"q","description":"words "of" q"}`,
		`{"@type":"Dataset","name":"q`, `{{{{`, `"abc`, "tru", "cb(1)", "function f() { return 1 }", "// a comment", ";"} {
		if got, report := Fix([]byte(in), isList); got != nil || !report.Failed || !strings.Contains(report.String(), "it could not be read: ") {
			t.Errorf("%s became %s: %q", in, got, report.String())
		}
	}
}
