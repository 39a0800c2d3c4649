// Command markdown compares the Markdown of `curtsy export pages --format markdown` with that of
// others for the same pages: the library that it uses, without our preprocessing, and
// go-trafilatura, which is made to find the main text. The pages are manuals from Debian packages;
// a CSS selector for each manual defines the main text, and was written by looking at its pages
// before anything was measured.
//
//	apt-get install postgresql-doc-15 python3-doc gimp-help-de debian-handbook \
//	        cppreference-doc-en-html
//	cd bench && go run ./markdown
package main

import (
	"bytes"
	"flag"
	"fmt"
	"hash/fnv"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"github.com/PuerkitoBio/goquery"
	"github.com/markusmobius/go-trafilatura"
	"golang.org/x/net/html"

	"github.com/curtsy/curtsy/internal/pagetext"
	"github.com/curtsy/curtsy/pkg/canon"
)

// manual is a collection of pages. main selects the main text, not selects what is in it but does
// not belong to it.
type manual struct{ name, dir, main, not string }

var manuals = []manual{
	{"PostgreSQL", "/usr/share/doc/postgresql-doc-15/html", "body", ".navheader, .navfooter, .toc"},
	{"Python", "/usr/share/doc/python3/html", "div.body", "a.headerlink, div.toctree-wrapper, .topic.contents"},
	{"GIMP (de)", "/usr/share/gimp/2.0/help/de", "body", ".navheader, .navfooter, .toc"},
	{"Debian handbook", "/usr/share/doc/debian-handbook/html/en-US", "body", "#breadcrumbs, .docnav, .toc, #title, p#title"},
	{"cppreference", "/usr/share/cppreference/doc/html/en/cpp", "h1, #mw-content-text", ".t-navbar, .editsection, #toc, .toc"},
}

var worst = flag.Bool("worst", false, "also print pages of which ours has less than nine words in ten")

// engine makes Markdown of a page.
type engine struct {
	name string
	run  func(url, title string, page []byte) string
}

func engines() []engine {
	conv := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin()))
	plain := func(page *html.Node) string {
		md, err := conv.ConvertNode(page)
		if err != nil {
			return ""
		}
		return string(md)
	}
	var x pagetext.Extractor
	return []engine{
		{"ours", func(url, title string, page []byte) string {
			md, _ := x.Markdown(&pagetext.Page{URL: canon.URL(url), ContentType: "text/html", Charset: "utf-8", Title: title}, page)
			return string(md)
		}},
		{"html-to-markdown alone", func(_, _ string, page []byte) string {
			doc, err := html.Parse(bytes.NewReader(page))
			if err != nil {
				return ""
			}
			return plain(doc)
		}},
		{"trafilatura, then that", func(_, _ string, page []byte) string {
			r, err := trafilatura.Extract(bytes.NewReader(page), trafilatura.Options{EnableFallback: true, IncludeLinks: true, IncludeImages: true})
			if err != nil || r.ContentNode == nil {
				return ""
			}
			return plain(r.ContentNode)
		}},
	}
}

// score has the sums over the pages that an engine converted.
type score struct {
	pages int
	// Numbers of words: of the main text that were found, in the output, in the main text.
	found, made, wanted float64
	heads, headsAll     int
	code, codeAll       int
	rows, rowsAll       int
	took                time.Duration
	empty               int
}

func main() {
	most := flag.Int("pages", 60, "pages of each manual")
	aside := flag.Bool("aside", false, "the half that is set aside; else the other")
	show := flag.String("show", "", "print what ours makes of this file")
	flag.Parse()
	if *show != "" {
		b, err := os.ReadFile(*show)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(engines()[0].run("http://a.example/"+filepath.Base(*show), "Title", b))
		return
	}
	all := engines()
	total := make([]score, len(all))
	fmt.Println("| manual | engine | pages | words F1 | recall | precision | headings | lines of code | rows of tables | empty | ms a page |\n|---|---|---|---|---|---|---|---|---|---|---|")
	for _, m := range manuals {
		sums := make([]score, len(all))
		for _, file := range chosen(m, *most, *aside) {
			page, err := os.ReadFile(file)
			if err != nil {
				log.Fatal(err)
			}
			measure(m, file, page, all, sums)
		}
		for i := range all {
			print(m.name, all[i].name, &sums[i])
			total[i].add(&sums[i])
		}
	}
	for i := range all {
		print("**all**", all[i].name, &total[i])
	}
}

// chosen returns the pages of a manual that belong to one half, by a hash of their names.
func chosen(m manual, most int, aside bool) (files []string) {
	type ranked struct {
		h    uint64
		path string
	}
	var found []ranked
	dir, err := filepath.EvalSymlinks(m.dir)
	if err != nil {
		log.Fatalf("%v; apt-get install the manuals", err)
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".html") {
			return err
		}
		h := fnv.New64a()
		h.Write([]byte(m.name + path))
		if n := h.Sum64(); (n>>20&1 == 1) == aside {
			found = append(found, ranked{n * 0x9E3779B97F4A7C15, path})
		}
		return nil
	})
	if err != nil {
		log.Fatalf("%v; apt-get install the manuals", err)
	}
	slices.SortFunc(found, func(a, b ranked) int { return strings.Compare(fmt.Sprint(a.h), fmt.Sprint(b.h)) })
	for _, f := range found[:min(most, len(found))] {
		files = append(files, f.path)
	}
	return files
}

