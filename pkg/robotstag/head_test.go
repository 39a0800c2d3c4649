package robotstag

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func scan(page string) *Set {
	s := New(bot)
	s.ScanHTML([]byte(page))
	return s
}

// contents lists the content of each meta element that counted.
func contents(s *Set) []string {
	var c []string
	for _, src := range s.Sources() {
		c = append(c, src.Value)
	}
	return c
}

const (
	a = "<meta name=robots content=a>"
	b = "<meta name=robots content=b>"
)

// Which meta elements are in the head; both readers must agree.
var placements = []struct{ name, page, want string }{
	{"nothing", "", ""},
	{"bare", a, "a"},
	{"plain page", "<!DOCTYPE html><html lang=en><head profile=x>" + a + "</head><body>" + b, "a"},
	{"no head tag", "<html>" + a + "<body>" + b, "a"},
	{"no html tag", "<title>t</title>" + a + "<p>" + b, "a"},
	{"blanks only", " \n\t\f\r\n" + a, "a"},
	{"blanks after head", "<head></head> \n " + a, "a"},
	{"blanks as references", "&#32;&#x9;" + a, "a"},
	{"text first", "hello" + a, ""},
	{"text in head", "<head>" + a + "x" + b, "a"},
	{"text after head", "<head>" + a + "</head>x" + b, "a"},
	{"no-break space is text", "\u00a0" + a, ""},
	{"no-break space as reference", "&nbsp;" + a, ""},
	{"NUL is text", "\x00" + a, ""},
	{"after head, before body", "<head></head>" + a + "<body>" + b, "a"},
	{"after head, after more of it", "<head></head><title>x</title><link>" + a, "a"},
	{"body tag", "<body>" + a, ""},
	{"body end tag", "</body>" + a, ""},
	{"html end tag", "<head></head></html>" + a, ""},
	{"html end tag first", "</html>" + a, ""},
	{"br end tag", "</br>" + a, ""},
	{"other end tags", "</p></div></title></template></noscript>" + a, "a"},
	{"end of head first", "</head>" + a, "a"},
	{"head twice", "<head><head>" + a + "</head><head>" + b, "a b"},
	{"html twice", "<html><html>" + a + "<html>" + b, "a b"},
	{"html after head", "<head></head><html>" + a, "a"},
	{"unknown element", "<foo>" + a, ""},
	{"custom element", "<head><my-thing>" + a, ""},
	{"div in head", "<head><div></div>" + a + "</head>" + b, ""},
	{"img in head", "<head><img>" + a, ""},
	{"svg", "<svg></svg>" + a, ""},
	{"math in head", "<head><math>" + a, ""},
	{"svg holding title", "<head><svg><title></svg>" + a, ""},
	{"frameset", "<frameset>" + a + "</frameset>" + b, ""},
	{"frameset page", "<head>" + a + "</head><frameset><frame><noframes>" + b + "</noframes></frameset>", "a"},
	{"after frameset", "<frameset></frameset></html>" + a, ""},
	{"frameset replacing the body", "<p></p><frameset>" + a, ""},
	{"comment", "<!--" + a + "-->" + b, "b"},
	{"comment everywhere", "<!--x--><html><!--x--><head><!--x-->" + a + "</head><!--x-->" + b, "a b"},
	{"unclosed comment", a + "<!--" + b, "a"},
	{"empty comment", "<!-->" + a + "<!--->" + b, "a b"},
	{"conditional comment", "<!--[if IE]>" + a + "<![endif]-->" + b, "b"},
	{"revealed conditional", "<!--[if !IE]><!-->" + a + "<!--<![endif]-->", "a"},
	{"processing instruction", "<?xml version=\"1.0\"?>" + a, "a"},
	{"CDATA is a comment", "<![CDATA[x]]>" + a, "a"},
	{"CDATA is a comment up to the first angle", "<![CDATA[" + a + "]]>" + b, ""},
	{"doctype late", "<head></head><!doctype html>" + a, "a"},
	{"script", "<script>" + a + "</script>" + b, "b"},
	{"script without end", "<script>" + a, ""},
	{"script self-closed", "<script/>" + a + "</script>" + b, "b"},
	{"script escaped", "<script><!--<script>" + a + "</script>-->" + a + "</script>" + b, "b"},
	{"style", "<style>p{}" + a + "</style>" + b, "b"},
	{"title", "<title>" + a + "</title>" + b, "b"},
	{"title with references", "<title>&lt;p&gt;</title>" + b, "b"},
	{"title after head", "</head><title>" + a + "</title>" + b, "b"},
	{"noframes", "<noframes>" + a + "</noframes>" + b, "b"},
	{"textarea opens the body", "<textarea>" + a + "</textarea>" + b, ""},
	{"base link basefont bgsound", "<base href=/><link><basefont><bgsound>" + a, "a"},
	{"command is no head element", "<command>" + a, ""},
	{"noscript in head", "<head><noscript>" + a + "</noscript>" + b, "a b"},
	{"noscript, head implied", "<noscript>" + a + "</noscript>" + b, "a b"},
	{"noscript with style and link", "<head><noscript><style>p{}</style><link>" + a + "</noscript>" + b, "a b"},
	{"noscript with blanks and comment", "<head><noscript> <!--x--> " + a, "a"},
	{"noscript with text", "<head><noscript>x" + a, ""},
	{"noscript with img", "<head><noscript><img></noscript>" + a, ""},
	{"noscript with script", "<head><noscript><script>" + a + "</script>" + a + "</noscript>" + b, "a b"},
	{"noscript with title", "<head><noscript><title>x</title>" + a, "a"},
	{"noscript with base", "<head><noscript><base>" + a, "a"},
	{"noscript with template", "<head><noscript><template>" + a + "</template></noscript>" + b, "b"},
	{"noscript in noscript", "<head><noscript><noscript>" + a + "</noscript>" + b, "a b"},
	{"noscript holding head and html", "<head><noscript><head><html>" + a + "</head></html></body>" + b, "a b"},
	{"noscript with br end tag", "<head><noscript></br>" + a, ""},
	{"noscript with body", "<head><noscript><body>" + a, ""},
	{"noscript after head", "<head></head><noscript>" + a + "</noscript>" + b, ""},
	{"noscript in body", "<body><noscript>" + a, ""},
	{"template", "<template>" + a + "</template>" + b, "b"},
	{"template after head", "</head><template>" + a + "</template>" + b, "b"},
	{"template nested", "<template><template>" + a + "</template>" + a + "</template>" + b, "b"},
	{"template with text and body", "<template>x<body><p>" + a + "</template>" + b, "b"},
	{"template with end tags", "<template></head></body></html></br>" + a + "</template>" + b, "b"},
	{"template with table", "<template><tr><td><template></template>" + a + "</template>" + b, "b"},
	{"template with select", "<template><select><option>" + a + "</template>" + b, "b"},
	{"template with frameset", "<template><frameset></template>" + b, "b"},
	{"template with noscript", "<template><noscript>" + a + "</noscript></template>" + b, "b"},
	{"template with svg", "<template><svg><path></path></svg></template>" + b, "b"},
	{"template unclosed", "<template>" + a, ""},
	{"template closed twice", "<template></template></template>" + b, "b"},
	{"upper case", "<HTML><HEAD><META NAME=ROBOTS CONTENT=a></HEAD>", "a"},
	{"attribute order and quotes", `<meta content='a' charset="x" name="robots">`, "a"},
	{"references in attributes", `<meta name=r&#111;bots content="&#97;">`, "a"},
	{"repeated attributes", "<meta name=robots name=x content=a content=b>", "a"},
	{"repeated, wrong one first", "<meta name=x name=robots content=a>", ""},
	{"self-closed", "<meta name=robots content=a />", "a"},
	{"http-equiv", "<meta http-equiv=robots content=a>", ""},
	{"property", "<meta property=robots content=a>", ""},
	{"unclosed tag", "<meta name=robots content=a", ""},
	{"in an attribute", `<link title="` + a + `">` + b, "b"},
}

