package dashboard

import (
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
)

// copyOf is the document in the frame of a copy, and the page around it.
func copyOf(t *testing.T, rec crawl.PageRecord) (copied, page string) {
	t.Helper()
	rec.URL = "https://h.example/"
	code, body := browse(t, New(Options{Ask: answering(ask.Handlers{"page": sends(rec)})})).get("/copy?url=https://h.example/")
	if code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	checkMarkup(t, body)
	doc, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	frame := find(doc, "iframe")
	if frame == nil {
		return "", body
	}
	sandboxed := false
	for _, a := range frame.Attr {
		sandboxed = sandboxed || a.Key == "sandbox" && a.Val == ""
	}
	if !sandboxed || attr(frame, "src") != "" || attr(frame, "title") == "" {
		t.Errorf("the frame may do more than show: %v", frame.Attr)
	}
	return attr(frame, "srcdoc"), body
}

// A copy has the text of a page, and nothing that acts, loads or leads elsewhere.
func TestCopiesAreHarmless(t *testing.T) {
	got, _ := copyOf(t, crawl.PageRecord{PageInfo: crawl.PageInfo{SnippetAllowed: true}, HTML: `<html><head><title>T</title><base href="https://evil.example/">
<style>body{background:url(https://evil.example/s)}</style><meta http-equiv="refresh" content="0;url=https://evil.example/m"></head>
<body onload="alert(1)"><h1 id="x" style="position:fixed" class="y">Heading</h1><p>Text <b>bold</b> &lt;script&gt; <a href="javascript:alert(2)">a link</a></p>
<script>alert(3)</script><img src="https://evil.example/i" onerror="alert(4)"><svg onload="alert(5)"><script>alert(6)</script></svg>
<form action="https://evil.example/f"><input name="q"><button>go</button></form><iframe src="https://evil.example/fr"></iframe>
<table><tr><td background="https://evil.example/b">cell</td></tr></table><video src="https://evil.example/v" poster="x"></video>
<link rel="stylesheet" href="https://evil.example/l"><math><mtext></mtext></math><noscript><p title="</noscript><img src=x onerror=alert(7)>"></noscript>
"></iframe><script>alert(8)</script></body></html>`})
	for _, want := range []string{"<h1>Heading</h1>", "<b>bold</b>", "a link", "cell", "&lt;script&gt;"} {
		if !strings.Contains(got, want) {
			t.Errorf("the copy has no %s: %s", want, got)
		}
	}
	doc, err := html.Parse(strings.NewReader(strings.TrimPrefix(got, copyHead)))
	if err != nil {
		t.Fatal(err)
	}
	each(doc, func(n *html.Node) {
		switch n.Data {
		case "html", "head", "body", "h1", "p", "b", "div", "table", "tbody", "tr", "td":
		default:
			t.Errorf("the copy has <%s>", n.Data)
		}
		if len(n.Attr) > 0 {
			t.Errorf("the copy has <%s %v>", n.Data, n.Attr)
		}
	})
	if strings.Contains(got, "evil.example") || strings.Contains(got, "alert(3)") {
		t.Errorf("the copy leads elsewhere: %s", got)
	}
}

// A page that forbids to be shown is not shown, even if its text was sent by mistake.
func TestCopiesThatAreWithheld(t *testing.T) {
	for name, rec := range map[string]crawl.PageRecord{
		"noarchive":  {PageInfo: crawl.PageInfo{SnippetAllowed: true}, Withheld: "noarchive", HTML: "<p>secret"},
		"nosnippet":  {Withheld: "nosnippet", HTML: "<p>secret"},
		"no quotes":  {HTML: "<p>secret", Text: "secret"},
		"few quotes": {PageInfo: crawl.PageInfo{SnippetAllowed: true, MaxSnippet: 20}, HTML: "<p>secret"},
		"unknown":    {PageInfo: crawl.PageInfo{SnippetAllowed: true}, Withheld: "/data/file is damaged", HTML: "<p>secret"},
	} {
		if got, body := copyOf(t, rec); got != "" || strings.Contains(body, "secret") || strings.Contains(body, "/data/file") || !strings.Contains(body, `class="note"`) {
			t.Errorf("%s: %q %s", name, got, body)
		}
	}
}
