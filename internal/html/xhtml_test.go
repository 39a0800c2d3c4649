package html

import (
	"bytes"
	"encoding/xml"
	"strings"
	"testing"

	nethtml "golang.org/x/net/html"
)

func TestFromXHTML(t *testing.T) {
	for in, want := range map[string]string{
		`<p>plain</p>`:                                   `<p>plain</p>`,
		`<script src="a"/><p>b</p>`:                      `<script src="a"></script><p>b</p>`,
		`<title/><iframe /><textarea a='/>'/>`:           `<title></title><iframe ></iframe><textarea a='/>'></textarea>`,
		`<br/><img src="x/"/><br></br>`:                  `<br><img src="x/"><br>`,
		`<p><![CDATA[a < b && c]]></p>`:                  `<p>a &lt; b &amp;&amp; c</p>`,
		`<script><![CDATA[if (a < b) "</p>"]]></script>`: `<script>if (a < b) "<\/p>"</script>`,
		`<script>a &lt; b<!-- c --><b/>d</script>`:       `<script>a < b<b/>d</script>`,
		`<style>/*&amp;*/</style>`:                       `<style>/*&*/</style>`,
		`<h:html xmlns:h="http://www.w3.org/1999/xhtml"><h:a href="x">y</h:a><s:a/></h:html>`: `<html xmlns:h="http://www.w3.org/1999/xhtml"><a href="x">y</a><s:a></s:a></html>`,
		`<!DOCTYPE html [<!ENTITY a "b>">]><p/>`:                                              `<!DOCTYPE html ><p></p>`,
		`<?xml version="1.0"?><p a="1" />`:                                                    `<p a="1" ></p>`,
		`<p/`:                                                                                 `<p/`,
		`a < b <p/>`:                                                                          `a < b <p></p>`,
		`<![CDATA[x`:                                                                          `x`,
		`</p`:                                                                                 `</p`,
		`<!DOCTYPE`:                                                                           `<!DOCTYPE`,
		`</script/><x/>`:                                                                      `</script/><x></x>`,
		// what hides the rest of a page in HTML
		`<script><![CDATA["<!--<script>"]]></script><p/>`:                                          `<script>"\u003c!--\u003cscript>"</script><p></p>`,
		`<script><![CDATA[<]]>SCRIPT &lt;!-- &lt;<![CDATA[/script>]]></script><p/>`:                `<script>\u003cSCRIPT \u003c!-- <\/script></script><p></p>`,
		`<script>if (a<b && c == '"') d = "<i x='"</script><p/>`:                                   `<script>if (a<b && c == '"') d = "<i x='"</script><p></p>`,
		`<h:script xmlns:h='http://www.w3.org/1999/xhtml'>a</h:script><p/>`:                        `<script xmlns:h='http://www.w3.org/1999/xhtml'>a</script><p></p>`,
		`<script>a <!-- b</script><p/>`:                                                            `<script>a \u003c!-- b</script><p></p>`,
		"<!--> <meta name='robots'/>\n -->a":                                                       "\na",
		"<?x > <meta name='robots'/>\n ?>a":                                                        "\na",
		`<?x <meta name='robots'> a`:                                                               ` a`,
		`<!DOCTYPE html [<!-- don't ]> --><?x " ]> ?><!ENTITY a "]>">]><p/>`:                       `<!DOCTYPE html ><p></p>`,
		`<!DOCTYPE html [<!ENTITY a "b>]><p/>`:                                                     `<!DOCTYPE html >]><p></p>`,
		`<!ELEMENT "><p/>`:                                                                         `<!ELEMENT "><p></p>`,
		`<plaintext>a</plaintext><xmp>b</xmp><noembed/><Noframes>c</Noframes><listing>d</listing>`: `<pre>a</pre><pre>b</pre><div></div><div>c</div><pre>d</pre>`,
	} {
		if got := string(FromXHTML([]byte(in))); got != want {
			t.Errorf("%s\nis  %s\nnot %s", in, got, want)
		}
	}
}

