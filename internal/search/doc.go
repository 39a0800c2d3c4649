// Package search is full text over a page store: one SQLite FTS5 file per shard, derived data that
// can be thrown away.
//
// Words are made in Go. A page's text is cut into runs of letters and digits, lower-cased, stemmed
// by the page's language (what <html lang> says, else what its text looks like), freed of accents,
// and handed to FTS5 joined by spaces, so FTS5 has nothing left to decide and a query goes the same
// way as the text. Identifiers need no index of their own: pg_stat_activity becomes three words in
// a row, and is asked for as a phrase; getElementById is kept whole and in parts. Scripts written
// without spaces become pairs of letters. The language of a query is not known, so each of its
// words is looked for as each language in the index would stem it, and as it is.
//
// The index follows its store by the change journal. The cursor is written in the transaction of
// the rows it stands for: a crash repeats nothing and leaves nothing out, and a file that is
// missing, damaged, of an older format or made from another store is emptied and filled again.
//
// The store has the last word. Every hit is looked up in it when it is shown: a page removed since
// it was indexed is dropped from the answer, and the snippet is cut from the stored text, or left
// out where the page says nosnippet, which is why no text is kept here. It has no more
// characters than a max-snippet of the page allows, and nothing of what says data-nosnippet.
//
// The query language: words must all be in a page (or, when no page has them all, any of them);
// "words in quotes" must stand in a row; -word excludes; word* finds beginnings; title:word looks
// in titles; site:example.org, lang:de and type:text/plain narrow. Anything may be typed: what
// makes no sense is read as words.
package search
