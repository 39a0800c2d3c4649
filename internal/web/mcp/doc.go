// Package mcp lets assistants ask a crawl over the Model Context Protocol: search, the text of one
// page, the history of a URL, datasets, hosts. It only reads.
//
// An assistant is a generative model, or feeds one. So a site's rules for such uses apply here: if
// a page must not be input of a model, an answer has its title and its address, which lead people
// to it, but none of its text. The indexers decide about nosnippet and noarchive, as for all
// answers.
//
// Text from sites is data. It is delivered without invisible characters (text.go), limited in
// length and separate from our own words. The instructions and the descriptions of the tools say
// what it is.
package mcp
