// Package search is full text over a page store: an inverted index in a bbolt file for each shard,
// derived data that can be thrown away.
//
// A file has segments (package segment), each the words of a batch of pages with the places where
// they stand: in the title, the address, the headings, the main text or what stands around it. A
// segment is never changed. A page that is stored again or removed is marked as deleted in the
// segment that had it, in a bitmap beside it; and segments of like size are merged, eight into one,
// without what is deleted. A query reads the segments where they lie in the mapped file.
//
// Words are made here. A page's text is cut into runs of letters and digits, lower-cased. A segment
// has each word as it is, and leads to it also from its form without accents and from its stem, by
// the page's language (what <html lang> says, else what its text looks like). The language of a
// query is not known, so each of its words is looked for as it is, and as each language would stem
// it. Identifiers become words in a row, pg_stat_activity three of them, and are asked for as a
// phrase; getElementById is kept whole and in parts. Scripts written without spaces become pairs of
// letters.
//
// Answers are found in two stages, over all shards together (Run): each says what it knows of the
// query's words (Terms), and of those that no page has, which are spelled like them (Similar); then
// it ranks its pages by the words' weights of the whole crawl (Rank), first all that match, by
// BM25 over the parts of a page, then the best 300 once more by more signals, each of which
// --explain tells; and it completes the hits that are shown (Show). So an answer does not depend on
// how pages are spread over shards, nor on how they are spread over segments.
//
// The index follows its store by the change journal (Index.Run). The cursor is written in the
// transaction of the segment it stands for: a crash repeats nothing and leaves nothing out, and a
// file that is missing, damaged, of another format or made from another store is emptied and filled
// again. Rebuild builds it anew beside the file in use and puts that in its place, as small as it
// can be; meanwhile the old one answers and follows.
//
// The store has the last word. Every hit is looked up in it: a page removed since it was indexed is
// dropped from the answer, and the snippet is cut from the stored text, or left out where the page
// says nosnippet, which is why no text is kept here. It has no more characters than a
// max-snippet of the page allows, and nothing of what says data-nosnippet.
//
// The query language is that of internal/query.
package search