func measure(m manual, file string, page []byte, all []engine, sums []score) {
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(page))
	if err != nil {
		log.Fatal(err)
	}
	title := doc.Find("title").First().Text()
	doc.Find("script, style, noscript").Remove()
	main := doc.Find(m.main)
	main.Find(m.not).Remove()
	var text, heads, code, rows []string
	for _, n := range main.Nodes {
		for k := range n.Descendants() {
			if k.Type == html.TextNode {
				text = append(text, k.Data)
			}
		}
	}
	want := bag(strings.Join(text, " "))
	if len(want) < 20 {
		return // a list of links, or nothing
	}
	main.Find("h1, h2, h3, h4").Each(func(_ int, s *goquery.Selection) { heads = append(heads, squeeze(s.Text())) })
	main.Find("pre").Each(func(_ int, s *goquery.Selection) {
		if s.ParentsFiltered("td").Length() > 0 {
			return
		}
		for line := range strings.Lines(s.Text()) {
			if line = strings.TrimRight(line, " \r\n"); strings.TrimSpace(line) != "" {
				code = append(code, line)
			}
		}
	})
	main.Find("table:not(:has(table)) tr:has(td)").Each(func(_ int, s *goquery.Selection) {
		if cells := s.ChildrenFiltered("td, th"); cells.Length() > 1 && s.ParentsFiltered("table").Length() == 1 {
			rows = append(rows, squeeze(cells.First().Text()))
		}
	})
	for i, e := range all {
		began := time.Now()
		md := e.run("http://a.example/"+filepath.Base(file), title, page)
		s := &sums[i]
		s.took += time.Since(began)
		s.pages++
		got := bag(words(md))
		if len(got) < 5 {
			s.empty++
		}
		if *worst && i == 0 {
			n, have := 0, 0
			for w, k := range want {
				n, have = n+k, have+min(k, got[w])
			}
			if 10*have < 9*n {
				fmt.Printf("%s: %d of %d words\n", file, have, n)
			}
		}
		for w, n := range want {
			s.wanted += float64(n)
			s.found += float64(min(n, got[w]))
		}
		for _, n := range got {
			s.made += float64(n)
		}
		lines := map[string]bool{}
		headed, tabled := map[string]bool{}, map[string]bool{}
		for line := range strings.Lines(md) {
			line = strings.TrimRight(line, " \r\n")
			lines[line] = true
			lines[strings.TrimLeft(line, " ")] = true
			if t := strings.TrimLeft(line, "#"); len(t) < len(line) {
				headed[key(t)] = true
			}
			if strings.HasPrefix(strings.TrimSpace(line), "|") {
				if cells := strings.Split(strings.TrimSpace(line), "|"); len(cells) > 2 {
					tabled[key(cells[1])] = true
				}
			}
		}
		for _, h := range heads {
			if s.headsAll++; headed[key(h)] {
				s.heads++
			}
		}
		for _, c := range code {
			if s.codeAll++; lines[c] || lines[strings.TrimLeft(c, " ")] {
				s.code++
			}
		}
		for _, r := range rows {
			if s.rowsAll++; tabled[key(r)] {
				s.rows++
			}
		}
	}
}

// words returns approximately the text of Markdown, without markup and addresses.
func words(md string) string {
	var b strings.Builder
	for i := 0; i < len(md); i++ {
		switch c := md[i]; {
		case c == ']' && i+1 < len(md) && md[i+1] == '(':
			if end := strings.IndexByte(md[i:], ')'); end > 0 {
				i += end
			}
			b.WriteByte(' ')
		case strings.IndexByte("*_`#>|[]!\\~", c) >= 0:
			if c != '\\' && c != '*' && c != '_' && c != '`' {
				b.WriteByte(' ')
			}
		default:
			b.WriteByte(c)
		}
	}
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&", "<br />", " ").Replace(b.String())
}

// bag counts words.
func bag(text string) map[string]int {
	all := map[string]int{}
	for w := range strings.FieldsFuncSeq(strings.ToLower(text), func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) }) {
		all[w]++
	}
	return all
}

// key reduces a text to its letters and digits.
func key(s string) string {
	s = words(s)
	return strings.Map(func(c rune) rune {
		if unicode.IsLetter(c) || unicode.IsDigit(c) {
			return unicode.ToLower(c)
		}
		return -1
	}, s)
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

func (s *score) add(o *score) {
	s.pages += o.pages
	s.found, s.made, s.wanted = s.found+o.found, s.made+o.made, s.wanted+o.wanted
	s.heads, s.headsAll, s.code, s.codeAll, s.rows, s.rowsAll = s.heads+o.heads, s.headsAll+o.headsAll, s.code+o.code, s.codeAll+o.codeAll, s.rows+o.rows, s.rowsAll+o.rowsAll
	s.took, s.empty = s.took+o.took, s.empty+o.empty
}

func print(manual, name string, s *score) {
	recall, precision := s.found/max(1, s.wanted), s.found/max(1, s.made)
	share := func(n, all int) string {
		if all == 0 {
			return "–"
		}
		return fmt.Sprintf("%.3f", float64(n)/float64(all))
	}
	fmt.Printf("| %s | %s | %d | %.3f | %.3f | %.3f | %s | %s | %s | %d | %.1f |\n", manual, name, s.pages, 2*recall*precision/max(1e-9, recall+precision), recall, precision,
		share(s.heads, s.headsAll), share(s.code, s.codeAll), share(s.rows, s.rowsAll), s.empty, float64(s.took.Microseconds())/1000/float64(max(1, s.pages)))
}
