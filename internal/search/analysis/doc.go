// Package analysis divides text into the words of an index and of queries, and finds which words
// mean the same.
//
// A Tokenizer finds runs of letters and digits and converts them to lower case. An identifier is
// emitted as a whole and in its parts; scripts written without spaces become pairs of letters. A
// Keyer gives words of one meaning a common key: the stem in a language, or the word without its
// accents. Language recognises the language of a text. Index and queries must be analysed alike: a
// change here needs a new index (`curtsy reindex`).
package analysis
