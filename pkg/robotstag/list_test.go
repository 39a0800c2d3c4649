package robotstag

import (
	"strings"
	"testing"
)

// Formats §8.27: draft -03's list of tokens with rules. Rules for another robot do not apply to us,
// rules for us do, and a value that is not completely such a list is read in the stricter way.
func TestUsage_8_27_List(t *testing.T) {
	checkHeaders(t, []row{
		{"OtherBot;noindex", "", ""},
		{"ExampleBot;noindex", "", "noindex"},
		{"*;nosnippet, ExampleBot;noindex", "nosnippet", "noindex"},
		{"OtherBot;noindex, *;nosnippet;nofollow", "nosnippet nofollow", ""},
		{"examplebot/2.1;none;noarchive", "", "noindex nofollow noarchive"},
		{"robots;noindex", "noindex", ""},
		{"ExampleBot;max-snippet=50, *;max-snippet=0", "nosnippet", "max-snippet=50"},
		{"ExampleBot;max-snippet=-1", "", ""},
		{"ExampleBot;unavailable_after=@1764767593", "", "unavailable_after=2025-12-03T13:13:13Z"},
		{`ExampleBot;unavailable_after="Wed, 03 Dec 2025 13:09:53 GMT"`, "", "unavailable_after=2025-12-03T13:09:53Z"},
		{`OtherBot;unavailable_after="Wed, 03 Dec 2025 13:09:53 GMT";noindex`, "", ""},
		{"ExampleBot;noindex=?0", "", "noindex"}, // no value cancels a rule
		{"OtherBot;noai, ExampleBot;noai;noimageai", "", "noai noimageai"},
		{"OtherBot;noimageindex", "", ""},
		// not such a list: read by formats §4.1
		{"OtherBot;noindex;", "noindex", ""},
		{"OtherBot;noindex, nosnippet", "noindex nosnippet", ""},
		{"OtherBot, ExampleBot;noindex", "noindex", ""},
		{"OtherBot;NoIndex", "noindex", ""},
		{"OtherBot;noindex;whatever", "noindex", ""},
		{"noindex;nosnippet", "noindex nosnippet", ""},
		{`"OtherBot";noindex`, "noindex", ""},
		{"(OtherBot);noindex", "noindex", ""},
		{"OtherBot=noindex; nosnippet", "nosnippet", ""},
	})
	// a value that is cut within a member is not a complete list
	long := "OtherBots;noindex, " + strings.Repeat("ABot;noindex, ", MaxValue/14) + "ABot;noindex"
	if s := fromHeader(long); !s.Directives().NoIndex {
		t.Error("half a list is read as one")
	}
	if s := fromMeta("OtherBot;noindex"); !s.Directives().NoIndex {
		t.Error("a meta element has no scopes")
	}
}

// Formats §8.20: noai and noimageai, in headers and metas, to everybody and to us.
func TestUsage_8_20_NoAI(t *testing.T) {
	checkHeaders(t, []row{
		{"noai, noimageai", "noai noimageai", ""},
		{"OtherBot: noai", "", ""},
		{"ExampleBot: NoAI", "", "noai"},
	})
	if d := fromMeta("noai", "index, noimageai").Directives(); !d.NoAI || !d.NoImageAI || d.NoIndex {
		t.Errorf("%+v", d)
	}
}
