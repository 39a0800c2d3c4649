package robotstag

import "testing"

// Our reading where docs/formats.md has no rule. The principle is that losing a noindex is worse
// than obeying one too many.

func TestLenient_WordsAfterADate(t *testing.T) {
	checkHeaders(t, []row{
		{"unavailable_after: 2025-12-03 noindex", "unavailable_after=2025-12-03T00:00:00Z noindex", ""},
		{"unavailable_after: Wed, 03 Dec 2025 13:09:53 GMT nofollow noindex", "unavailable_after=2025-12-03T13:09:53Z nofollow noindex", ""},
		// The longest date is used, so that no time remains unread.
		{"unavailable_after: 03 Dec 2025 13:09 nofollow", "unavailable_after=2025-12-03T13:09:00Z nofollow", ""},
		// Not a date: the item is lost, whatever its words.
		{"unavailable_after: noindex", "", ""},
	})
}

func TestLenient_WordsAfterAValue(t *testing.T) {
	checkHeaders(t, []row{
		{"max-snippet:0 noindex", "nosnippet noindex", ""},
		{"max-snippet:20 noindex", "max-snippet=20 noindex", ""},
		{"max-image-preview: noindex", "", ""}, // a value
	})
}

// The value of a rule that takes no values may be a rule itself.
func TestLenient_RuleAsValue(t *testing.T) {
	checkHeaders(t, []row{
		{"noindex: nofollow", "noindex nofollow", ""},
		{"noindex=nofollow", "noindex nofollow", ""},
		{"index=noindex", "noindex", ""},
	})
}

// Rules of other crawlers are not tokens either, so they do not capture the following rules;
// unknown names are tokens.
func TestLenient_ForeignRulesAreNoTokens(t *testing.T) {
	checkHeaders(t, []row{
		{"noimageindex: 1, noindex", "noindex", ""},
		{"notranslate=yes, noindex", "noindex", ""},
		{"revisit-after: 7, noindex", "", ""},
	})
}

// Agents with names outside the grammar are other agents.
func TestLenient_OddTokens(t *testing.T) {
	checkHeaders(t, []row{
		{"360Spider: noindex", "", ""},
		{"Mail.RU_Bot: noindex", "", ""},
		{"ExampleBot2: noindex", "", "noindex"}, // as in robots.txt
	})
}

func TestLenient_StrayColons(t *testing.T) {
	checkHeaders(t, []row{
		{":noindex", "noindex", ""},
		{"::noindex:", "noindex", ""},
		{"ExampleBot::noindex", "", "noindex"},
		{"**==noindex", "noindex", ""},
	})
}

// Many pages begin with a byte order mark, and not every reader drops it. Head accepts it as the
// very first text, also after a doctype or a comment, which Head does not see. There a parser would
// open the body.
func TestLenient_HeadByteOrderMark(t *testing.T) {
	var h Head
	h.Text([]byte("\uFEFF \n"))
	if h.Closed() {
		t.Error("a leading byte order mark opens the body")
	}
	h.Text([]byte("\uFEFF"))
	if !h.Closed() {
		t.Error("a second one does not")
	}
	for _, page := range []string{
		"\uFEFF<meta name=robots content=noindex>",
		"\uFEFF<!doctype html><meta name=robots content=noindex>",
	} {
		if !fromHTML(bot, []byte(page)).Directives().NoIndex || !scan(page).Directives().NoIndex {
			t.Errorf("%q: no noindex", page)
		}
	}
	if page := "<!doctype html>\uFEFF<meta name=robots content=noindex>"; !scan(page).Directives().NoIndex {
		t.Errorf("%q: no noindex", page)
	}
}

// The full parser refuses more than 512 nested elements; the head is read nevertheless.
func TestLenient_DeepPages(t *testing.T) {
	page := []byte("<meta name=robots content=noindex>")
	for range 2000 {
		page = append(page, "<div>"...)
	}
	if !fromHTML(bot, page).Directives().NoIndex {
		t.Error("a deeply nested page loses its noindex")
	}
}
