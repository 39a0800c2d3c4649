package uses_test

import (
	"net/http"
	"testing"

	"github.com/curtsy/curtsy/internal/htmlscan"
	"github.com/curtsy/curtsy/internal/uses"
	"github.com/curtsy/curtsy/pkg/robots"
	"github.com/curtsy/curtsy/pkg/usage"
)

const (
	u = usage.Unknown
	a = usage.Allow
	d = usage.Disallow
)

var origin = robots.Origin{Scheme: "https", Host: "a.example", Port: 443}

// What robots.txt says to one robot of one path reaches the set, with its lines.
func TestRobots(t *testing.T) {
	file := robots.Parse([]byte("User-agent: *\nContent-Usage: /x train-ai=n\nContent-Signal: search=yes\nLicense: https://l.example/\n"))
	var s usage.Set
	uses.Robots(&s, file.Rules("curtsy", origin), "/x")
	if got := s.Preferences(); got != (usage.Preferences{a, u, d, u}) {
		t.Errorf("%v", got)
	}
	if src := s.Sources(); len(src) != 2 || src[0].Line+src[1].Line != 5 || len(s.Terms()) != 1 || s.Terms()[0].Line != 4 {
		t.Errorf("%+v, %+v", src, s.Terms())
	}
}

// Formats §8.21: a site that is closed to all trainers it names, and names one.
func TestTraining(t *testing.T) {
	for body, want := range map[string]usage.Value{
		"User-agent: GPTBot\nUser-agent: CCBot\nDisallow: /\n":                         d,
		"User-agent: *\nDisallow: /\n":                                                 u,
		"User-agent: GPTBot\nDisallow: /x\n":                                           u,
		"User-agent: GPTBot\nDisallow: /\n\nUser-agent: CCBot\nDisallow:\n":            u,
		"User-agent: gptbot/1\nDisallow: /\nAllow: /open\n\nUser-agent: *\nAllow: /\n": d,
		"": u,
	} {
		var s usage.Set
		uses.Training(&s, robots.Parse([]byte(body)), origin)
		if got := s.Concluded()[usage.AITrain]; got != want || s.Preferences() != (usage.Preferences{}) {
			t.Errorf("%q: %v, said %v", body, got, s.Preferences())
		}
	}
}

// A page says in its head what its header and robots.txt did not.
func TestAnswer(t *testing.T) {
	const page = `<!doctype html><script type="application/rsl+xml">
<rsl xmlns="https://rslstandard.org/rsl"><content url=""><license><prohibits type="usage">search</prohibits></license></content></rsl>
</script><script type="application/rsl+xml">broken</script><noscript><meta name=tdm-reservation content="&#48;"></noscript>
<template><meta name=tdm-reservation content=1><script type="application/rsl+xml"></script></template>
<link rel="stylesheet license" type="application/rsl+xml; v=1" href="l&amp;.xml"><link rel=license href=other>
<p><meta name=tdm-reservation content=1><link rel=license type="application/rsl+xml" href=visitor>`
	header := http.Header{"X-Robots-Tag": {"noindex", "curtsy: noai"}, "Content-Signal": {"ai-train=yes"}, "Content-Type": {"text/html"}}
	var scanner htmlscan.Scanner
	for range 2 { // a scanner is used again
		r := scanner.Scan(htmlscan.Page{URL: "https://a.example/x", Body: []byte(page), HTML: true, Header: header, Token: "curtsy"})
		var s usage.Set
		uses.Answer(&s, header, &r, "https://a.example/x")
		if got := s.Preferences(); got != (usage.Preferences{d, d, d, a}) {
			t.Errorf("%v", got)
		}
		from := map[string]int{}
		for _, src := range s.Sources() {
			from[src.From] = src.Line
		}
		if from["header X-Robots-Tag"] != 2 || from["meta tdm-reservation"] != 3 || from["script application/rsl+xml"] != 2 {
			t.Errorf("%v of %+v", from, s.Sources())
		}
		if l := s.Terms(); len(l) != 1 || l[0].URL != "l&.xml" || l[0].Line != 5 {
			t.Errorf("%+v", l)
		}
		if o := s.Diagnostics(); len(o) != 1 || o[0].Line != 3 {
			t.Errorf("%+v", o)
		}
		r = scanner.Scan(htmlscan.Page{URL: "https://a.example/y", Body: []byte(page), HTML: false, Token: "curtsy"})
		if len(r.Marks) > 0 || len(r.Tags) > 0 {
			t.Errorf("text has marks: %+v", r)
		}
	}
}

// Tags past those that are kept to explain still count.
func TestManyTags(t *testing.T) {
	header := http.Header{}
	for range 70 {
		header.Add("X-Robots-Tag", "noarchive")
	}
	header.Add("X-Robots-Tag", "noai, noimageai")
	var scanner htmlscan.Scanner
	r := scanner.Scan(htmlscan.Page{Header: header})
	var s usage.Set
	uses.Answer(&s, http.Header{"Content-Type": {"Image/PNG"}}, &r, "/")
	if got := s.Preferences(); got != (usage.Preferences{u, d, d, u}) || len(s.Sources()) != 3 {
		t.Errorf("%v, %+v", got, s.Sources())
	}
}
