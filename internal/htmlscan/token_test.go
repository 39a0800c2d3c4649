package htmlscan

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/curtsy/curtsy/internal/racing"
)

// reference is what html.Tokenizer finds in a page: the tags with the attributes we keep, and text
// that is no raw text.
func reference(page []byte) (out []string) {
	z := html.NewTokenizer(bytes.NewReader(page))
	raw := false
	for {
		switch z.Next() {
		case html.ErrorToken:
			return out
		case html.TextToken:
			if text := z.Raw(); !raw && len(text) > 0 {
				out = append(out, fmt.Sprintf("text %q", text))
			}
			raw = false
		case html.EndTagToken:
			raw = false
			name, _ := z.TagName()
			out = append(out, fmt.Sprintf("end %q", name))
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			s := fmt.Sprintf("start %q", name)
			keep := hasAttributes(name)
			for more {
				var k, v []byte
				k, v, more = z.TagAttr()
				if keep {
					s += fmt.Sprintf(" %q=%q", k, v)
				}
			}
			out = append(out, s)
			raw = rawElement(name) != ""
			if string(name) == "noscript" {
				z.NextIsNotRawText()
			}
		default:
			raw = false
		}
	}
}

// ours is the same from tokenizer.
func ours(page []byte) (out []string) {
	z := tokenizer{b: page}
	for {
		switch z.next() {
		case endOfPage:
			return out
		case textToken:
			out = append(out, fmt.Sprintf("text %q", z.text))
		case endTag:
			out = append(out, fmt.Sprintf("end %q", lowerNUL(z.name)))
		case startTag:
			s := fmt.Sprintf("start %q", lowerNUL(z.name))
			seen := map[string]bool{}
			var attrs []attr
			if len(z.attrs) > 0 {
				attrs = decode(z.tag, nil)
			}
			for _, a := range z.attrs {
				k := string(lower(a.key))
				if seen[k] {
					continue
				}
				seen[k] = true
				v := []byte{}
				if plain, ok := appendValue(v, a.value); ok {
					v = plain
				} else if n := len(seen) - 1; n < len(attrs) {
					v = attrs[n].value
				}
				s += fmt.Sprintf(" %q=%q", lowerNUL(a.key), v)
			}
			out = append(out, s)
		}
	}
}

// lower is what html.Tokenizer does to names: ASCII letters only.
func lower(b []byte) []byte {
	b = bytes.Clone(b)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] |= 0x20
		}
	}
	return b
}

func lowerNUL(b []byte) []byte { return bytes.ReplaceAll(lower(b), []byte{0}, []byte("\uFFFD")) }

// join puts text together that one of the two cuts where the other does not.
func join(tokens []string) string {
	s := strings.Join(tokens, "\n")
	return strings.ReplaceAll(s, "\"\ntext \"", "")
}

var tokenSeeds = []string{
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
	for _, s := range tokenSeeds {
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
	for _, s := range tokenSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, page []byte) {
		want, got := join(reference(bytes.Clone(page))), join(ours(page))
		if got != want {
			t.Errorf("%q:\n%s\nwant:\n%s", page, got, want)
		}
	})
}

// Pages put together at random from pieces that mean something to a tokenizer.
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
	n := racing.Volume(100_000, 5000)
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
