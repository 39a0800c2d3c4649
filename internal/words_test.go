package internal_test

import (
	"regexp"
	"strings"
	"testing"
)

// privateWords are words that were once ours and mean nothing to a stranger, in what users read.
// Each is a regular expression of whole words. Many are also ordinary English words: then the
// pattern is a phrase in which the word is private, and ordinary lists phrases that are not.
var privateWords = []struct{ pattern, write, ordinary string }{
	{`tells?|told|telling`, "report, publish, notify, show", ``},
	{`says?|said|saying`, "report, publish; a directive, a response", ``},
	{`rooms?`, "memory budget, capacity, buffer, space", ``},
	{`held|holds?|holding`, "stored, paused, leased, owned, contained", ``},
	{`errands?`, "auxiliary request", ``},
	{`(at|in) hand|by hand|(a|free|idle|no|other|more|many|of) hands?`, "slot, scratch; available", ``},
	{`seats?|without place|places? (free|taken)|a place (at|under)|its place`, "per-IP limiter, token, position", ``},
	{`apart`, "rights files; separately", ``},
	{`outlets?|kit|(a|the|of|each|no) stay`, "sink, task, deps", ``},
	{`letters?`, "queued message, alias update", `((from )?\d+ to \d+|of|two|three|least|than|more|other characters than|begins with a|one|capital|upper-case|lower-case) letters?|letters?(, digits| and digits)|letters, '-'|Letters, "-"`},
	{`homes?`, "primary, assignment", `home (page|directory|folder)s?`},
	{`asleep|awake|woken|wakes?|woke|at rest|rests|resting|rested`, "evicted, resident, loaded; pause, delay", ``},
	{`owes?|owed|owing`, "remaining delay, pending, unaccounted", ``},
	{`touch(es|ed)?|becomes? of|became of|admits?|admitted`, "mark, set, insert; outcome", ``},
	{`met`, "metrics, visited", ``},
	{`jams?|jammed|parks?|parked`, "backpressure, queue full", ``},
	{`doors?`, "credentials, endpoint", ``},
	{`(its|their|whose|host's) turn|turn(s|ed)? away`, "quota; mirror changed; semaphore; refused", ``},
	{`ghosts?`, "expired visit", ``},
	{`books?`, "manifest log", ``},
	{`journals?`, "change feed, request log", `systemd('s)? journal`},
	{`hops?`, "redirects, robots proxy", ``},
	{`steer(s|ed|ing)?|wish(es)?|(an|the|of|each|these|every) acts?`, "control, request, action", ``},
	{`under way`, "running, in flight", ``},
	{`(?-i:Agents)`, "Mobile robots", `User-Agents`},
	{`weigh(s|ed)?|judg(e|es|ed|ing)|settl(e|es|ed|ing)`, "decide, resolve", ``},
	{`(tak(e|es|en|ing)|took) (in|up)|aside`, "receive, accept, quarantine, rename", ``},
	{`anew|for want of|of which none|how it goes`, "again, because there is no; plain sentences", ``},
}

// wordExceptions are the places in which such a word may stand: a file, or a folder that ends with
// a slash; the word, or none for all; and the reason. One that is not needed any more fails.
var wordExceptions = []struct{ where, word, reason string }{
	{"cmd/curtsy/summary.go", "held", "a value of --state, which is public"},
	{"cmd/curtsy/look/status.go", "held", "a value of --state, which is public"},
	{"cmd/curtsy/look/hosts.go", "held", "a value of --state, which is public"},
	{"docs/reference/commands.md", "held", "a value of --state, which is public"},
	{"internal/frontier/store/metrics.go", "held", "a value of the label outcome, which is public"},
	{"internal/web/mcp/hosts.go", "held", "a value of the argument state, which is public"},
	{"internal/search/analysis/stopwords.go", "", "words of other languages"},
	{"internal/siterules/draft/candidates.go", "", "selectors and names of HTML"},
	{"internal/siterules/elements.go", "aside", "an element of HTML"},
	{"internal/simweb/", "", "pages of the simulated web"},
}

func TestWordsOfUsers(t *testing.T) {
	texts := userTexts(t)
	if len(texts) < 3000 {
		t.Fatalf("only %d texts were found", len(texts))
	}
	var rules []wordRule
	for _, w := range privateWords {
		rules = append(rules, newWordRule(w.pattern, w.write, w.ordinary))
	}
	needed := make([]bool, len(wordExceptions))
	shown := map[string]int{}
	for _, text := range texts {
		for _, r := range rules {
			word := r.find(text.text)
			if word == "" {
				continue
			}
			excepted := false
			for i, e := range wordExceptions {
				in := e.where == text.file || strings.HasSuffix(e.where, "/") && strings.HasPrefix(text.file, e.where)
				if in && (e.word == "" || strings.EqualFold(e.word, word)) {
					needed[i], excepted = true, true
				}
			}
			if excepted {
				continue
			}
			if shown[text.file]++; shown[text.file] <= 5 {
				t.Errorf("%s:%d: %q is a private word, write: %s\n\t%.200q", text.file, text.line, word, r.write, text.text)
			}
		}
	}
	for i, e := range wordExceptions {
		if !needed[i] || e.reason == "" {
			t.Errorf("the exception for %q in %s is not needed any more, or has no reason", e.word, e.where)
		}
	}
}

// The patterns find words in their private sense and leave ordinary ones alone.
func TestWordRules(t *testing.T) {
	for text, want := range map[string]string{
		"what the site told us":                  "told",
		"no room for the page":                   "room",
		"--hold-max":                             "",
		"the host is held":                       "held",
		"use 1 to 32 letters, digits or '-'":     "",
		"a letter to another shard":              "letter",
		"the shard's home changed":               "home",
		"your home directory":                    "",
		"the rest of a file":                     "",
		"hosts at rest":                          "at rest",
		"User-Agents":                            "",
		"List of Agents":                         "Agents",
		"agents of sites":                        "",
		"the file is set aside":                  "aside",
		"metadata, method, thresholds, heldover": "",
		"It says\nso":                            "says",
	} {
		got := ""
		for _, w := range privateWords {
			if r := newWordRule(w.pattern, w.write, w.ordinary); got == "" {
				got = r.find(text)
			}
		}
		if got != want {
			t.Errorf("%q: found %q, want %q", text, got, want)
		}
	}
}

type wordRule struct {
	words, ordinary *regexp.Regexp
	write           string
}

func newWordRule(pattern, write, ordinary string) wordRule {
	r := wordRule{words: wholeWords(pattern), write: write}
	if ordinary != "" {
		r.ordinary = wholeWords(ordinary)
	}
	return r
}

// wholeWords matches a pattern that is not part of a longer word, a flag or a key.
func wholeWords(pattern string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:^|[^\w.$/-])((?:` + pattern + `))(?:[^\w-]|$)`)
}

// find returns the first private word of a text, or nothing.
func (r wordRule) find(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r.ordinary != nil && r.words.MatchString(text) {
		for m := r.ordinary.FindStringSubmatchIndex(text); m != nil; m = r.ordinary.FindStringSubmatchIndex(text) {
			text = text[:m[2]] + "…" + text[m[3]:]
		}
	}
	if m := r.words.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}
