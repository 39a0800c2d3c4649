package robotstag

import "testing"

func TestFormats_4_3_MetaNames(t *testing.T) {
	for name, want := range map[string]string{
		"robots": "all", " Robots\n": "all", "ROBOTS": "all",
		"examplebot": "own", "ExampleBot": "own", " examplebot/2 ": "own",
		"robotss": "", "robots.txt": "", "googlebot": "", "examplebot-news": "", "": "", "*": "", "description": "",
	} {
		s := New(bot)
		s.AddMeta(name, "noindex")
		all, own := askedBy(s)
		if (all != "") != (want == "all") || (own != "") != (want == "own") {
			t.Errorf("name %q: everybody %q, own %q; want %q", name, all, own, want)
		}
		if got := s.WantsMeta([]byte(name)); got != (want != "") {
			t.Errorf("WantsMeta(%q) = %v", name, got)
		}
	}
}

func TestFormats_4_3_MetaContent(t *testing.T) {
	for _, r := range []row{
		{value: "noindex, nofollow", everybody: "noindex nofollow"},
		{value: "noindex; nofollow", everybody: "noindex nofollow"},
		{value: "noindex nofollow", everybody: "noindex nofollow"},
		{value: "noindex,\n\t nofollow\r\n", everybody: "noindex nofollow"},
		{value: "NONE", everybody: "noindex nofollow"},
		{value: "*=noindex, nosnippet", everybody: "noindex nosnippet"},
		{value: " * = noindex", everybody: "noindex"},
		{value: "nosnippet, *=noindex", everybody: "nosnippet"}, // not leading
		{value: "*, noindex", everybody: "noindex"},
		{value: "otherbot=noindex, nosnippet", everybody: "nosnippet"},
		{value: "otherbot:noindex nosnippet", everybody: "nosnippet"},
		{value: "examplebot: noindex", everybody: "noindex"}, // an unknown word, then a rule
		{value: "noindex=1, noindex:", everybody: ""},
		{value: "max-snippet : 0", everybody: "nosnippet"},
		{value: "max-snippet=0;noindex", everybody: "nosnippet noindex"},
		{value: "unavailable_after: Wed, 03 Dec 2025 13:09:53 GMT; nosnippet", everybody: "unavailable_after=2025-12-03T13:09:53Z nosnippet"},
		{value: "unavailable_after=25-Aug-2007 15:00:00 EST", everybody: "unavailable_after=2007-08-25T20:00:00Z"},
		{value: "all, index, follow", everybody: ""},
		{value: "", everybody: ""},
	} {
		if all, own := askedBy(fromMeta(r.value)); all != r.everybody || own != "" {
			t.Errorf("%q: everybody %q, own %q; want %q", r.value, all, own, r.everybody)
		}
	}
}
