// Package export writes what a crawl has found as others read it without a converter: Parquet with
// the column names of Common Crawl's index where they fit, CSV that spreadsheets take no formula
// from, the bulk format of Elasticsearch and OpenSearch, and a file a page.
//
// Rows come as the indexers send them (crawl.PageRow, crawl.LinkRow) or from the catalogue
// (crawl.DatasetInfo). A cluster and a directory at rest send the same rows, so they give the same
// files. Every writer keeps a bounded part of its output in memory, however many rows there are.
// Writers are for one goroutine.
package export
