// Package shapes recognises JSON documents that describe datasets, and rewrites what portals and
// repositories say in names of their own as datasets of DCAT and schema.org.
//
// A document counts by its first bytes (Shows), which are compared with a table of shapes: a row
// has the place of the datasets, what a dataset must have there, and the function that rewrites
// one. A new shape is a row, a file with that function, and an example in testdata.
//
// What comes out has the names and forms that package catalog reads in JSON-LD, so that values
// (licences, sizes, digests, lists, languages) are understood in one place. Nothing is looked up
// and nothing is kept; all functions may be called concurrently.
package shapes
