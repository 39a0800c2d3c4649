// Package catalog is the dataset catalogue: what sites say of their open data, with where each
// statement comes from.
//
// A document (a /data.txt, JSON-LD in a page, a portal's data.json, a datapackage.json) makes
// claims, one for each dataset it tells of. Claims are kept with the document, and read anew for
// every answer: a better reader shows at once. Merge puts the claims about one dataset together:
// the most trusted document that says something of a field is believed, what others say instead is
// shown beside it. Nothing is guessed: a licence that names no known one stays as it is written.
package catalog
