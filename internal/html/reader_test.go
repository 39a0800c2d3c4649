package html

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	nethtml "golang.org/x/net/html"

	"github.com/curtsy/curtsy/internal/testaid"
)

// reference is what html.Tokenizer of golang.org/x/net finds in a page.
func reference(page []byte) (out []string) {
	z := nethtml.NewTokenizer(bytes.NewReader(page))
	raw := false
	for {
		switch z.Next() {
		case nethtml.ErrorToken:
			return out
		case nethtml.TextToken:
			switch text := z.Raw(); {
			case len(text) > 0 && raw:
				out = append(out, fmt.Sprintf("raw %q", text))
			case len(text) > 0:
				out = append(out, fmt.Sprintf("text %q", text))
			}
			raw = false
		case nethtml.EndTagToken:
			raw = false
			name, _ := z.TagName()
			out = append(out, fmt.Sprintf("end %q", short(name)))
		case nethtml.StartTagToken, nethtml.SelfClosingTagToken:
			name, more := z.TagName()
			s := fmt.Sprintf("start %q", short(name))
			for more {
				var k, v []byte
				k, v, more = z.TagAttr()
				s += fmt.Sprintf(" %q=%q", k, v)
			}
			out = append(out, s)
			raw = rawElement(name, false) != ""
			if string(name) == "noscript" {
				z.NextIsNotRawText()
			}
		default:
			raw = false
		}
	}
}

// short is the name of a tag as Next returns it.
func short(name []byte) []byte {
	if len(name) > MaxName {
		return nil
	}
	return name
}

// ours is the same from Reader.
func ours(page []byte) (out []string) {
	z := Reader{Page: page}
	for {
		kind, val, attrs := z.Next()
		switch kind {
		case End:
			return out
		case Text:
			out = append(out, fmt.Sprintf("text %q", val))
		case EndTag:
			out = append(out, fmt.Sprintf("end %q", short(withoutNUL(val))))
		case StartTag:
			s := fmt.Sprintf("start %q", short(withoutNUL(val)))
			seen := map[string]bool{}
			for name, v, rest := NextAttr(attrs); name != nil; name, v, rest = NextAttr(rest) {
				if k := string(lowerCase(name)); !seen[k] {
					seen[k] = true
					s += fmt.Sprintf(" %q=%q", withoutNUL([]byte(k)), Value(v))
				}
			}
			out = append(out, s)
			if raw := z.Raw(); len(raw) > 0 {
				out = append(out, fmt.Sprintf("raw %q", raw))
			}
		}
	}
}

// lowerCase is what html.Tokenizer does to names: ASCII letters only.
func lowerCase(b []byte) []byte {
	b = bytes.Clone(b)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] |= 0x20
		}
	}
	return b
}

func withoutNUL(b []byte) []byte { return bytes.ReplaceAll(b, []byte{0}, []byte("\uFFFD")) }

// join joins text that only one of the two cuts.
func join(tokens []string) string {
	s := strings.Join(tokens, "\n")
	return strings.ReplaceAll(s, "\"\ntext \"", "")
}

var markupSeeds = []string{
	`<!doctype html><html><head><title>a<b>c</title><meta name=robots content="noindex"></head><body><a href="x?a=1&amp;b=2&copy=3&copy;&#38;">t</a>`,
	`<a href=x/><a href='a"b' rel=nofollow><A HREF="1" href="2"><a / href = "x" /><a =x href><a href=>`,
	`<script>var a = "<a href=x>"; <!-- <script> </script> --> </script><a href=y>`,
	`<script><!-- <a href=1> --></script><a href=2><script><!--<script></script><a href=3></script><a href=4>`,
	`<script><!-- <3 </script><a href=1>`, `<script></scriptx></script ><a href=1>`, `<script><!--></script><a href=1>`,
	`<style><a href=1></style><a href=2><textarea><a href=3></textarea><title></title><a href=4><xmp></xmp x><iframe src=a><a href=5></iframe>`,
	`<noscript><a href=1></noscript><plaintext><a href=2>`, `<noembed><a href=1></noembed><noframes><a href=1></noframes><a href=2>`,
	`<!--><a href=1>--><a href=2><!---><a href=3><!-- -- --!><a href=4><!----><a href=5><!--a-><a href=6>-->`,
	`<!x><a href=1><!><a href=2><?php > <a href=3> ?><a href=4></><a href=5></ x><a href=6></a b=">"><a href=7>`,
	"<a\thref\n=\r\"x\r\ny\">\x00<a\x00 hr\x00ef=\"\x00\">", `< a><1><a`, `<a href="unclosed`, `<a href=x`, `</`, `</a`, `<`, `<!`, `<!-`, `<!--`, `</scr`, `<script>x</scr`,
	`<a href="&">&<a href="&#">&<a href="&#x">&<a href="&;"><a href="&amp"><a href="&ampx"><a href="&lt=1"><a href="&lt;=1">`,
	`<svg><a xlink:href="x" href="y"/></svg><math><![CDATA[<a href=x>]]></math>`, `<title/>x<a href=1></title><a href=2>`, `<a<b href=x>`,
}

func TestTokens(t *testing.T) {
	for _, s := range markupSeeds {
		for n := range len(s) + 1 { // cut anywhere
			page := []byte(s[:n])
			want, got := join(reference(page)), join(ours(page))
			if got != want {
				t.Fatalf("%q:\n%s\nwant:\n%s", page, got, want)
			}
		}
	}
}

func FuzzTokens(f *testing.F) {
	for _, s := range markupSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, page []byte) {
		want, got := join(reference(bytes.Clone(page))), join(ours(page))
		if got != want {
			t.Errorf("%q:\n%s\nwant:\n%s", page, got, want)
		}
	})
}

// Random pages of pieces that mean something to a tokenizer.
func TestTokensAtRandom(t *testing.T) {
	pieces := strings.Split("< > </ /> <! <!-- --> --!> - -- ! ? / = \" ' & &amp; &amp &lt; &#65; ; # a A b x <a <A </a> <a> href HREF rel=nofollow "+
		"src <script <script> </script </script> <SCRIPT> </ScRipT> script <style> </style> <title> </title> <textarea> </textarea> <iframe> "+
		"</iframe <xmp> </xmp> <noscript> </noscript> <noembed> </noembed> <noframes> </noframes> <plaintext <meta <base <area <link <frame "+
		"<frame> <![CDATA[ ]]> <!doctype <?xml \n \r \r\n \t \f \x00 é \xff text <p> <p </p> <br/> <svg> <template>", " ")
	for i := range pieces {
		pieces[i] = strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\t`, "\t", `\f`, "\f", `\x00`, "\x00", `\xff`, "\xff").Replace(pieces[i])
	}
	pieces = append(pieces, " ", " ", " ")
	r := rand.New(rand.NewPCG(5, 6))
	n := testaid.Volume(100_000, 5000)
	if testing.Short() {
		n = 5000
	}
	var page []byte
	for range n {
		page = page[:0]
		for range r.IntN(30) {
			page = append(page, pieces[r.IntN(len(pieces))]...)
		}
		if want, got := join(reference(bytes.Clone(page))), join(ours(page)); got != want {
			t.Fatalf("%q:\n%s\nwant:\n%s", page, got, want)
		}
	}
}