func TestFormats_4_3_Placement(t *testing.T) {
	for _, c := range placements {
		want := strings.Fields(c.want)
		if got := contents(fromHTML(bot, []byte(c.page))); !slices.Equal(got, want) {
			t.Errorf("fromHTML, %s: %q, want %q", c.name, got, want)
		}
		if got := contents(scan(c.page)); !slices.Equal(got, want) {
			t.Errorf("ScanHTML, %s: %q, want %q", c.name, got, want)
		}
	}
}

// An empty element has no rules, and a name without content is not an error.
func TestFormats_4_3_NoContent(t *testing.T) {
	for _, page := range []string{"<meta name=robots>", "<meta name=robots content>", "<meta>"} {
		if !scan(page).Directives().IsZero() || !fromHTML(bot, []byte(page)).Directives().IsZero() {
			t.Errorf("%s asks something", page)
		}
	}
}

// fragments of pages, for building many different heads.
var fragments = []string{
	"<html>", "</html>", "<head>", "</head>", "<body>", "</body>", "</br>", " ", "x", "<!--x-->", "<!doctype html>",
	"<noscript>", "</noscript>", "<template>", "</template>", "<title>", "</title>", "<script>", "</script>", "<style>x</style>",
	"<noframes>", "</noframes>", "<link>", "<base>", "<div>", "</p>", "<frameset>", "<table>", "<td>", "<select>", "<foo>", a,
}

// agree fails the test unless both readers find the same meta elements in the head.
func agree(t *testing.T, page string) {
	t.Helper()
	fast, slow := contents(scan(page)), contents(fromHTML(bot, []byte(page)))
	if !slices.Equal(fast, slow) {
		t.Errorf("%s: ScanHTML %q, fromHTML %q", page, fast, slow)
	}
}

// Both readers must agree for every sequence of three fragments: this compares the state machine
// with the parser systematically.
func TestHeadAgainstParser(t *testing.T) {
	for _, f1 := range fragments {
		for _, f2 := range fragments {
			for _, f3 := range fragments {
				agree(t, f1+f2+f3+b)
			}
		}
	}
}

// Longer sequences, chosen at random with a fixed seed. Half of the fragments are of a kind that
// keeps a head open, because otherwise most heads end at once.
func TestHeadAgainstParserAtRandom(t *testing.T) {
	open := []string{"<template>", "</template>", "<noscript>", "</noscript>", "</head>", "<title>", "</title>", a, b}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		var page strings.Builder
		for range rng.IntN(16) {
			if rng.IntN(2) == 0 {
				page.WriteString(open[rng.IntN(len(open))])
			} else {
				page.WriteString(fragments[rng.IntN(len(fragments))])
			}
		}
		page.WriteString(b)
		agree(t, page.String())
	}
}

func TestHeadInexact(t *testing.T) {
	for page, want := range map[string]bool{
		"<template><svg></svg></template>":   false,
		"<template><math></math>":            false,
		"<template><p></template><svg><p>":   true,
		"<svg><template></template></svg>":   true,
		"<head></head><template></template>": true,
	} {
		var h Head
		feed(&h, page)
		if h.inexact == want {
			t.Errorf("%s: Exact = %v", page, !want)
		}
	}
}
