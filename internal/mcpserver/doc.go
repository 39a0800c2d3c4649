// Package mcpserver lets assistants ask a crawl over the Model Context Protocol: search, one page's
// text, what became of a URL, datasets, hosts. It only reads.
//
// Whoever asks is, or feeds, a generative model. So what a page's site says of such a use counts
// here (formats §8): of a page that is not to be input of a model an answer has its title and its
// address, which lead people to it, and no word of its text. The rest, nosnippet and noarchive, is
// decided by those who hold the pages, as for every way out.
//
// What comes from sites is data. It is delivered without anything that cannot be seen
// (text.go), bounded, apart from our own words, and called what it is in the instructions and in
// the descriptions of the tools.
package mcpserver
