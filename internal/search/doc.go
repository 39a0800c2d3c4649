// Package search implements full-text search over a page store: an inverted index in a bbolt file
// for each shard. The index is derived data and can be rebuilt.
//
// A file has segments (package segment). Each contains the words of a batch of pages with their
// positions: in the title, the address, the headings, the main text or the text around it. A
// segment is never changed. A page that is stored again or removed is marked as deleted, in a
// bitmap beside the segment that has it. Eight segments of similar size are merged into one,
// without deleted pages. A query reads the segments directly in the mapped file.
//
// A page's text is divided into words (package analysis): runs of letters and digits, converted to
// lower case. A segment contains each word unchanged, and finds it also by its form without accents
// and by its stem, according to the page's language (the one in <html lang>, otherwise the one
// detected in its text). The language of a query is unknown, so each of its words is looked up
// unchanged, and as each language would stem it. Identifiers become several words, pg_stat_activity
// three of them, and are searched as a phrase; getElementById is indexed as a whole and in parts.
// Scripts written without spaces become pairs of letters.
//
// Answers are found in two stages, over all shards together (Run). Each shard returns what it knows
// of the query's words (Terms), and words that are spelled like those that no page has (Similar).
// Then it ranks its pages by the words' weights in the whole crawl (Rank): first all that match, by
// BM25 over the parts of a page, then the best 300 again by more signals, which --explain shows.
// Finally it completes the hits that are shown (Show). So an answer depends neither on how pages
// are distributed over shards, nor on how they are distributed over segments.
//
// The index follows its store by the change feed (Index.Run). The cursor is written in the same
// transaction as the segment to which it belongs, so a crash repeats nothing and leaves nothing
// out. A file that is missing, damaged, of another format or made from another store is emptied and
// filled again. Rebuild builds a new file beside the one in use and then replaces that with it, as
// small as possible; meanwhile the old file answers queries and follows the store.
//
// The store decides what is shown. Every hit is looked up in it: a page that was removed since it
// was indexed is dropped from the answer, and the snippet is cut from the stored text, or left out
// if the page has the directive nosnippet. For that reason the index contains no text. A snippet
// has no more characters than a max-snippet of the page permits, and no text that is marked
// data-nosnippet.
//
// The query language is that of internal/query.
package search
