package crawl

import "testing"

// Only what may change a decision about a URL changes the text of the scope.
func TestSitesText(t *testing.T) {
	const rules = "sites:\n  a.example:\n    delay: 5s\n    skip: [{css: p}]\n"
	hash := func(sites string) uint64 { return (&Spec{Sites: sites}).ScopeHash() }
	for what, same := range map[string]string{
		"a field":                 rules + "    fields: {kind: {css: h1}}\n",
		"content":                 rules + "    content: {main: [main]}\n",
		"an entry with fields":    rules + "  b.example: {fields: {kind: {css: h1}}}\n",
		"an entry without a key":  rules + "  b.example: {}\n",
		"an entry with a comment": rules + "  b.example: # nothing\n",
		"form":                    "# rules\nsites: {a.example: {\"delay\": '5s', skip: [{css: p}]}}",
	} {
		if hash(same) != hash(rules) {
			t.Errorf("%s changes the text", what)
		}
	}
	if hash("sites: {a.example: {fields: {kind: {css: h1}}}}") != hash("") {
		t.Error("rules about pages change the text")
	}
	seen := map[uint64]string{}
	for _, different := range []string{
		rules, "", "sites:\n  a.example:\n    delay: 6s\n    skip: [{css: p}]\n", "sites:\n  b.example:\n    delay: 5s\n    skip: [{css: p}]\n",
		"sites: {a.example: {delay: 5s, skip: [{css: p}], types: [html]}}",
		"sites: {a.example: {skip: [{field: kind}], fields: {kind: {css: h1}}}}",
		"sites: {a.example: {skip: [{field: kind}], fields: {kind: {css: h2}}}}",
		"sites: {a.example: {include: [\"1\"]}}", "sites: {a.example: {max-depth: 1}}", "sites: {a.example: {max-depth: \"1\"}}",
		"sites: [", "sites: {a.example: &a {delay: 5s}, b.example: *a}", "sites: {a.example: &a {delay: 6s}, b.example: *a}",
	} {
		if old, had := seen[hash(different)]; had {
			t.Errorf("%q and %q have the same text", old, different)
		}
		seen[hash(different)] = different
	}
}
