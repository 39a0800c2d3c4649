// Package segment implements the inverted index of search: immutable segments, each with the words,
// links and facts of some pages, which are built in memory and merged into larger ones.
//
// A segment is one sequence of bytes, so it can be stored as a value in a key-value store, in the
// same transaction as related data. Its parts:
//
//	facts    for each page the data for ranking and filtering, by column, and its texts
//	pages    the pages' numbers in the store, sorted, each with its index in the segment
//	words    the dictionary: every word as written, in lower case, with the position of its lists
//	lists    for each word the pages that have it, with how often and where; and the links whose
//	         text has it
//	keys     forms common to several words (a stem, a spelling without accents), with the words
//	properties  the values of the fields that site rules found in pages, each different one
//	         once
//	targets  the addresses to which links lead, as hashes, with the pages that link there, and which
//	         page of the segment has the address
//
// Words are stored as written, and not as stems. Which words mean the same is decided by a query,
// through the keys. So a page is found by its exact words whatever its language is, and an exact
// word can have more weight than an inflected one.
//
// A page's words have positions. The title, the address, the headings and the body each have their
// own range, so one list of positions shows in which of them a word is and what is next to it.
//
// Merging does not decode pages: lists are concatenated, and only numbers change.
package segment
