// Package segment is the inverted index that search stands on: immutable segments, each the words,
// links and facts of some pages, made in memory and merged into larger ones.
//
// A segment is one run of bytes, so that whoever keeps it can keep it as a value of a key-value
// store, in the transaction of what it stands for. Its parts:
//
//	facts    for each page what ranking and narrowing need of it, by column, and its texts
//	pages    the pages' numbers in the store, sorted, each with its place in the segment
//	words    the dictionary: every word as it is written, lower-cased, with where its lists are
//	lists    for each word the pages that have it, with how often and where; and the links whose
//	         text has it
//	keys     what several words have in common (a stem, a spelling without accents), with the words
//	targets  the addresses that links lead to, as hashes, with the pages that link there, and which
//	         page of the segment has the address
//
// Words are kept as written, and not as stems: which words mean the same is decided when they are
// asked for, through the keys, so a page needs no language to be found by its exact words, and an
// exact word can weigh more than an inflected one.
//
// A page's words stand at positions: the title, the address, the headings and the body each have a
// stretch of their own, so one list of positions tells in which of them a word is and what stands
// next to it.
//
// Merging never takes a page apart: lists are put one behind the other, and only numbers change.
package segment