// The output has a limited length, whatever a page consists of, and so have the costs.
func TestFromXHTMLIsBounded(t *testing.T) {
	const n = 200_000
	for _, part := range []string{"&", "<", "<!['>", "<!DOCTYPE[<?", "<?", "<!--", "<script><!--<![CDATA[", "<b/>", "<a xmlns:h='http://www.w3.org/1999/xhtml'/>"} {
		for _, begin := range []string{"", "<![CDATA[", "<script>", "<script><![CDATA["} {
			page := []byte(begin + strings.Repeat(part, n/len(part)))
			if got := len(FromXHTML(page)); got > 3*len(page)+64<<10 {
				t.Errorf("%d bytes of %s%s become %d", len(page), begin, part, got)
			}
		}
	}
	w := writer{}
	for range 3 {
		w.declared([]byte(` xmlns:h="http://www.w3.org/1999/xhtml"`))
	}
	if len(w.prefixes) != 1 {
		t.Errorf("one prefix counts as %d", len(w.prefixes))
	}
}

// seen returns the text of a page and the names of its elements, as a reader of HTML sees them.
func seen(page []byte) (names, text string) {
	z := nethtml.NewTokenizer(bytes.NewReader(page))
	var n, s strings.Builder
	for {
		switch z.Next() {
		case nethtml.ErrorToken:
			return n.String(), s.String()
		case nethtml.StartTagToken, nethtml.SelfClosingTagToken:
			name, _ := z.TagName()
			n.WriteString(string(name) + " ")
		case nethtml.TextToken:
			s.Write(z.Text())
		}
	}
}

// parsed returns the same as a parser of XML sees it. ok is false if the page is no XHTML that HTML
// can express.
func parsed(page []byte) (names, text string, ok bool) {
	d := xml.NewDecoder(bytes.NewReader(page))
	d.Entity = xml.HTMLEntity
	var n, s strings.Builder
	for {
		token, err := d.Token()
		if token == nil {
			return n.String(), s.String(), err.Error() == "EOF"
		}
		switch x := token.(type) {
		case xml.StartElement:
			if x.Name.Space != "" || !wellKnown[x.Name.Local] || len(x.Attr) > 1 {
				return "", "", false
			}
			n.WriteString(x.Name.Local + " ")
		case xml.CharData:
			s.Write(x)
		case xml.Directive, xml.ProcInst:
			return "", "", false
		}
	}
}

var wellKnown = map[string]bool{"html": true, "head": true, "body": true, "p": true, "a": true, "b": true, "div": true, "title": true, "br": true, "img": true}

// FuzzXHTML compares the rewriting with encoding/xml: the tokenizer of HTML must see in the output
// what that parser sees in the page.
func FuzzXHTML(f *testing.F) {
	for _, s := range []string{
		`<html><head><title/></head><body><p>a &amp; b<br/></p></body></html>`, `<p><![CDATA[<a/>]]></p>`, `<div><b/>x</div>`, `<p>x<!-- y -->z</p>`,
		`<script><![CDATA[</script>]]></script>`, `<h:p xmlns:h="http://www.w3.org/1999/xhtml"/>`, `<!DOCTYPE p [<!ENTITY x "y">]><p/>`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, page []byte) {
		out := FromXHTML(page)
		if a, b := bytes.Count(page, []byte{'\n'}), bytes.Count(out, []byte{'\n'}); a > b {
			t.Errorf("%d lines of %d are left", b, a)
		}
		if bytes.ContainsAny(page, "\r\x00") {
			return // which the two normalise differently
		}
		names, text, ok := parsed(page)
		// References to control characters (&#x80;) are letters of windows-1252 in HTML. Authors of
		// XHTML mean these, too.
		if !ok || strings.ContainsFunc(text, func(r rune) bool { return r >= 0x80 && r <= 0x9f }) {
			return
		}
		gotNames, gotText := seen(out)
		// The line breaks of comments stay.
		text, gotText = strings.ReplaceAll(text, "\n", ""), strings.ReplaceAll(gotText, "\n", "")
		if gotNames != names || nethtml.UnescapeString(text) == text && gotText != text {
			t.Errorf("%q became %q: %q %q, and in XML it is %q %q", page, out, gotNames, gotText, names, text)
		}
	})
}
