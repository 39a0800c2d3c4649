// Package catalog is the dataset catalogue: the statements of sites about their open data, with the
// source of each statement.
//
// A document (a /data.txt, JSON-LD in a page, a portal's data.json, a datapackage.json) makes
// claims, one for each dataset that it describes. The documents are stored, and their claims are
// read again for every answer, so that improvements of the reader take effect at once. Merge joins
// the claims about one dataset: for each field the statement of the most trusted document counts,
// and different statements of other documents are shown beside it. Nothing is guessed: an unknown
// licence stays as it is written.
package catalog
